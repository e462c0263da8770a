import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { conditionMutants, covered, idle } from './conditions.ts';
import type { Mutant } from './mutant.ts';
import { sourceOf } from './source.ts';
import { triesOf } from './unit-tries.ts';

describe('conditions by machine', () => {
  for (const [file, least] of Object.entries(covered)) {
    test(`${file}: each of them is noticed by a unit test when it is left out or turned round`, async (t) => {
      const mutants = conditionMutants(file);
      assert.ok(mutants.length >= least, `only ${mutants.length} are found, and there were ${least}`);
      const same: Mutant = { id: 'the product itself', kind: 'check', changes: { [file]: sourceOf(file).text } };
      const survive: string[] = [];
      for await (const [{ id }, by] of triesOf([same, ...mutants])) if (by === undefined) survive.push(id);
      t.diagnostic(`${mutants.length} mutants`);
      const known = Object.keys(idle).filter((id) => id.startsWith(`${file} `));
      assert.deepEqual(survive.toSorted(), [same.id, ...known].toSorted());
    });
  }
});
