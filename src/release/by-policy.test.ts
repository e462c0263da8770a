import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  aFence,
  anAttachment,
  aNode,
  aPod,
  aRecord,
  aVolume,
  driver,
  entry,
  inForce,
  nowMs,
  withoutNode,
} from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, PodDeletion, PodFacts } from '../api/release-view.ts';
import { releaseNode, wayNamed } from './release-node.ts';

/** How the only pod fares: the way it goes, or the reason why the policy does not let it. */
function fateOf(nodeCase: NodeCase): string {
  const [fate] = releaseNode(nodeCase);
  assert.ok(fate);
  if (fate.goes) return `${fate.way}: ${wayNamed(fate.way).basis}`;
  const way = nodeCase.policy.kind === 'one' && nodeCase.policy.policy.volumeAttachmentRecovery !== 'never';
  const found = fate.objections.filter(({ way: name }) => name === (way ? 'attachment recovery' : 'policy'));
  return found.map(({ objection }) => objection.reason).join();
}

const goes = 'policy: AcceptedRisk';
const owned = (kind: string, group = 'apps'): Partial<PodFacts> => ({ owner: { group, kind, name: 'x', uid: 'x' } });

describe('the policy of the user', () => {
  const table: [PodDeletion, string, string, string][] = [
    ['do-nothing', 'DoNothing', 'DoNothing', 'DoNothing'],
    ['delete-statefulset-pod', goes, 'OwnerNotCovered', 'OwnerNotCovered'],
    ['delete-deployment-pod', 'OwnerNotCovered', goes, 'OwnerNotCovered'],
    ['delete-both-statefulset-and-deployment-pod', goes, goes, 'OwnerNotCovered'],
  ];
  for (const [podDeletion, statefulSet, replicaSet, other] of table) {
    test(`[POD-1, POD-2] ${podDeletion}`, () => {
      const policy = inForce({ podDeletion });
      const under = (change: Partial<PodFacts>): string => fateOf(aCase({ policy, pods: [aPod(change)] }));
      assert.equal(under(owned('StatefulSet')), statefulSet);
      assert.equal(under(owned('ReplicaSet')), replicaSet);
      for (const kind of ['Job', 'DaemonSet', 'Database', 'Deployment', 'ReplicationController', 'statefulset']) {
        assert.equal(under(owned(kind)), other, kind);
      }
      for (const kind of ['StatefulSet', 'ReplicaSet']) {
        for (const group of ['apps.kruise.io', 'extensions', '']) assert.equal(under(owned(kind, group)), other, group);
      }
      const { owner: _, ...bare } = aPod();
      assert.equal(fateOf(aCase({ policy, pods: [bare] })), other, 'a bare pod');
      assert.equal(under({ ...owned('StatefulSet'), mirror: true }), 'MirrorPod');
    });
  }

  test('[POD-12] the pods of a listed controller go where those of a StatefulSet do', () => {
    const owners = [{ group: 'postgresql.cnpg.io', kind: 'Cluster' }];
    const under = (podDeletion: PodDeletion, pod: Partial<PodFacts>): string =>
      fateOf(aCase({ policy: inForce({ podDeletion, owners }), pods: [aPod(pod)] }));
    const cluster = owned('Cluster', 'postgresql.cnpg.io');
    assert.equal(under('delete-statefulset-pod', cluster), goes);
    assert.equal(under('delete-both-statefulset-and-deployment-pod', cluster), goes);
    assert.equal(under('delete-deployment-pod', cluster), 'OwnerNotCovered');
    assert.equal(under('do-nothing', cluster), 'DoNothing');
    assert.equal(under('delete-statefulset-pod', owned('Cluster', 'example.com')), 'OwnerNotCovered');
    assert.equal(under('delete-statefulset-pod', owned('Pooler', 'postgresql.cnpg.io')), 'OwnerNotCovered');
    assert.equal(under('delete-statefulset-pod', owned('StatefulSet')), goes, 'what the name says goes all the same');
  });

  const rows: [string, string, Partial<NodeCase>][] = [
    ['Ready is Unknown', goes, {}],
    ['Ready is False', goes, { node: aNode({ ready: 'False' }) }],
    ['Ready is True', 'NodeReady', { node: aNode({ ready: 'True' }) }],
    ['it has never reported', 'NodeNotDown', { node: aNode({ ready: undefined }) }],
    ['no policy selects it', 'NoPolicy', { policy: { kind: 'none' } }],
    ['the pod is not terminating', 'NotTerminating', { pods: [{ ...aPod(), deletionAtMs: NaN }].map(undated) }],
    ['its time is up this very second', 'TimeNotUp', { pods: [aPod({ deletionAtMs: nowMs })] }],
    ['its time was up a second ago', goes, { pods: [aPod({ deletionAtMs: nowMs - 1000 })] }],
    ['no provisioner is listed', 'NoListedVolume', { policy: inForce({ provisioners: [] }) }],
    ['another one is', 'NoListedVolume', { policy: inForce({ provisioners: ['other.example.com'] }) }],
    ['it has no claim', 'NoPersistentVolume', { pods: [aPod({ claims: [] })] }],
    ['its claim was not read', 'VolumeUnknown', { volumes: {} }],
    ['the volume is attached elsewhere too', 'AttachedElsewhere', { attachments: [anAttachment({ node: 'node-2' })] }],
    ['it is being attached elsewhere', goes, { attachments: [anAttachment({ node: 'node-2', attached: false })] }],
    ['a fence runs', 'FenceUnsettled', { fence: fenced('running') }],
    ['a fence has failed', 'FenceUnsettled', { fence: fenced('error') }],
    ['a fence is about to be confirmed', 'FenceUnsettled', { fence: fenced('done') }],
    ['a fence is over', goes, { fence: fenced('final') }],
    [
      'its kubelet renews again',
      'KubeletAlive',
      { lease: { renewTime: 'x', unchangedForMs: 5, renewedSinceNotReady: true } },
    ],
    ['a volume is in use again', 'KubeletAlive', { fence: aFence({ releases: [aRecord({ freedAt: 'x' })] }) }],
  ];
  for (const [when, expected, change] of rows) {
    test(`[POD-3, POD-4, POD-5] ${when}: ${expected}`, () => assert.equal(fateOf(aCase(change)), expected));
  }

  test('[POD-3] without a Node object the policy applies all the same', () => {
    assert.equal(fateOf(withoutNode(aCase())), goes);
  });

  test('[POD-5] an in-tree volume counts by its annotation, a CSI volume by its driver alone', () => {
    const { csi: _, ...inTree } = aVolume({ provisionedBy: 'driver.longhorn.io' }) as Extract<
      ReturnType<typeof aVolume>,
      { known: true }
    >;
    assert.equal(fateOf(aCase({ volumes: { 'default/data-web-0': inTree } })), goes);
    const relabelled = aVolume({ csi: { driver: 'other', handle: 'x' }, provisionedBy: 'driver.longhorn.io' });
    assert.equal(fateOf(aCase({ volumes: { 'default/data-web-0': relabelled } })), 'NoListedVolume');
  });

  test('a failed fence is accepted only where the policy says so', () => {
    const policy = inForce({ riskAfterFailedFence: true });
    assert.equal(fateOf(aCase({ policy, fence: fenced('error') })), goes);
    assert.equal(fateOf(aCase({ policy, fence: fenced('running') })), 'FenceUnsettled');
  });

  test('[POD-4] whatever else is so, nothing goes on this way before its time, or from a node that is Ready', () => {
    const known = fc.record({
      ready: fc.constantFrom('True', 'False', 'Unknown', undefined),
      sinceMs: fc.integer({ min: -5000, max: 5000 }),
      podDeletion: fc.constantFrom(...table.map(([name]) => name)),
      kind: fc.constantFrom('StatefulSet', 'ReplicaSet', 'Job', 'DaemonSet'),
    });
    fc.assert(
      fc.property(known, ({ ready, sinceMs, podDeletion, kind }) => {
        const pod = aPod({ ...owned(kind), deletionAtMs: nowMs - sinceMs });
        const [fate] = releaseNode(aCase({ node: aNode({ ready }), policy: inForce({ podDeletion }), pods: [pod] }));
        if (fate?.goes !== true) return;
        assert.ok(ready === 'False' || ready === 'Unknown');
        assert.ok(sinceMs >= 1000);
        assert.ok(kind === 'StatefulSet' || kind === 'ReplicaSet');
      }),
      { numRuns: 500 },
    );
  });
});

