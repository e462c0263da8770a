/**
 * Whether the swarm would have found what an adversary found: the mend of each hole is reverted alone, by the line that its mutant
 * sabotages, and the seeds are run from the first on until one breaks the invariant of that hole. Prints a table;
 * `--most N`: how many seeds at most, `--only S42`: of one invariant.
 */
import { parseArgs } from 'node:util';
import type * as runner from '../../src/scenario/runner.ts';
import { fenceMutantCases } from '../simulation/fencing/mutants.ts';
import { mutant } from '../simulation/mutant.ts';
import type { MutantCase } from '../simulation/mutants.ts';
import { mutantCases } from '../simulation/mutants.ts';
import { generate } from './generate.ts';
import { judge } from './run.ts';

/** The invariants from S33 on were each seen broken by somebody who tried. The swarm has no Machines of Cluster API (S44). */
const firstHole = 33;
const beyondTheSwarm = ['S44'];

export function holes(): MutantCase[] {
  return [...mutantCases, ...fenceMutantCases].filter(
    ({ invariant }) => Number(invariant.slice(1)) >= firstHole && !beyondTheSwarm.includes(invariant),
  );
}

export interface Found {
  seed: number;
  detail: string;
}

/** Undefined: none of them has found it. */
export async function seedThatFinds(hole: MutantCase, most: number): Promise<Found | undefined> {
  const sabotaged = mutant(hole.sabotage, ...(hole.also ?? []));
  const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
  for (let seed = 1; seed <= most; seed += 1) {
    const { broken } = await judge(generate(seed), { run: runScenario });
    const found = broken.find(({ invariant }) => invariant === hole.invariant);
    if (found !== undefined) return { seed, detail: found.detail };
  }
  return undefined;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { most: { type: 'string', default: '300' }, only: { type: 'string' } } });
  console.log('| invariant | the mend that is missing | seeds until found | what is said of it |\n|---|---|---|---|');
  for (const hole of holes().filter(({ invariant }) => values.only === undefined || values.only === invariant)) {
    const found = await seedThatFinds(hole, Number(values.most));
    const seeds = found === undefined ? `not in ${values.most}` : String(found.seed);
    console.log(`| ${hole.invariant} | ${hole.mistake} | ${seeds} | ${found?.detail ?? ''} |`);
  }
}
