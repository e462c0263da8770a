/**
 * [S20] The guard is killed at every write of a drain, once before the write leaves and once when the server has carried
 * it out and the answer has not arrived, and started again five seconds later. `FENCELINE_EXHAUSTIVE=1` takes every
 * crash point, otherwise every third.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Scenario } from '../../../src/scenario/format.ts';
import { crashPointsOf, killedAtWrite, whereOf } from '../killed.ts';
import { failuresOf, scenarioOf } from '../run-file.ts';

const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 3;

/** Event counts are those of an undisturbed run. */
function pathOf(name: string): Scenario {
  const scenario = scenarioOf(`drain/${name}`);
  return { ...scenario, expectations: scenario.expectations.filter(({ state }) => state.of !== 'event') };
}

describe('crash points of drains', () => {
  const names = ['plan-1-block-for-eviction', 'plan-2-last-replica-only', 'two-nodes-at-once'];
  for (const [index, name] of names.entries()) {
    test(`S20: ${name}`, async () => {
      const scenario = pathOf(name);
      const { seen, writes } = await killedAtWrite(scenario);
      assert.deepEqual(failuresOf(seen.report), [], 'without a crash');
      const points = crashPointsOf(writes.length);
      for (const point of points.filter((_, at) => (at + index) % stride === 0)) {
        const crashed = await killedAtWrite(scenario, point);
        const where = whereOf(point, writes);
        assert.equal(crashed.crashes, 1, where);
        assert.deepEqual(failuresOf(crashed.seen.report), [], where);
      }
    });
  }
});