describe('volume attachment recovery', () => {
  const goesByRecovery = 'attachment recovery: AcceptedRisk';
  const waiting = (volumeAttachmentRecovery: 'wait' | 'immediate', change: Partial<NodeCase> = {}): NodeCase =>
    aCase({
      policy: inForce({ podDeletion: 'do-nothing', volumeAttachmentRecovery }),
      pods: [aPod({ ...owned('ReplicaSet'), deletionAtMs: nowMs + 20_000 })],
      awaited: ['default/data-web-0'],
      ...change,
    });

  test('[POD-7] immediate does not wait for the time to be up, wait does', () => {
    assert.equal(fateOf(waiting('immediate')), goesByRecovery);
    assert.equal(fateOf(waiting('wait')), 'TimeNotUp');
    assert.equal(fateOf({ ...waiting('wait'), serverNowMs: nowMs + 21_000 }), goesByRecovery);
  });

  test('[POD-7] only where another pod waits for the volume', () => {
    assert.equal(fateOf(waiting('immediate', { awaited: [] })), 'NoReplacement');
    assert.equal(fateOf(waiting('immediate', { awaited: ['other/data-web-0'] })), 'NoReplacement');
  });

  test('[POD-7] what the policy deletes is not recovered earlier', () => {
    const policy = inForce({ podDeletion: 'delete-deployment-pod', volumeAttachmentRecovery: 'immediate' });
    assert.equal(fateOf(waiting('immediate', { policy })), 'TimeNotUp');
  });

  test('[POD-2, POD-7] never for a DaemonSet or a mirror, and not while the pod is wanted', () => {
    const of = (change: Partial<PodFacts>): string => fateOf(waiting('immediate', { pods: [aPod(change)] }));
    assert.equal(of(owned('DaemonSet')), 'DaemonSetPod');
    assert.equal(of({ mirror: true }), 'MirrorPod');
    assert.equal(fateOf(waiting('immediate', { pods: [undated(aPod(owned('ReplicaSet')))] })), 'NotTerminating');
  });

  test('[POD-7, POD-11] a pod that was recovered may be deleted later: its volume is where it belongs', () => {
    const over = aPod({ ...owned('ReplicaSet'), phase: 'Failed' });
    const nodeCase = aCase({
      policy: inForce({ podDeletion: 'delete-deployment-pod' }),
      pods: [over],
      attachments: [anAttachment({ node: 'node-2' })],
    });
    assert.equal(fateOf(nodeCase), goes);
    assert.equal(fateOf({ ...nodeCase, pods: [{ ...over, phase: 'Running' }] }), 'AttachedElsewhere');
  });
});

