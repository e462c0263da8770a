import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TroubleFacts } from '../api/release-view.ts';
import { silenceOf } from './silence.ts';

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
