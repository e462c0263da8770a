import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  anAttachment,
  aNode,
  aPod,
  aRecord,
  aVolume,
  driver,
  failover,
  inForce,
  nowMs,
  safeDriver,
  withoutNode,
} from '../../test/support/release-case.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { NodeCase, VolumeFacts } from '../api/release-view.ts';
import { bySafeDetach } from './by-safe-detach.ts';
import type { Objection } from './checks.ts';
import { releaseNode, wayNamed } from './release-node.ts';

/** The gate on, the driver safe, no policy, and a pod that was just asked to go. */
function protectedCase(change: Partial<NodeCase> = {}): NodeCase {
  return aCase({
    gates: failover,
    drivers: safeDriver,
    policy: { kind: 'none' },
    pods: [aPod({ deletionAtMs: nowMs + 30_000 })],
    ...change,
  });
}

function refusal(nodeCase: NodeCase): Objection | undefined {
  const [fate] = releaseNode(nodeCase);
  assert.ok(fate);
  if (fate.goes) {
    assert.deepEqual([fate.way, wayNamed(fate.way).basis], ['safe detach', 'StorageSafeDetach']);
    return undefined;
  }
  return fate.objections.find(({ way }) => way === 'safe detach')?.objection;
}

function known(volume: VolumeFacts): Extract<VolumeFacts, { known: true }> {
  assert.ok(volume.known);
  return volume;
}

const { csi: _csi, ...inTree } = known(aVolume());
const one = (volume: VolumeFacts): Partial<NodeCase> => ({ volumes: { 'default/data-web-0': volume } });
const says = (change: object): Partial<NodeCase> => ({
  drivers: { [driver]: { name: driver, safeDetach: true, unpublishFence: false, ...change } },
});

