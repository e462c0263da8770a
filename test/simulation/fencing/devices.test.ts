/** Devices that do not do what they are told: the fence ends in error and says why, and nothing goes on its strength. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf } from '../run-file.ts';
import { observe } from '../release/observed.ts';
import {
  askedOf,
  atOnce,
  cutsOf,
  elsewhere,
  fenced,
  fenceIs,
  fenceOf,
  inPlace,
  place,
  victimOf,
  wellBy,
} from './fenced.ts';

const partition = { at: '0s', partition: place };
const other = (fault: string): object => ({ at: '0s', device: { node: place, fault } });

interface FaultCase {
  fault: string;
  /** What the NodeFence says in the end. */
  says: RegExp;
  /** How often the device was told to switch off, with one retry and one restart. */
  told: number;
}

const faults: FaultCase[] = [
  { fault: 'refuses', says: /the device refused/, told: 0 },
  { fault: 'hangs', says: /no answer/, told: 0 },
  { fault: 'ignores', says: /was told off \(accepted\), and 90 s later: it says on/, told: 4 },
  { fault: 'wrongMachine', says: /answers for node-\d, and the node is node-\d/, told: 0 },
];

describe('a device that does not work', () => {
  for (const { fault, says, told } of faults) {
    test(`[FEN-2] S3, S4, S29: ${fault}: error with the reason, after so many tries as configured, and nothing is released`, async () => {
      const seen = await observe(
        fenced(fault, {
          policy: { fence: { ...atOnce, restarts: 1 } },
          events: [other(fault), partition],
          expect: [inPlace, fenceIs('9m', 'error', 'power-management'), { fences: 2 }],
          runFor: '30m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      const victim = victimOf(seen);
      const fence = fenceOf(seen.world, victim)?.status.fence;
      assert.match(fence?.message ?? '', says);
      // What was told is told on again in the end, which begins to count anew.
      assert.deepEqual([fence?.retries, fence?.restarts], [told === 0 ? 1 : 0, 1]);
      assert.equal(askedOf(seen, victim).filter(({ what }) => what === 'off').length, told);
      const cuts = ['node-1', 'node-2', 'node-3'].filter((name) => cutsOf(seen, name) > 0);
      assert.deepEqual(cuts, [], 'no machine lost its power');
      const { releases, conditions } = fenceOf(seen.world, victim)?.status ?? {};
      assert.deepEqual(releases, []);
      const alarm = conditions?.find(({ type }) => type === 'Alarm');
      assert.deepEqual([alarm?.status, alarm?.reason], ['True', 'FenceInError']);
      assert.match(alarm?.message ?? '', says);
    });
  }

  for (const fault of ['late', 'reportsFailure']) {
    test(`[FEN-10] S4, S20: ${fault}: what a later question confirms counts, and the power is cut once`, async () => {
      const seen = await observe(
        fenced(fault, {
          events: [other(fault), partition, { at: '2m30s', heal: place }],
          expect: [elsewhere('2m'), fenceIs('6m', 'final'), ...wellBy('6m')],
          policy: { fence: { ...atOnce, bootTimeout: '5m' } },
          runFor: '8m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      const victim = victimOf(seen);
      assert.deepEqual(
        askedOf(seen, victim).map(({ what }) => what),
        ['off', 'on'],
      );
      assert.equal(cutsOf(seen, victim), 1);
    });
  }

  test('[FEN-10] already off is success: nothing is cut, and its pods go at once', async () => {
    const seen = await observe(
      fenced('off-already', {
        events: [{ at: '0s', powerOff: place }],
        expect: [elsewhere('20s'), fenceIs('2m', 'final'), ...wellBy('2m')],
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      askedOf(seen, victimOf(seen)).map(({ what }) => what),
      ['on'],
    );
  });

  test('S4: switched on by somebody between the confirmation and the release: nothing goes, and it has the time of a boot', async () => {
    const seen = await observe(
      fenced('on-again', {
        events: [
          { at: '0s', partition: place },
          // Confirmed at 22.5 s, asked again until 23.5 s.
          { at: '22900ms', powerOn: place },
          { at: '60s', heal: place },
        ],
        expect: [fenceIs('29s', 'done'), fenceIs('2m', 'final'), ...wellBy('3m')],
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      seen.writes.filter(({ what }) => /^(delete pods|patch pods|patch nodes\/.*\/status)/.test(what)),
      [],
    );
    assert.equal(cutsOf(seen, victimOf(seen)), 1, 'and it is not cut a second time');
    const asked = seen.report.timeline.filter(({ actor, at }) => actor === 'device' && at > 24_000);
    assert.ok(asked.length <= 2, 'while it boots its device is asked now and then');
  });

  test('S3: a device that is repaired lets the fence go on by its restart', async () => {
    const seen = await observe(
      fenced('repaired', {
        policy: { fence: { ...atOnce, retries: 0, restarts: 1, isolateAfter: '20s', powerManagementAfter: '20s' } },
        events: [
          other('refuses'),
          partition,
          { at: '50s', device: { node: place, fault: 'none' } },
          { at: '2m', heal: place },
        ],
        expect: [elsewhere('90s'), fenceIs('3m', 'final'), ...wellBy('4m')],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(fenceOf(seen.world, victimOf(seen))?.status.fence?.restarts, 1);
  });
});

describe('other nodes', () => {
  test('[STM-4] S27: are fenced while the device of one hangs, as many at a time as may be', async () => {
    const seen = await observe(
      fenced('hangs-beside', {
        cluster: { nodes: 5 },
        policy: { storm: { maxUnresponsive: '60%', maxConcurrent: 2 } },
        events: [
          { at: '0s', partition: place },
          ...['node-1', 'node-2'].map((name) => ({ at: '0s', device: { node: name, fault: 'hangs' } })),
          { at: '1s', partition: 'node-1' },
        ],
        expect: [elsewhere('30s')],
        runFor: '5m',
      }),
    );
    assert.notEqual(victimOf(seen), 'node-1');
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(fenceOf(seen.world, 'node-1')?.status.fence?.status, 'error');
  });
});
