import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anAttachment,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aVolume,
  driver,
  entry,
  eviction,
  failover,
  forceEviction,
  inForce,
  nowMs,
  quarantine,
  renewedLease,
  safeDriver,
  withoutNode,
} from '../../test/support/release-case.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Act, Grounds, Step } from '../api/steps.ts';
import { actsOf } from '../api/steps.ts';
import type { ReleasePlan } from './plan.ts';
import { detachByOurselvesAfterMs, planRelease, quarantineStep } from './plan.ts';
import { releaseNode } from './release-node.ts';

const plan = (nodeCase: NodeCase): ReleasePlan => planRelease(nodeCase, releaseNode(nodeCase), 4);
const deeds = (steps: readonly Step[]): Act['do'][][] => steps.map((step) => actsOf(step).map((act) => act.do));
const groundsOf = (step: Step | undefined): Grounds | undefined =>
  step !== undefined && 'grounds' in step ? step.grounds : undefined;
const safeDriversOf = (step: Step | undefined): readonly string[] => {
  const grounds = groundsOf(step);
  return grounds?.basis === 'StorageSafeDetach' ? grounds.safeDrivers : [];
};
const safely = { gates: failover, drivers: safeDriver, policy: { kind: 'none' } } as const;

describe('the order of a release', () => {
  test('[NGS-4, NGS-6] quarantine, volumesInUse, pod; and the record says all of it', () => {
    const { steps, records } = plan(aCase());
    assert.deepEqual(deeds(steps), [['quarantine'], ['freeVolumes'], ['forceDelete']]);
    const [record, ...more] = records;
    assert.deepEqual(more, []);
    assert.deepEqual(record, {
      ...aRecord({ epoch: 4, recordedAt: '2026-01-01T00:10:00Z' }),
    });
  });

  test('[NGS-5] a driver that can fence is asked to, before the volume leaves volumesInUse', () => {
    const drivers = { [driver]: { name: driver, safeDetach: true, unpublishFence: true } };
    const nodeCase = aCase({ ...safely, drivers });
    assert.deepEqual(deeds(plan(nodeCase).steps), [['quarantine'], ['requestFence'], ['freeVolumes'], ['forceDelete']]);
    const other = anAttachment({ name: 'csi-9', uid: 'attachment-9', volume: 'pv-9' });
    const { steps } = plan({ ...nodeCase, attachments: [...nodeCase.attachments, other] });
    const wanted = steps.flatMap(actsOf).filter((act) => act.do === 'requestFence');
    assert.deepEqual(
      wanted.map(({ attachment }) => attachment),
      ['csi-0'],
      'and of no other volume',
    );
    const asked = { ...nodeCase, attachments: [anAttachment({ fenceWanted: true })] };
    assert.deepEqual(deeds(plan(asked).steps), [['quarantine'], ['freeVolumes'], ['forceDelete']]);
    const silent = plan(aCase(safely));
    assert.deepEqual(deeds(silent.steps), [['quarantine'], ['freeVolumes'], ['forceDelete']], 'one that cannot');
    const risk = aCase({ drivers });
    assert.deepEqual(
      deeds(plan(risk).steps),
      [['quarantine'], ['freeVolumes'], ['forceDelete']],
      'not for another basis',
    );
  });

  test('[POD-7] where the object stays, the pod is only marked as failed', () => {
    const nodeCase = aCase({
      policy: inForce({ podDeletion: 'do-nothing', volumeAttachmentRecovery: 'wait' }),
      awaited: ['default/data-web-0'],
    });
    assert.deepEqual(deeds(plan(nodeCase).steps), [['quarantine'], ['freeVolumes'], ['failPod']]);
    assert.equal(plan(nodeCase).records[0]?.podsStay, true);
  });

  test('[EVD-1] every irreversible step rests on the node, its boot, its quarantine, its Lease, the policy, the record', () => {
    for (const [what, nodeCase] of Object.entries({ policy: aCase(), safe: aCase(safely) })) {
      const [first, ...rest] = plan(nodeCase).steps;
      assert.equal(groundsOf(first), undefined, 'a quarantine can be taken back');
      for (const grounds of rest.map(groundsOf)) {
        assert.deepEqual([grounds?.nodeUid, grounds?.bootId, grounds?.epoch], ['node-uid', 'boot-1', 4], what);
        assert.deepEqual(grounds?.taints, [quarantine]);
        assert.equal(grounds?.leaseRenewTime, nodeCase.lease?.renewTime);
      }
      assert.deepEqual(groundsOf(rest.at(-1))?.freed, [entry], 'what was freed must not be back when the pod goes');
      assert.deepEqual(safeDriversOf(rest.at(-1)), what === 'safe' ? [driver] : []);
      assert.deepEqual(
        groundsOf(rest.at(-1))?.policy,
        what === 'safe' ? undefined : { name: 'release', uid: 'policy-0', generation: 1 },
      );
    }
  });

  test('[NGS-1] a driver that the policy declares safe rests on the policy, and not on an annotation', () => {
    const declared = inForce({ safeDetach: [driver], podDeletion: 'do-nothing' });
    const { steps, records } = plan(aCase({ ...safely, policy: declared, drivers: aCase().drivers }));
    assert.deepEqual([records[0]?.basis, records[0]?.by], ['StorageSafeDetach', 'policy release']);
    assert.deepEqual(safeDriversOf(steps.at(-1)), []);
    assert.deepEqual(groundsOf(steps.at(-1))?.policy, { name: 'release', uid: 'policy-0', generation: 1 });
    const annotated = plan(aCase({ ...safely, policy: declared }));
    assert.deepEqual([annotated.records[0]?.by, safeDriversOf(annotated.steps.at(-1))], [undefined, [driver]]);
  });

  test('[FEV-4] an assertion is one of its grounds, and covers volumes whose pods are long gone', () => {
    const nodeCase = aCase({
      gates: eviction,
      policy: { kind: 'none' },
      node: aNode({ taints: [forceEviction] }),
      pods: [],
    });
    const { steps, records } = plan(nodeCase);
    assert.deepEqual(deeds(steps), [['quarantine'], ['freeVolumes']]);
    assert.deepEqual(groundsOf(steps[1])?.taints, [quarantine, forceEviction]);
    assert.deepEqual([records[0]?.basis, records[0]?.attachments], ['Asserted', ['csi-0']]);
  });

  test('S26: what a pod that stays uses cannot be read: only what is known to go is freed and detached', () => {
    const tolerations = [{ key: forceEviction.key, operator: 'Exists' }];
    const stays = aPod({ name: 'stays', uid: 'stays', tolerations, claims: [{ volume: 'data', claim: 'unread' }] });
    const nodeCase = aCase({ gates: eviction, policy: { kind: 'none' }, node: aNode({ taints: [forceEviction] }) });
    const other = anAttachment({ name: 'csi-1', volume: 'pv-1' });
    const attachments = [...nodeCase.attachments, other];
    const all = plan({ ...nodeCase, attachments });
    assert.deepEqual(all.records[0]?.attachments, ['csi-0', 'csi-1'], 'nobody stays');
    const some = plan({ ...nodeCase, attachments, pods: [...nodeCase.pods, stays] });
    assert.deepEqual(some.records[0]?.attachments, ['csi-0']);
    const podsGoneAt = new Date(nowMs - detachByOurselvesAfterMs).toISOString();
    const record = aRecord({ basis: 'Asserted', by: some.records[0]?.by ?? '', podsGoneAt });
    const later = { ...nodeCase, fence: aFence({ incident: anIncident(), releases: [record] }), pods: [stays] };
    assert.ok(!deeds(plan(later).steps).flat().includes('deleteAttachment'));
    assert.ok(
      deeds(plan({ ...later, pods: [] }).steps)
        .flat()
        .includes('deleteAttachment'),
    );
  });

  test('[POD-3] without a Node object there is nothing to mark, and it has to be absent still', () => {
    const nodeCase = withoutNode(aCase({ fence: aFence({ incident: anIncident() }) }));
    const { steps, records } = plan(nodeCase);
    assert.deepEqual(deeds(steps), [['forceDelete']]);
    assert.equal(groundsOf(steps[0])?.nodeUid, undefined);
    assert.deepEqual([records[0]?.nodeUid, records[0]?.bootId], ['node-uid', 'boot-1']);
  });

  test('110 pods go on the strength of one live read for every 32', () => {
    const pods = Array.from({ length: 110 }, (_, at) => aPod({ name: `web-${at}`, uid: `pod-${at}` }));
    assert.deepEqual(
      deeds(plan(aCase({ pods })).steps)
        .slice(2)
        .map((step) => step.length),
      [32, 32, 32, 14],
    );
  });
});