describe('safe detach', () => {
  test('[NGS-2, NGS-4] a pod goes as soon as it is asked to, without a policy and whatever its owner', () => {
    assert.equal(refusal(protectedCase()), undefined);
    const { owner: _, ...bare } = aPod({ deletionAtMs: nowMs + 30_000 });
    assert.equal(refusal(protectedCase({ pods: [bare] })), undefined);
  });

  test('[NGS-1] a policy says of a driver what its annotation would, unless that says "false"', () => {
    const under = (safeDetach: string[], change: object = { safeDetach: false }): string | undefined =>
      refusal(protectedCase({ ...says(change), policy: inForce({ safeDetach, podDeletion: 'do-nothing' }) }))?.message;
    assert.equal(under([driver]), undefined);
    assert.match(under(['other.example.com']) ?? '', /no policy lists it under safeDetach/);
    assert.match(under([driver], { safeDetach: false, deniesSafeDetach: true }) ?? '', /is "false"/);
    assert.match(under([driver], { safeDetach: false, malformed: 'is "yes"' }) ?? '', /is "yes"/);
    assert.match(under([driver], { safeDetach: false, attachless: true }) ?? '', /attachRequired: false/);
    const unseen = protectedCase({ drivers: {}, policy: inForce({ safeDetach: [driver] }) });
    assert.match(refusal(unseen)?.message ?? '', /no CSIDriver/);
    const shared = protectedCase({
      policy: inForce({ safeDetach: [driver] }),
      ...one(aVolume({ accessModes: ['ReadWriteMany'] })),
    });
    assert.equal(refusal(shared)?.reason, 'VolumeShared');
  });

  const rows: [string, string, RegExp, Partial<NodeCase>][] = [
    ['the gate is off', 'GateOff', /NonGracefulFailover/, { gates: featureGates() }],
    ['the node is Ready', 'NodeReady', /Ready/, { node: aNode({ ready: 'True' }) }],
    ['nothing is known of the node', 'NodeNotDown', /no Ready condition/, { node: aNode({ ready: undefined }) }],
    ['it has no claim', 'NoPersistentVolume', /no persistent/, { pods: [aPod({ claims: [] })] }],
    ['the driver says no', 'VolumeNotProtected', /pv-0: CSIDriver/, says({ safeDetach: false })],
    ['nothing is attached', 'VolumeNotProtected', /pv-0: .* attachRequired: false/, says({ attachless: true })],
    ['the driver is malformed', 'VolumeNotProtected', /pv-0: is "yes"/, says({ malformed: 'is "yes"' })],
    ['there is no CSIDriver', 'VolumeNotProtected', /no CSIDriver driver\.longhorn\.io/, { drivers: {} }],
    [
      'ReadWriteMany',
      'VolumeShared',
      /pv-0 is ReadWriteMany/,
      one(aVolume({ accessModes: ['ReadWriteOnce', 'ReadWriteMany'] })),
    ],
    ['an in-tree volume', 'VolumeNotProtected', /not a CSI volume/, one({ ...inTree, provisionedBy: driver })],
    ['a local volume', 'VolumeNotProtected', /local to a node/, one({ ...inTree, local: true })],
    [
      'storage without a claim',
      'VolumeNotProtected',
      /data \(iscsi\)/,
      { pods: [aPod({ directVolumes: ['data (iscsi)'] })] },
    ],
    ['a volume that was not read', 'VolumeUnknown', /has not been read/, { volumes: {} }],
    [
      'a volume that is gone',
      'VolumeUnknown',
      /does not exist/,
      one({
        claim: 'default/data-web-0',
        known: false,
        reason: 'VolumeMissing',
        message: 'volume pv-0 does not exist',
      }),
    ],
    [
      'it is attached elsewhere too',
      'AttachedElsewhere',
      /node-2/,
      { attachments: [anAttachment({ node: 'node-2' })] },
    ],
    [
      'the kubelet renews its Lease',
      'KubeletAlive',
      /renews its Lease/,
      { lease: { renewTime: 'x', unchangedForMs: 1, renewedSinceNotReady: true } },
    ],
    [
      'Ready is False and the kubelet was heard of lately',
      'KubeletAlive',
      /renews its Lease/,
      {
        node: aNode({ ready: 'False' }),
        lease: { renewTime: 'x', unchangedForMs: 11_999, renewedSinceNotReady: false },
      },
    ],
    [
      'Ready is False and the kubelet need not have renewed its Lease yet',
      'KubeletAlive',
      /renews its Lease/,
      {
        node: aNode({ ready: 'False' }),
        lease: { renewTime: 'x', unchangedForMs: 23_999, renewedSinceNotReady: false, durationMs: 80_000 },
      },
    ],
    [
      'a DaemonSet',
      'DaemonSetPod',
      /DaemonSet/,
      { pods: [aPod({ owner: { group: 'apps', kind: 'DaemonSet', name: 'a', uid: 'a' } })] },
    ],
    ['a mirror', 'MirrorPod', /file/, { pods: [aPod({ mirror: true })] }],
  ];
  for (const [when, reason, message, change] of rows) {
    test(`[NGS-1, NGS-2, NGS-3] ${when}: ${reason}`, () => {
      const found = refusal(protectedCase(change));
      assert.equal(found?.reason, reason);
      assert.match(found.message, message);
    });
  }

  test('[NGS-2] without a Node object the word of the storage is not asked', () => {
    assert.equal(refusal(withoutNode(protectedCase()))?.reason, 'NodeGone');
  });

  test('what is told does not change with every renewal', () => {
    const lease = (renewTime: string): Partial<NodeCase> => ({
      lease: { renewTime, unchangedForMs: 1, renewedSinceNotReady: true },
    });
    assert.deepEqual(refusal(protectedCase(lease('10'))), refusal(protectedCase(lease('20'))));
  });

  test('[NGS-2] of any mix of volumes, a pod goes only if every one is of a safe driver and for one node', () => {
    const volume = fc.record({
      kind: fc.constantFrom('safe', 'unsafe', 'inTree', 'local', 'unknown'),
      shared: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(volume, { minLength: 0, maxLength: 4 }), (mix) => {
        const facts = mix.map(({ kind, shared }, at): [string, VolumeFacts] => {
          const claim = `default/c${at}`;
          const base = {
            claim,
            known: true as const,
            volume: `pv-${at}`,
            accessModes: shared ? ['ReadWriteMany'] : ['ReadWriteOnce'],
          };
          if (kind === 'unknown') return [claim, { claim, known: false, reason: 'ClaimUnbound', message: 'no volume' }];
          if (kind === 'inTree' || kind === 'local') return [claim, { ...base, local: kind === 'local' }];
          const name = kind === 'safe' ? driver : 'unsafe.example.com';
          return [claim, { ...base, local: false, csi: { driver: name, handle: `pv-${at}` } }];
        });
        const claims = mix.map((_, at) => ({ volume: `v${at}`, claim: `c${at}` }));
        const unsafe = { name: 'unsafe.example.com', safeDetach: false, unpublishFence: false };
        const drivers = { ...safeDriver, [unsafe.name]: unsafe };
        const pods = [aPod({ claims })];
        const found = refusal(protectedCase({ pods, volumes: Object.fromEntries(facts), drivers, attachments: [] }));
        const mayGo = mix.length > 0 && mix.every(({ kind, shared }) => kind === 'safe' && !shared);
        assert.equal(found === undefined, mayGo);
      }),
      { numRuns: 300 },
    );
  });
});

