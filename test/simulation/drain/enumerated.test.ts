/**
 * [S31] Every policy, one to three replicas, a volume that is stopped, running, degraded or being rebuilt; a drain alone,
 * with an uncordon, another policy or a second drain in the middle: the product itself, in the simulator. At no moment is
 * the last whole copy gone, except where a policy that was in force says so, and then `plan-drain` had warned of it; and
 * nothing is left over. `FENCELINE_EXHAUSTIVE=1` (`make soak`) takes every combination, otherwise a few of each kind.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../../../src/api/policy-defaults.ts';
import type { Combination } from './combinations.ts';
import { combinations, mayLose, meanwhilesOf, nameOf, replicaCounts, runCombination } from './combinations.ts';
import { conditions } from './copies.ts';

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
/** No divisor of what a policy, a count, a condition or an event come to: the choice goes through all of them. */
const stride = isExhaustive ? 1 : 17;
const { all, impossible } = combinations();
const chosen = all.filter((_, index) => index % stride === 0);

function valuesOf<K extends keyof Combination>(key: K): Set<Combination[K]> {
  return new Set(chosen.map((one) => one[key]));
}

describe('[DRN-3, DRN-4, DRN-5, DRN-8, DRN-13] drains, enumerated', () => {
  test('every policy, count, condition and event is among those that are run', () => {
    assert.deepEqual(valuesOf('policy'), new Set(DRAIN_POLICIES));
    assert.deepEqual(valuesOf('replicas'), new Set<number>(replicaCounts));
    assert.deepEqual(valuesOf('condition'), new Set(conditions));
    assert.deepEqual(valuesOf('meanwhile'), new Set(DRAIN_POLICIES.flatMap((policy) => meanwhilesOf(policy))));
  });

  for (const policy of DRAIN_POLICIES) {
    test(policy, async (t) => {
      const own = chosen.filter((one) => one.policy === policy);
      const failures: string[] = [];
      let lost = 0;
      for (const combination of own) {
        const ran = await runCombination(combination);
        failures.push(...ran.wrong.map((what) => `${nameOf(combination)}: ${what}`));
        if (ran.lost) lost += 1;
      }
      const total = all.filter((one) => one.policy === policy).length;
      t.diagnostic(`${own.length} of ${total} combinations run; in ${lost} the last copy was given up, as warned`);
      assert.deepEqual(failures, []);
    });
  }

  test('what the exceptions allow does happen: the last copy can be lost', async () => {
    const plain = { replicas: 1, meanwhile: 'nothing' } as const;
    const given: Combination[] = [
      { ...plain, policy: 'always-allow', condition: 'running' },
      { ...plain, policy: 'allow-if-replica-is-stopped', condition: 'stopped' },
    ];
    for (const combination of given) {
      const { lost, wrong } = await runCombination(combination);
      assert.deepEqual([mayLose(combination), lost, wrong], [true, true, []], nameOf(combination));
    }
  });

  test('what there is of them', (t) => {
    t.diagnostic(`${chosen.length} of ${all.length} combinations are run; ${impossible} cannot exist`);
    assert.equal(all.length + impossible, 5 * 3 * 4 * 7);
  });
});
