import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, anIncident, renewedLease } from '../../test/support/release-case.ts';
import type { TroubleFacts } from '../api/release-view.ts';
import { isStuck, silenceOf, withSilence } from './silence.ts';

const ready = (status: 'True' | 'False' | 'Unknown', forMs: number): TroubleFacts['conditions'] => [
  { type: 'DiskPressure', status: 'Unknown', forMs: 90_000 },
  { type: 'Ready', status, forMs },
];
const lease = { renewTime: 'one', unchangedForMs: 40_000, durationMs: 80_000, confirmed: true };

describe('for how long a kubelet is silent', () => {
  test('[SAF-14] by its Lease, once a live read has found it so', () => {
    assert.deepEqual(silenceOf(lease, ready('True', 60_000)), { leaseSilentMs: 40_000, leaseDurationMs: 80_000 });
    const { durationMs: _, ...bare } = lease;
    assert.deepEqual(silenceOf(bare, ready('Unknown', 5000)), { leaseSilentMs: 40_000 });
    assert.deepEqual(silenceOf({ ...lease, confirmed: false }, ready('Unknown', 5000)), {});
  });

  test('[SAF-3, SAF-14] not for longer than since it has written the status of its node', () => {
    const seen = (reportedForMs: number): unknown =>
      silenceOf({ ...lease, reportedForMs }, ready('True', 60_000)).leaseSilentMs;
    assert.deepEqual([seen(20_000), seen(40_001)], [20_000, 40_000]);
  });

  test('[SAF-3, SAF-14] one that has reported when it should have renewed is silent when Kubernetes says so', () => {
    const stuck = { ...lease, reportedForMs: 16_000 };
    assert.deepEqual(
      [isStuck(stuck), isStuck({ ...stuck, reportedForMs: 16_001 }), isStuck(lease)],
      [true, false, false],
    );
    assert.deepEqual(silenceOf(stuck, ready('True', 60_000)), {});
    assert.equal(silenceOf(stuck, ready('Unknown', 5000)).leaseSilentMs, 5000);
  });

  test('[EVD-2, SAF-18] where there is none, by the word of Kubernetes, and from then on', () => {
    const gone = { ...lease, isGone: true } as const;
    assert.deepEqual(silenceOf(gone, ready('Unknown', 5000)), { leaseSilentMs: 5000, leaseDurationMs: 80_000 });
    assert.deepEqual(silenceOf(undefined, ready('Unknown', 5000)), { leaseSilentMs: 5000 });
    for (const status of ['True', 'False'] as const) {
      assert.deepEqual(silenceOf(gone, ready(status, 60_000)), {});
      assert.deepEqual(silenceOf(undefined, ready(status, 60_000)), {});
    }
  });
});

describe('since when it is silent is kept', () => {
  const silence = { since: '2026-01-01T00:01:00Z', renewTime: renewedLease.renewTime };
  const known = anIncident({ silence });
  const { silence: _, ...unknown } = known;
  const fence = aFence({ incident: known });

  test('[SAF-14] for as long as its Lease says what it said then, also by whoever has just begun to look', () => {
    const { renewed: _was, ...heard } = renewedLease;
    const unseen = { ...heard, unchangedForMs: 0 };
    assert.deepEqual(withSilence(aCase({ fence, lease: unseen }), known), known);
    assert.deepEqual(withSilence(aCase({ fence, lease: { ...unseen, renewTime: 'another' } }), known), unknown);
  });

  test('[SAF-14] and not of one that was seen to renew, whatever the incident says', () => {
    assert.deepEqual(withSilence(aCase({ lease: renewedLease }), known), unknown);
    const { lease: __, ...bare } = aCase();
    assert.deepEqual(withSilence(bare, known), unknown, 'nor where nobody can say');
  });
});
