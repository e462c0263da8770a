/** Runs a scenario of the swarm under every checker, and says what was broken. */
import { invariants } from '../../src/scenario/checkers/index.ts';
import type { Report, Violation } from '../../src/scenario/report.ts';
import type { RunOptions, runScenario as run } from '../../src/scenario/runner.ts';
import { runScenario } from '../../src/scenario/runner.ts';
import type { Coverage } from './coverage.ts';
import type { ScenarioDocument } from './document.ts';
import { parse } from './document.ts';

export interface Outcome {
  broken: Violation[];
  report: Report;
}

export interface Judge {
  /** That of a mutant, for instance. */
  run?: typeof run;
  coverage?: Coverage;
  options?: RunOptions;
}

export async function judge(
  document: ScenarioDocument,
  { run = runScenario, coverage, ...also }: Judge = {},
): Promise<Outcome> {
  const observed = coverage === undefined ? {} : { invariants: [...invariants, coverage.observer()] };
  const options = { ...observed, ...also.options };
  const report = await run(parse(document), () => performance.now(), options);
  return { broken: report.violations, report };
}

export function kindsOf(broken: readonly Violation[]): string[] {
  return [...new Set(broken.map(({ invariant }) => invariant))];
}
