import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isSilent,
  isSilentOrJustBack,
  leaseDurationMs,
  reappearedOf,
  renewalMs,
  renewsSince,
  silentAfterMs,
  stillCounts,
} from './life.ts';

describe('[SAF-14] silence is relative to the Lease of the node', () => {
  for (const [seconds, silentMs] of [
    [20, 6000],
    [40, 12_000],
    [80, 24_000],
  ] as const) {
    test(`a Lease of ${seconds} s is renewed every ${seconds / 4} s, and silent after ${silentMs / 1000}`, () => {
      const durationMs = leaseDurationMs(seconds);
      assert.equal(renewalMs({ durationMs }), (seconds * 1000) / 4);
      assert.equal(silentAfterMs({ durationMs }), silentMs);
      assert.equal(isSilent({ unchangedForMs: silentMs, durationMs }), true);
      assert.equal(isSilent({ unchangedForMs: silentMs - 1, durationMs }), false);
    });
  }

  test('one that was silent until a moment ago is just back for as long as it takes to be silent', () => {
    const lease = { unchangedForMs: 0, durationMs: 40_000 };
    const rows = [11_999, 12_000].map((backForMs) => isSilentOrJustBack({ ...lease, backForMs }));
    assert.deepEqual([...rows, isSilentOrJustBack(lease)], [true, false, false]);
    assert.equal(isSilentOrJustBack({ ...lease, unchangedForMs: 12_000 }), true);
  });

  test('whoever wants to wait longer does; nobody waits less', () => {
    assert.equal(silentAfterMs({ durationMs: 40_000 }, 30_000), 30_000);
    assert.equal(silentAfterMs({ durationMs: 80_000 }, 12_000), 24_000);
  });

  test('what says nothing that can be used is taken for the usual', () => {
    for (const seconds of [undefined, null, 0, -40, 1.5, NaN, '40']) {
      assert.equal(silentAfterMs({ durationMs: leaseDurationMs(seconds) }), 12_000, String(seconds));
    }
    assert.equal(silentAfterMs(undefined), 12_000);
  });

  test('neither a moment nor for ever, whatever a Lease says', () => {
    assert.equal(silentAfterMs({ durationMs: leaseDurationMs(1) }), 1200);
    assert.equal(silentAfterMs({ durationMs: leaseDurationMs(2 ** 31 - 1) }), 180_000);
  });
});

test('[SAF-3] that a kubelet renews since something was said is told by what no late watch can bring', () => {
  const viewAgeMs = 80_000;
  const renewed = { renewed: true, unchangedForMs: 5000 };
  assert.equal(renewsSince(renewed, 87_001, viewAgeMs), true);
  assert.equal(renewsSince(renewed, 87_000, viewAgeMs), false, 'it may have been on its way');
  assert.equal(renewsSince({ ...renewed, renewed: false }, 600_000, viewAgeMs), false, 'a first sight is no renewal');
  assert.equal(renewsSince({ ...renewed, unchangedForMs: 12_000 }, 600_000, viewAgeMs), false, 'it is silent by now');
});

test('[NGS-4, SAF-3] a volume that is in use again shows a kubelet that lives, in the boot that it was taken from and until all is over', () => {
  const node = { bootId: 'boot-1', volumesInUse: ['a', 'b'] };
  const freed = { freed: ['b'], freedAt: 'then', bootId: 'boot-1' };
  const found = (...releases: object[]): string | undefined =>
    reappearedOf({ node, fence: { status: { releases: releases as (typeof freed)[] } } });
  assert.equal(found(freed), 'b');
  assert.equal(found({ ...freed, freed: ['c'] }, freed), 'b');
  assert.equal(found({ ...freed, freed: ['c'] }), undefined);
  assert.equal(found({ ...freed, freedAt: undefined }), undefined, 'nobody has taken it out yet');
  assert.equal(found({ ...freed, endedAt: 'now' }), undefined, 'another pod may have it by now');
  assert.equal(found({ ...freed, bootId: 'boot-0' }), undefined, 'another boot may use it');
  assert.equal(reappearedOf({ node }), undefined);
});

test('[SAF-3] what was heard of a node counts until its kubelet has written anything since', () => {
  const signs = { renewTime: 'one', heartbeatTime: 'one' };
  const node = { heartbeatTime: 'one', bootId: 'boot-1', volumesInUse: ['a'] };
  const lease = { renewTime: 'one' };
  assert.equal(stillCounts({ signs }, { lease, node }), true);
  assert.equal(stillCounts({ signs }, { lease: { renewTime: 'two' }, node }), false);
  assert.equal(stillCounts({ signs }, { lease, node: { ...node, heartbeatTime: 'two' } }), false);
  assert.equal(stillCounts({ signs }, { node }), true, 'that there is no Lease any more is no sign of life');
  assert.equal(stillCounts({}, { lease, node }), false, 'nobody knows what it had written then');
  const freed = { freed: ['a'], freedAt: 'then', bootId: 'boot-1' };
  assert.equal(stillCounts({ signs }, { lease, node, fence: { status: { releases: [freed] } } }), false);
});
