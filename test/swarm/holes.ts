/**
 * Whether the swarm would have found what an adversary found: the mend of each hole is taken back alone, by the line that its mutant
 * sabotages, and the seeds are run from the first on until one breaks something, which on the mended tree none does. Prints a table;
 * `--most N`: how many seeds at most, `--only TEXT`: those whose invariant or mistake says so.
 */
import { parseArgs } from 'node:util';
import type * as runner from '../../src/scenario/runner.ts';
import { fenceMutantCases } from '../simulation/fencing/mutants.ts';
import type { MendCase } from '../simulation/holes/mend-mutants.ts';
import { mendMutantCases } from '../simulation/holes/mend-mutants.ts';
import { releaseMutantCases } from '../simulation/holes/release-mutants.ts';
import { mutant } from '../simulation/mutant.ts';
import type { MutantCase } from '../simulation/mutants.ts';
import { mutantCases } from '../simulation/mutants.ts';
import { generate } from './generate.ts';
import { judge } from './run.ts';

/** The invariants from S33 on were each seen broken by somebody who tried. The swarm has no Machines of Cluster API (S44). */
const kindOf: Readonly<Record<string, string>> = {
  S33: 'two writers',
  S34: 'two writers',
  S35: 'two writers',
  S36: 'storms',
  S37: 'storms',
  S38: 'storms',
  S39: 'fences that end wrongly',
  S40: 'fences that end wrongly',
  S41: 'fences that never end',
  S42: 'work without end',
  S43: 'two writers',
  S45: 'nothing was wrong',
};

export function holes(): MendCase[] {
  const known = [...mutantCases, ...fenceMutantCases, ...releaseMutantCases].flatMap((one): MendCase[] => {
    const hole = kindOf[one.invariant];
    return hole === undefined ? [] : [{ ...one, hole }];
  });
  return [...known, ...mendMutantCases];
}

export interface Found {
  seed: number;
  invariant: string;
  detail: string;
}

/** Undefined: none of them has found it. */
export async function seedThatFinds(hole: MutantCase, most: number): Promise<Found | undefined> {
  const sabotaged = mutant(hole.sabotage, ...(hole.also ?? []));
  const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
  for (let seed = 1; seed <= most; seed += 1) {
    const { broken } = await judge(generate(seed), { run: runScenario });
    // Rather by its own invariant, where several are broken.
    const found = broken.find(({ invariant }) => invariant === hole.invariant) ?? broken[0];
    if (found !== undefined) return { seed, invariant: found.invariant, detail: found.detail };
  }
  return undefined;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { most: { type: 'string', default: '300' }, only: { type: 'string' } } });
  console.log('| hole | the mend that is taken back | seeds until found | broken | what is said of it |');
  console.log('|---|---|---|---|---|');
  for (const hole of holes()) {
    if (!`${hole.invariant} ${hole.mistake}`.includes(values.only ?? '')) continue;
    const found = await seedThatFinds(hole, Number(values.most));
    const row = found === undefined ? [`none of ${values.most}`, '', ''] : [found.seed, found.invariant, found.detail];
    console.log(`| ${[hole.hole, hole.mistake, ...row].join(' | ')} |`);
  }
}
