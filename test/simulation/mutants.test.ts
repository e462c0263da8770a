/**
 * Every checker against the product itself with one line sabotaged: it reports that, no other checker reports anything,
 * and no operator ends by itself. The product as it is breaks nothing in the same run. An invariant whose checker was never seen to
 * fail is not tested.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { invariants } from '../../src/scenario/checkers/index.ts';
import type { Report } from '../../src/scenario/report.ts';
import type * as runner from '../../src/scenario/runner.ts';
import { mutant } from './mutant.ts';
import type { MutantCase } from './mutants.ts';
import { fenceMutantCases } from './fencing/mutants.ts';
import { mendMutantCases } from './holes/mend-mutants.ts';
import { releaseMutantCases } from './holes/release-mutants.ts';
import { mutantCases } from './mutants.ts';
import { run } from './run-file.ts';
import { strictMutantCases } from './strict-mutants.ts';

/** With a file of their own: no-going-back.test.ts, drain/checkers.test.ts. */
const elsewhere = ['S16', 'S24', 'S31'];

const cases = [...mutantCases, ...fenceMutantCases, ...releaseMutantCases, ...mendMutantCases, ...strictMutantCases];

function violatedBy({ violations }: Report): string[] {
  return [...new Set(violations.map(({ invariant }) => invariant))];
}

async function runMutant({ sabotage, also = [], scenario, options }: MutantCase): Promise<Report> {
  const sabotaged = mutant(sabotage, ...also);
  const { runScenario } = await sabotaged.load<typeof runner>('src/scenario/runner.ts');
  return await runScenario(scenario, () => performance.now(), options?.());
}

describe('mutants', () => {
  for (const one of cases) {
    test(`${one.invariant}: ${one.mistake}`, async () => {
      assert.deepEqual(violatedBy(await run(one.scenario, one.options?.())), [], 'the product breaks nothing');
      const report = await runMutant(one);
      assert.deepEqual(violatedBy(report).toSorted(), [one.invariant, ...(one.beside ?? [])].toSorted());
      const said = report.violations.find(({ invariant }) => invariant === one.invariant);
      assert.match(said?.detail ?? '', one.says);
    });
  }

  test('there is one for every checker', () => {
    const covered = new Set([...cases.map(({ invariant }) => invariant), ...elsewhere]);
    assert.deepEqual(
      invariants.map(({ id }) => id).filter((id) => !covered.has(id)),
      [],
    );
  });
});
