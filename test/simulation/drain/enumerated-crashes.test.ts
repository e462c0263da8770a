/**
 * [S20, S31] The combinations of enumerated.test.ts, a drain alone and one of a second node in the middle of it, with an
 * operator that is killed before and after every write. `FENCELINE_EXHAUSTIVE=1` (`make soak`) takes all of them, otherwise
 * one combination of each policy and two of its crash points.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../../../src/api/policy-defaults.ts';
import { crashPointsOf, whereOf } from '../killed.ts';
import type { CrashPoint, Killed } from '../killed.ts';
import type { Combination } from './combinations.ts';
import { combinations, nameOf, runCombination } from './combinations.ts';

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
const killedDuring = ['nothing', 'second drain'] as const;
const all = combinations().all.filter(({ meanwhile }) => killedDuring.some((one) => one === meanwhile));

/** One for every policy, of another condition, count and event than for the one before. */
function chosenOf(own: readonly Combination[], turn: number): readonly Combination[] {
  return isExhaustive ? own : own.filter((_, index) => index === (turn * 9 + 5) % own.length);
}

/** Before time 0 the budgets are made, in every combination the same ones: killed there is the operator of the first. */
function pointsOf({ writes, early }: Killed, turn: number, isFirst: boolean): CrashPoint[] {
  const points = crashPointsOf(writes.length).filter(({ at }) => at >= early || (isExhaustive && isFirst));
  if (isExhaustive) return points;
  return [points[turn % points.length], points[(turn * 3 + 4) % points.length]].filter((point) => point !== undefined);
}

interface Count {
  run: number;
  lost: number;
  failures: string[];
}

type Choose = (killed: Killed) => CrashPoint[];

async function killEverywhere(combination: Combination, choose: Choose, count: Count): Promise<void> {
  const name = nameOf(combination);
  const { killed, wrong } = await runCombination(combination);
  count.failures.push(...wrong.map((what) => `${name}: ${what}`));
  for (const point of choose(killed)) {
    const ran = await runCombination(combination, point);
    const where = `${name}, ${whereOf(point, killed.writes)}`;
    if (ran.killed.crashes !== 1) count.failures.push(`${where}: it was not killed`);
    count.failures.push(...ran.wrong.map((what) => `${where}: ${what}`));
    count.run += 1;
    if (ran.lost) count.lost += 1;
  }
}

describe('[DRN-3, DRN-8] drains, enumerated, with the operator killed at every write', () => {
  for (const [turn, policy] of DRAIN_POLICIES.entries()) {
    test(`S20: ${policy}`, async (t) => {
      const own = all.filter((one) => one.policy === policy);
      const chosen = chosenOf(own, turn);
      const count: Count = { run: 0, lost: 0, failures: [] };
      for (const combination of chosen) {
        const isFirst = combination === chosen[0];
        await killEverywhere(combination, (killed) => pointsOf(killed, turn, isFirst), count);
      }
      t.diagnostic(
        `${count.run} crash points of ${chosen.length} of ${own.length} combinations; ` +
          `in ${count.lost} the last copy was given up, as warned`,
      );
      assert.deepEqual(count.failures, []);
    });
  }
});