describe('where Kubernetes does not detach by itself', () => {
  const goneAt = '2026-01-01T00:09:30Z';
  const dueMs = Date.parse(goneAt) + detachByOurselvesAfterMs;
  const left = (change: Partial<NodeCase> = {}, record: Partial<ReleaseRecord> = {}): NodeCase =>
    aCase({
      pods: [],
      node: aNode({ taints: [quarantine], volumesInUse: [] }),
      serverNowMs: dueMs,
      fence: aFence({
        releases: [aRecord({ freedAt: goneAt, podsGoneAt: goneAt, ...record })],
        incident: anIncident(),
      }),
      ...change,
    });

  test('[NGS-4] the VolumeAttachment goes some time after its pods, on all the grounds of the release', () => {
    const { steps } = plan(left());
    assert.ok(steps[0]);
    assert.deepEqual(actsOf(steps[0]), [{ do: 'deleteAttachment', attachment: 'csi-0', uid: 'attachment-0' }]);
    const grounds = groundsOf(steps[0]);
    assert.deepEqual(grounds?.taints, [quarantine]);
    assert.equal(grounds?.policy?.name, 'release');
    assert.equal(grounds?.leaseRenewTime, left().lease?.renewTime);
    assert.deepEqual(plan(left({ serverNowMs: dueMs - 1 })).steps, []);
  });

  const rows: [string, Partial<NodeCase>, Partial<ReleaseRecord>][] = [
    ['it is being detached', { attachments: [anAttachment({ deleting: true })] }, {}],
    ['it has ended', {}, { endedAt: goneAt }],
    ['nobody knows any more by which way', {}, { way: 'another' as 'policy' }],
    ['its kubelet renews', { lease: renewedLease }, {}],
    ['a pod that stays uses it', { pods: [staying()] }, {}],
    ['the node is Ready', { node: aNode({ ready: 'True', taints: [quarantine], volumesInUse: [] }) }, {}],
    ['it was booted since', { node: aNode({ bootId: 'boot-2', taints: [quarantine], volumesInUse: [] }) }, {}],
    ['the policy is another', { policy: inForce({ name: 'other', podDeletion: 'do-nothing' }) }, {}],
    ['no policy is in force', { policy: { kind: 'none' } }, {}],
    ['the gate of its way is off', { gates: featureGates() }, { basis: 'StorageSafeDetach' }],
    ['nobody asserts it any more', { gates: eviction }, { basis: 'Asserted' }],
  ];
  for (const [when, change, record] of rows) {
    test(`[NGS-4, NGS-9] not while ${when}`, () => {
      const { steps } = plan(left(change, record));
      assert.deepEqual(
        steps.filter((step) => actsOf(step).length === 0 || actsOf(step).some((act) => act.do === 'deleteAttachment')),
        [],
      );
    });
  }

  test('[NGS-4] of several, those that are on record', () => {
    const attachments = [anAttachment({ name: 'csi-9', volume: 'pv-9' }), anAttachment()];
    const [step] = plan(left({ attachments })).steps;
    assert.deepEqual(step && actsOf(step), [{ do: 'deleteAttachment', attachment: 'csi-0', uid: 'attachment-0' }]);
  });

  test('[POD-3] also under a kubelet that reports its trouble, where the policy accepts that, and then its Lease is no ground', () => {
    const node = aNode({ ready: 'False', taints: [quarantine], volumesInUse: [] });
    const { steps } = plan(left({ node, lease: renewedLease }));
    assert.deepEqual(deeds(steps), [['deleteAttachment']]);
    const grounds = groundsOf(steps[0]);
    assert.deepEqual([grounds?.leaseRenewTime, grounds?.heartbeatTime], [undefined, undefined]);
    const { way: _, ...record } = aRecord({ basis: 'PowerOff', freedAt: goneAt, podsGoneAt: goneAt });
    const fence = aFence({ releases: [record], incident: anIncident() });
    assert.deepEqual(plan(left({ node, lease: renewedLease, fence })).steps, [], 'no other way does');
  });

  describe('by safe detach', () => {
    const recorded = { way: 'safe detach', basis: 'StorageSafeDetach', by: 'policy release' } as const;
    const declared = (says: object | undefined): NodeCase => {
      const policy = inForce({ safeDetach: [driver], podDeletion: 'do-nothing' });
      const drivers = says === undefined ? {} : { [driver]: { name: driver, unpublishFence: false, ...says } };
      return left({ gates: failover, policy, drivers: drivers as NodeCase['drivers'] }, recorded);
    };

    test('[NGS-1] S15: on the word of its driver, or of the policy, which are read again', () => {
      const [own] = plan(declared({ safeDetach: true })).steps;
      assert.deepEqual([actsOf(own!)[0]?.do, safeDriversOf(own)], ['deleteAttachment', [driver]]);
      const [step] = plan(declared({ safeDetach: false })).steps;
      const grounds = groundsOf(step);
      assert.deepEqual(grounds?.basis === 'StorageSafeDetach' && [grounds.safeDrivers, grounds.declaredDrivers], [
        [],
        [driver],
      ]);
    });

    test('[NGS-1] not when the driver says "false" meanwhile, or something else, or is gone, whatever the policy says', () => {
      assert.deepEqual(plan(declared({ safeDetach: false, deniesSafeDetach: true })).steps, []);
      assert.deepEqual(plan(declared({ safeDetach: false, malformed: 'is "yes"' })).steps, []);
      assert.deepEqual(plan(declared(undefined)).steps, []);
    });
  });

  test('[POD-3] without a Node object nobody says that the volume is not in use: it goes the same way', () => {
    const { steps } = plan(withoutNode(left()));
    assert.deepEqual(deeds(steps), [['deleteAttachment']]);
    assert.deepEqual([groundsOf(steps[0])?.nodeUid, groundsOf(steps[0])?.taints], [undefined, []]);
  });

  function staying(): NodeCase['pods'][number] {
    const { deletionAtMs: _, ...pod } = aPod({ name: 'other', uid: 'pod-9' });
    return pod;
  }
});

test('[SAF-4] a quarantine that is there is told what it has to say', () => {
  const attachless = { [driver]: { name: driver, safeDetach: false, unpublishFence: false, attachless: true } };
  const marked = aCase({ node: aNode({ taints: [quarantine] }), drivers: attachless });
  const [step] = plan(marked).steps;
  assert.ok(step);
  const [act] = actsOf(step);
  assert.ok(act?.do === 'quarantine' && act.mark !== undefined);
  assert.equal(quarantineStep(aCase({ node: aNode({ taints: [quarantine] }) })), undefined);
});

test('a hold begins nothing new, and follows what has begun', () => {
  const { steps, records } = planRelease(aCase(), undefined, 4);
  assert.deepEqual([steps, records], [[], []]);
  assert.ok(aVolume().known);
});