describe('[NGS-1] what a release rests on', () => {
  const other = 'other.example.com';
  const volumes = {
    'default/data-web-0': aVolume(),
    'default/more-web-0': aVolume({ volume: 'pv-1', csi: { driver: other, handle: 'pv-1' } }),
  };
  const claims = Object.keys(volumes).map((claim) => ({ volume: claim, claim: claim.slice('default/'.length) }));
  /** The first driver says it of itself, the second one only in the policy. */
  const mixed = (safeDetach: string[] = [other]): NodeCase =>
    protectedCase({
      volumes,
      pods: [aPod({ claims })],
      policy: inForce({ safeDetach, podDeletion: 'do-nothing' }),
      drivers: { ...safeDriver, [other]: { name: other, safeDetach: false, unpublishFence: false } },
    });

  test('is the word of the policy as soon as one driver does not say it of itself', () => {
    assert.equal(bySafeDetach.by(mixed()), 'policy release');
    assert.equal(bySafeDetach.by(mixed([])), undefined, 'nobody says it of the other one');
    assert.equal(bySafeDetach.by(mixed([driver])), undefined, 'who says it of itself needs nobody else');
    assert.equal(bySafeDetach.by({ ...mixed(), policy: { kind: 'none' } }), undefined);
  });

  test('each driver is looked at again for whatever its word was', () => {
    const grounds = bySafeDetach.grounds(mixed(), { drivers: [driver, other] });
    assert.deepEqual(grounds, { basis: 'StorageSafeDetach', safeDrivers: [driver], declaredDrivers: [other] });
  });

  test('stands while nobody takes back what was said of one of the drivers that it freed volumes of', () => {
    const attachments = [anAttachment(), anAttachment({ name: 'csi-1', volume: 'pv-1', driver: other })];
    const stands = (freed: string[], safeDetach: string[]): boolean =>
      bySafeDetach.stillStands(
        { ...mixed(safeDetach), attachments },
        aRecord({ basis: 'StorageSafeDetach', attachments: freed }),
      );
    assert.equal(stands(['csi-0', 'csi-1'], [other]), true);
    assert.equal(stands(['csi-0', 'csi-1'], []), false);
    assert.equal(stands(['csi-0'], []), true, 'the other one is none of its');
  });
});

describe('volumes that pods share', () => {
  const shares = (change: object = {}): NodeCase['pods'][number] => {
    const { deletionAtMs: _, ...staying } = aPod({ name: 'reader', uid: 'pod-1', ...change });
    return staying;
  };

  test('[NGS-2] a pod stays as long as one that uses its volume does', () => {
    const both = protectedCase({ pods: [aPod(), shares()] });
    assert.equal(refusal(both)?.reason, 'VolumeInUseHere');
    assert.match(refusal(both)?.message ?? '', /default\/reader .*pv-0/);
    assert.equal(refusal(protectedCase({ pods: [aPod(), shares({ phase: 'Failed' })] })), undefined);
  });

  test('[POD-2] who accepts the risk may let it go all the same, but not the volume', () => {
    const [fate] = releaseNode(protectedCase({ pods: [aPod(), shares()], policy: inForce() }));
    assert.ok(fate?.goes);
    assert.deepEqual([fate.way, fate.frees], ['policy', []]);
  });
});