function undated(pod: PodFacts): PodFacts {
  const { deletionAtMs: _, ...rest } = pod;
  return rest;
}

function fenced(status: 'running' | 'error' | 'done' | 'final'): ReturnType<typeof aFence> {
  const at = '2026-01-01T00:00:00Z';
  const fence = { step: 'isolation', status, level: 0, retries: 0, restarts: 0, startedAt: at, stepStartedAt: at };
  return aFence({ fence: fence as NonNullable<NodeFenceStatus['fence']> });
}

test('the entry of a volume is the one that kubelets write', () => {
  assert.equal(entry, 'kubernetes.io/csi/driver.longhorn.io^pv-0');
});

describe('a pod with volumes of which some are listed', () => {
  const other = aVolume({ volume: 'pv-1', csi: { driver: 'other.example.com', handle: 'pv-1' } });
  const second = aVolume({ claim: 'default/more-web-0', volume: 'pv-2', csi: { driver, handle: 'pv-2' } });
  const claims = ['data-web-0', 'other-web-0', 'more-web-0'].map((claim) => ({ volume: claim, claim }));
  const volumes = {
    'default/data-web-0': aVolume(),
    'default/other-web-0': { ...other, claim: 'default/other-web-0' },
    'default/more-web-0': second,
  };

  test('[POD-5, POD-7] only those are freed, and a replacement that waits for one of them is enough', () => {
    const policy = inForce({ podDeletion: 'do-nothing', volumeAttachmentRecovery: 'immediate' });
    const nodeCase = aCase({ policy, volumes, pods: [aPod({ claims })], awaited: ['default/more-web-0'] });
    const [fate] = releaseNode(nodeCase);
    assert.ok(fate?.goes);
    const freed = fate.frees.map(({ volume }) => volume);
    assert.deepEqual([fate.way, freed], ['attachment recovery', ['pv-0', 'pv-2']]);
    assert.equal(fateOf({ ...nodeCase, awaited: [] }), 'NoReplacement');
  });
});

test('[POD-1] what was begun is still accepted by the very policy in whose name it was, and by no absence of one', () => {
  const stands = (policy: NodeCase['policy'], by: string | undefined): boolean => {
    const { by: _, ...anonymous } = aRecord();
    return wayNamed('policy').stillStands(aCase({ policy }), by === undefined ? anonymous : { ...anonymous, by });
  };
  assert.equal(stands(inForce(), 'policy release'), true);
  assert.equal(stands(inForce({ name: 'other' }), 'policy release'), false);
  assert.equal(stands({ kind: 'none' }, undefined), false);
});
