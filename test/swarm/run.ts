/** Runs a scenario of the swarm under every checker, and says what was broken. */
import { invariants } from '../../src/scenario/checkers/index.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { RunOptions, runScenario as run } from '../../src/scenario/runner.ts';
import { runScenario } from '../../src/scenario/runner.ts';
import type { Coverage } from './coverage.ts';
import type { ScenarioDocument } from './document.ts';
import { parse } from './document.ts';

export interface Broken {
  invariant: string;
  at: number;
  detail: string;
}

export interface Outcome {
  broken: Broken[];
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
  return { broken: brokenIn(report), report };
}

/** An operator that ends by an error of its own is broken, whatever it did or did not do. */
function brokenIn({ violations, timeline }: Report): Broken[] {
  const failed = timeline
    .filter(({ what, object }) => what.startsWith('failed: ') && object.startsWith('operator-'))
    .map(({ at, what }) => ({ invariant: 'crash', at, detail: what }));
  return [...violations, ...failed];
}

export function kindsOf(broken: readonly Broken[]): string[] {
  return [...new Set(broken.map(({ invariant }) => invariant))];
}
