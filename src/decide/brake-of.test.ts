import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aFence, anIncident } from '../../test/support/release-case.ts';
import type { NodeCase } from '../api/release-view.ts';
import { spellOf } from './brake-of.ts';
import { withSilence } from './silence.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const calledMs = nowMs - 600_000;
const renewTime = '2025-06-01T00:00:00.000000Z';

function seen(unchangedForMs: number, more: object = {}): NodeCase {
  const lease = { unchangedForMs, durationMs: 40_000, renewed: true, renewTime, ...more };
  return { lease, serverNowMs: nowMs, policy: { kind: 'none' } } as unknown as NodeCase;
}
const sinceOf = (nodeCase: NodeCase): number => (spellOf(nodeCase, calledMs).sinceMs - nowMs) / 1000;
const recorded = (nodeCase: NodeCase, since: string, of = renewTime): NodeCase => ({
  ...nodeCase,
  fence: aFence({ incident: anIncident({ silence: { since, renewTime: of } }) }),
});

describe('since when a node has patience', () => {
  test('[SAF-18] one that was back meanwhile has the whole of bootTimeout again, from its last renewal on', () => {
    assert.equal(sinceOf(seen(20_000)), -19);
    assert.equal(sinceOf(seen(1_000_000)), -600, 'the cut was called for after that');
    assert.equal(sinceOf(seen(1000)), -600, 'it renews, and is in other trouble');
  });

  test('[SAF-18] of one that nobody has seen live it counts from when it could have been heard of, and no longer', () => {
    assert.equal(sinceOf(seen(20_000, { renewed: false })), -19);
    assert.equal(sinceOf(seen(1000, { renewed: false })), 0, 'nobody knows yet');
    assert.equal(sinceOf(seen(500_000, { hearableForMs: 5000 })), -4, 'the API server was away');
  });

  test('[SAF-18] what is on record counts for whoever leads, as long as the Lease says what it said then', () => {
    const since = '2026-01-01T00:55:00Z';
    assert.equal(sinceOf(recorded(seen(20_000, { renewed: false }), since)), -300);
    assert.equal(sinceOf(recorded(seen(20_000, { renewed: false }), since, 'another')), -19, 'it was back');
    const { lease: _, ...gone } = recorded(seen(0), since);
    assert.equal(sinceOf(gone), -300, 'that its Lease is gone is no sign of life');
    const { lease: __, ...unknown } = seen(0);
    assert.equal(sinceOf(unknown), -600);
  });

  test('[SAF-18] when its kubelet was last heard of is known of one that lives, too', () => {
    assert.equal(spellOf(seen(5000), calledMs).heardMs, nowMs - 4000);
  });
});

describe('what is recorded of it', () => {
  const silence = { since: '2026-01-01T00:55:00Z', renewTime };
  const after = (nodeCase: NodeCase, before?: typeof silence): unknown =>
    withSilence(nodeCase, anIncident(before === undefined ? {} : { silence: before })).silence;

  test('[SAF-18] since when it is silent, once that is known, and the same as long as it is', () => {
    assert.deepEqual(after(seen(20_000)), { since: '2026-01-01T00:59:41Z', renewTime });
    assert.deepEqual(after(recorded(seen(20_000), silence.since), silence), silence);
    assert.equal(after(seen(5000, { renewed: false })), undefined, 'nobody knows yet');
    assert.equal(after(seen(500_000, { hearableForMs: 5000 })), undefined, 'nobody knows yet');
  });

  test('[SAF-18] nothing of one that lives', () => {
    assert.equal(after(seen(1000, { renewTime: 'another' }), silence), undefined);
    const { lease: _, ...gone } = recorded(seen(0), silence.since);
    assert.deepEqual(after(gone, silence), silence);
  });
});
