import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aNode, aPod, renewedLease } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/power.ts';
import type { PresentCase } from '../api/release-view.ts';
import { disprovenBy, isUnharmed, neverOff } from './never-off.ts';

const at = '2026-01-01T00:00:00Z';
const nowMs = Date.parse(at) + 60_000;
type Fence = NonNullable<NodeFenceStatus['fence']>;
type Off = NonNullable<NonNullable<NodeFenceStatus['incident']>['poweredOff']>;

function seen(more: Partial<PresentCase> = {}): PresentCase {
  const node = aNode({ ready: 'True', bootId: 'b1', heartbeatTime: 'after' });
  return { ...aCase({ lease: renewedLease }), node, serverNowMs: nowMs, pods: [], ...more };
}

const release = { basis: 'PowerOff', bootId: 'b1', pods: [{ namespace: 'default', name: 'web-0', uid: 'web-0' }] };

function stored(
  off: Partial<Off> | undefined = {},
  { phase = 'booting', releases = [release] }: { phase?: Fence['phase']; releases?: readonly object[] } = {},
): NodeFenceStatus {
  const signs = { renewTime: 'before', heartbeatTime: 'before' };
  return {
    fence: { phase, stepStartedAt: at },
    incident: { poweredOff: { at, bootId: 'b1', signs, devices: ['d'], ...off } },
    releases,
  } as unknown as NodeFenceStatus;
}

describe('[SAF-1] a machine that reports from the boot in which it was confirmed off', () => {
  test('was never off, and two may have written to what went', () => {
    assert.match(
      neverOff(seen(), stored()) ?? '',
      /it was never off\. default\/web-0 went by that, and two may have written/,
    );
    const many = Array.from({ length: 7 }, (_, index) => ({ namespace: 'a', name: `p-${index}`, uid: `${index}` }));
    const all = stored({}, { releases: [{ ...release, pods: many }] });
    assert.match(neverOff(seen(), all) ?? '', /a\/p-4 and 2 more went by that/);
  });

  test('is told by what its kubelet has written since, its boot with it', () => {
    const node = seen().node;
    assert.equal(neverOff(seen({ node: { ...node, heartbeatTime: 'before' } }), stored()), undefined);
    const { heartbeatTime: _, ...mute } = node;
    assert.equal(neverOff(seen({ node: mute }), stored()), undefined);
    assert.equal(neverOff(seen({ node: { ...node, bootId: 'b2' } }), stored()), undefined);
    const { signs: __, ...unsigned } = stored().incident?.poweredOff ?? {};
    const without = { ...stored(), incident: { ...stored().incident, poweredOff: unsigned } } as NodeFenceStatus;
    assert.equal(neverOff(seen(), without), undefined);
  });

  test('and by a Lease that was renewed after what may have been under way', () => {
    const renewed = (agoMs: number): PresentCase => seen({ lease: { ...renewedLease, unchangedForMs: agoMs } });
    assert.equal(neverOff(renewed(58_000), stored()), undefined);
    assert.ok(neverOff(renewed(57_999), stored()));
    const { lease: _, ...without } = seen();
    assert.ok(neverOff(without, stored()), 'one that has no Lease is heard of by its Node alone');
  });

  test('not where others have its boot ID, nor before its devices have said on', () => {
    assert.equal(neverOff(seen({ node: { ...seen().node, sharesBootId: true } }), stored()), undefined);
    for (const phase of ['off', 'poweringOn', 'finished'] as const) {
      assert.equal(neverOff(seen(), stored({}, { phase })), undefined, phase);
    }
    for (const phase of ['failed', 'waiting', 'isolated'] as const)
      assert.ok(neverOff(seen(), stored({}, { phase })), phase);
    assert.equal(neverOff(seen(), { ...stored(), incident: undefined }), undefined);
    assert.equal(neverOff(seen(), { ...stored(), fence: undefined }), undefined);
  });

  test('where nothing went, only if it had been told: what was found off may have been restarted', () => {
    const nothing = { releases: [] };
    assert.match(neverOff(seen(), stored({}, nothing)) ?? '', /Nothing was let go meanwhile/);
    assert.equal(neverOff(seen(), stored({ isFound: true }, nothing)), undefined);
    const still = seen({ pods: [aPod({ uid: 'web-0' })] });
    assert.equal(neverOff(still, stored({ isFound: true })), undefined, 'it was only on record that it should');
    const freed = stored({ isFound: true }, { releases: [{ ...release, freedAt: at }] });
    assert.ok(neverOff(still, freed), 'its volumes have gone');
    const others = [
      { ...release, basis: 'Asserted' },
      { ...release, bootId: 'b0' },
    ];
    assert.equal(neverOff(seen(), stored({ isFound: true }, { releases: others })), undefined);
    assert.equal(neverOff(seen({ isUnread: true }), stored()), undefined, 'nobody has looked who is there');
  });
});

describe('[RET-1] a machine that was only found off', () => {
  const found = (more: { phase?: Fence['phase']; releases?: readonly object[] } = {}): NodeFenceStatus =>
    stored({ isFound: true }, { releases: [], ...more });

  test('is as it was where nothing went and its Lease is renewed since its devices said on', () => {
    assert.ok(isUnharmed(seen(), found()));
    assert.equal(isUnharmed(seen({ lease: { ...renewedLease, unchangedForMs: 58_000 } }), found()), false);
    const { lease: _, ...without } = seen();
    assert.equal(isUnharmed(without, found()), false);
    assert.equal(isUnharmed(seen(), found({ phase: 'failed' })), false);
    assert.equal(isUnharmed(seen(), stored({}, { releases: [] })), false, 'told');
    assert.equal(isUnharmed(seen(), found({ releases: [release] })), false);
    assert.equal(isUnharmed(seen({ isUnread: true }), found()), false);
  });
});

test('[SAF-1] the devices that had confirmed it are wrong, as they are configured now', () => {
  const method = (name: string): Method => ({ name, action: 'off', driver: name, parameters: {}, secrets: [] });
  const levels = [
    { off: [method('a')], on: [] },
    { off: [method('b')], on: [] },
  ];
  const config = { ok: true, config: { isolation: [], powerManagement: levels, recovery: [] } } as const;
  const status = stored({ devices: [deviceHash(method('b')), 'edited'] });
  assert.equal(disprovenBy(seen({ config }), status), undefined);
  const told = { ...status, fence: { ...status.fence, neverOff: 'never' } } as NodeFenceStatus;
  const { methods, at: since } = disprovenBy(seen({ config }), told) ?? {};
  assert.deepEqual([methods?.map(({ name }) => name), since], [['b'], at]);
  assert.equal(disprovenBy(seen({ config }), { ...told, incident: undefined }), undefined);
});
