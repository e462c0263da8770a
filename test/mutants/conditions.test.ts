import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { conditionMutants, covered, idle } from './conditions.ts';
import type { Mutant } from './mutant.ts';
import { sourceOf } from './source.ts';
import { triesOf } from './unit-tries.ts';

/** All of their tests, one after the other. */
const wholeMs = 300_000;

describe('conditions by machine', () => {
  test('what is as it was is noticed by none of them', async () => {
    const changes = Object.fromEntries(Object.keys(covered).map((file) => [file, sourceOf(file).text]));
    const same: Mutant = { id: 'the product itself', kind: 'check', changes };
    for await (const [{ id }, by] of triesOf([same], wholeMs)) assert.equal(by, undefined, id);
  });

  for (const [file, least] of Object.entries(covered)) {
    test(`${file}: each of them is noticed by a unit test when it is left out or turned round`, async (t) => {
      const mutants = conditionMutants(file);
      assert.ok(mutants.length >= least, `only ${mutants.length} are found, and there were ${least}`);
      const survive: string[] = [];
      for await (const [{ id }, by] of triesOf(mutants)) if (by === undefined) survive.push(id);
      t.diagnostic(`${mutants.length} mutants`);
      const known = Object.keys(idle).filter((id) => id.startsWith(`${file} `));
      assert.deepEqual(survive.toSorted(), known.toSorted());
    });
  }
});
