/**
 * [S20] The operator is killed at every write of a fence, as in ../crash-points.test.ts: its successor does not know what was
 * told to which device but from the record. It finishes the fence, frees what may go, connects again what was cut, and leaves
 * the node in service.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Scenario } from '../../../src/scenario/format.ts';
import { crashPointsOf, killedAtWrite, whereOf } from '../killed.ts';
import { failuresOf } from '../run-file.ts';
import { atOnce, fenced, place, wellBy } from './fenced.ts';
import { cutAlone, cutAndPowered } from './switches.ts';

const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 6;

const partition = [
  { at: '0s', partition: place },
  { at: '2m', heal: place },
];
const oneWriter = { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } };
const movedBy = { by: '90s', pod: { label: 'app=web', running: true, moved: true } };

function path(name: string, fence: object, objects: readonly object[]): Scenario {
  const policy = { fence: { ...atOnce, ...fence } };
  const expect = [movedBy, ...wellBy('5m'), oneWriter];
  return fenced(name, { policy, objects: [...objects], events: partition, expect, runFor: '5m' });
}

const paths: readonly { name: string; scenario: Scenario }[] = [
  { name: '[S20, FEN-4] its power', scenario: path('power', {}, []) },
  {
    name: '[S20, FEN-6, RET-2] its storage, then its power',
    scenario: path('storage-and-power', { powerManagementAfter: '60s', bootTimeout: '2m' }, cutAndPowered),
  },
  { name: '[S20, SAF-8, RET-2] its storage alone', scenario: path('storage', {}, cutAlone) },
];

describe('a leader that is killed in the middle of a fence of', () => {
  for (const [index, { name, scenario }] of paths.entries()) {
    test(name, async () => {
      const { writes, seen } = await killedAtWrite(scenario);
      assert.deepEqual(failuresOf(seen.report), [], 'without a crash');
      for (const point of crashPointsOf(writes.length).filter((_, at) => (at + index) % stride === 0)) {
        const crashed = await killedAtWrite(scenario, point);
        assert.equal(crashed.crashes, 1, whereOf(point, writes));
        assert.deepEqual(failuresOf(crashed.seen.report), [], whereOf(point, writes));
      }
    });
  }
});
