/** Kernels that crash and say so. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { askedOf, atOnce, byCondition, elsewhere, fenced, place, victimOf } from './fenced.ts';

const noFence = [{ condition: { type: 'Ready', status: 'NotTrue', for: '1h' }, remedies: [{ name: 'fence' }] }];

function crash(
  kdump: object,
  more: { policy?: object; bootTimeout?: string; expect?: object[] } = {},
): Promise<Observed> {
  const { policy = {}, bootTimeout = '5m', expect = [] } = more;
  const events = [{ at: '0s', kdump: place }];
  const fence = { ...atOnce, bootTimeout, kdump };
  return observe(fenced('kdump', { policy: { thresholds: noFence, ...policy, fence }, events, expect, runFor: '10m' }));
}

describe('a kernel that has crashed', () => {
  test('[FEN-12, EVD-1] its pods go as soon as the node is not Ready, and it comes back by itself', async () => {
    const seen = await crash(
      { enabled: true },
      {
        expect: [
          elsewhere('40s'),
          { by: '5m', node: { name: place, ready: true, schedulable: true, taints: [] } },
          { fences: 0 },
          { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
        ],
      },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const [release] = seen.statuses.at(-1)?.status.releases ?? [];
    assert.equal(release?.basis, 'KernelCrashed');
    assert.match(release?.by ?? '', /^kdump message from /);
    const evidence = seen.statuses.find(({ status }) => status.releases.length > 0)?.status.evidence ?? [];
    assert.ok(evidence.some(({ source, says }) => source === 'Kdump' && says === 'Dead'));
  });

  test('[FEN-12] nobody listens unless the policy says so', async () => {
    const seen = await crash({ enabled: false });
    assert.ok(seen.statuses.length > 0);
    assert.ok(seen.statuses.every(({ status }) => status.releases.length === 0));
  });

  test('[FEN-12] power management waits for the dump, and no longer than it may', async () => {
    // Its pods go because its kernel has crashed: nothing is left to be freed by a cut, which waits for that as well.
    const policy = { thresholds: byCondition };
    const offAt = async (kdump: object): Promise<number | undefined> => {
      const seen = await crash(kdump, { policy, bootTimeout: '20s' });
      return askedOf(seen, victimOf(seen)).find(({ what }) => what === 'off')?.at;
    };
    const [without, short, long] = [
      await offAt({ enabled: false }),
      await offAt({ enabled: true, timeout: '45s' }),
      await offAt({ enabled: true, timeout: '8m' }),
    ];
    assert.equal(
      Math.round(((short ?? 0) - (without ?? 0)) / 1000),
      45 - 5 - 6,
      'counted from when it was known; the look around takes six seconds of it',
    );
    assert.equal(long, undefined, 'it was back before');
  });
});
