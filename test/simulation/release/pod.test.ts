/** The first document: pods stuck on a node that is down, released because a policy accepts the risk. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../src/world/objects/pods.ts';
import { scenarioOf } from '../run-file.ts';
import { eventsOf, first, firstWrite, observe, runFolder, statusAt, stuckAt } from './observed.ts';

const both = 'delete-both-statefulset-and-deployment-pod';

runFolder('pod', {
  'statefulset-do-nothing': '[POD-1, POD-2, POD-9] a StatefulSet under do-nothing is stuck for an hour',
  'statefulset-delete-deployment-pod': '[POD-2, POD-9] a StatefulSet under delete-deployment-pod is stuck for an hour',
  'statefulset-delete-statefulset-pod':
    '[POD-2, POD-9, POD-10] a StatefulSet under delete-statefulset-pod runs elsewhere',
  [`statefulset-${both}`]: '[POD-2, POD-9, POD-10] a StatefulSet under delete-both runs elsewhere',
  'deployment-do-nothing-never': '[POD-2, POD-7, POD-9] a Deployment under do-nothing and never waits for an hour',
  'deployment-do-nothing-wait': '[POD-7, POD-9, POD-10] a Deployment under do-nothing and wait; the old object stays',
  'deployment-do-nothing-immediate': '[POD-7, POD-9, POD-10] a Deployment under do-nothing and immediate',
  'deployment-delete-statefulset-pod-never': '[POD-2, POD-9] a Deployment under delete-statefulset-pod and never',
  'deployment-delete-statefulset-pod-wait': '[POD-7, POD-9, POD-10] a Deployment under delete-statefulset-pod and wait',
  'deployment-delete-statefulset-pod-immediate':
    '[POD-7, POD-9, POD-10] a Deployment under delete-statefulset-pod and immediate',
  'deployment-delete-deployment-pod-never': '[POD-2, POD-9, POD-10] a Deployment under delete-deployment-pod and never',
  'deployment-delete-deployment-pod-wait': '[POD-2, POD-7, POD-9] a Deployment under delete-deployment-pod and wait',
  'deployment-delete-deployment-pod-immediate':
    '[POD-2, POD-7, POD-9] a Deployment under delete-deployment-pod and immediate: deleted, and not earlier',
  [`deployment-${both}-never`]: '[POD-2, POD-9, POD-10] a Deployment under delete-both and never',
  [`deployment-${both}-wait`]: '[POD-2, POD-7, POD-9] a Deployment under delete-both and wait',
  [`deployment-${both}-immediate`]: '[POD-2, POD-7, POD-9] a Deployment under delete-both and immediate',
  'other-kinds-never':
    '[POD-2, POD-9] bare pods, Jobs, DaemonSets, unknown owners and mirrors are left alone for an hour',
  'other-kinds-immediate': '[POD-2, POD-7, POD-9] and under immediate none of their objects goes either',
  'node-deleted-policy-recorded': '[POD-3] without a Node object the policy recorded for the node applies',
  'node-deleted-do-nothing-recorded': '[POD-3] also if it is do-nothing',
  'node-deleted-nothing-recorded': '[POD-3] none recorded means do-nothing',
  'no-listed-volume': '[POD-5] a pod without a volume of a listed provisioner is left alone',
  'in-tree-volume': '[POD-5] an in-tree volume counts by the annotation of its provisioner',
  'in-tree-volume-unlisted': '[POD-5] an in-tree volume of another provisioner does not',
  'one-listed-volume-of-two': '[POD-5] one listed volume is enough',
  finalizer: '[POD-6] a finalizer keeps the object, but not the volume',
  'timeline-10s': '[POD-4, POD-8] the timeline of the source with 10 s of grace',
  'timeline-30s': '[POD-4, POD-8] the timeline of the source with 30 s of grace',
  'partition-accepted-risk': '[POD-2, POD-9] a node that is only cut off: a risk that was accepted is told as one',
  'kubelet-reports-not-ready': '[POD-3] a kubelet that reports trouble and works ends its pods itself',
  'policy-changed-while-stuck': '[POD-11] a policy that is changed takes effect on what is stuck',
  'policy-withdrawn-in-time': '[POD-11] a policy that is withdrawn in time lets nothing go',
  'policy-recovered-then-deleted': '[POD-7, POD-11] after a recovery, a policy that deletes takes the old object too',
  'policies-of-equal-rank': '[REM-8, POD-11] of two policies of equal rank the older one applies',
  'listed-owner': '[POD-12] the pod of a controller that the policy lists goes, and no other of its group',
  'statefulset-of-another-group': '[POD-2] a StatefulSet of another group is an unknown owner',
  'two-operators-one-dies': '[POD-9] an operator dies just when the pod is due: released once',
});

describe('what the operator writes and says', () => {
  test('[POD-6, POD-8] record, quarantine, volumesInUse, one delete with grace 0: in this order', async () => {
    const seen = await observe(scenarioOf('release/pod/timeline-30s'));
    const order = [
      firstWrite(seen, /^update nodefences\/.*\/status$/, /AcceptedRisk/),
      firstWrite(seen, /^patch nodes\/node-\d$/, /fenceline\.dev\/quarantine/),
      firstWrite(seen, /^patch nodes\/node-\d\/status$/, /volumesInUse/),
      firstWrite(seen, /^delete pods\/default\/web-0$/, /"gracePeriodSeconds":0/),
    ];
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      'one after the other',
    );
    const deletion = seen.writes.at(order[3] ?? -1);
    assert.match(deletion?.body ?? '', /"preconditions":\{"uid":"[^"]+","resourceVersion":"\d+"\}/);
    assert.deepEqual([...new Set(order.map((at) => seen.writes[at]?.atMs))], [371_000], 'all at the second it is due');
    const touched = seen.writes.filter(({ what }) => what.includes(' pods/'));
    assert.deepEqual(
      touched.map(({ what }) => what),
      ['delete pods/default/web-0'],
      'one write for the pod',
    );
    const others = seen.writes.filter(({ what }) => /^(delete|create) /.test(what) && !what.includes('nodefences'));
    assert.equal(others.length, 1, 'and nothing else is deleted');
  });

  test('[POD-6] what a finalizer keeps is marked Failed with one DisruptionTarget before it is deleted', async () => {
    const seen = await observe(scenarioOf('release/pod/finalizer'));
    const touched = seen.writes.filter(({ what }) => what.includes(' pods/'));
    assert.deepEqual(
      touched.map(({ what }) => what.replace(/shell-[^/]+/, 'shell')),
      ['patch pods/default/shell/status', 'delete pods/default/shell'],
    );
    const pod = touched[1]?.before as Pod;
    assert.equal(pod.status?.phase, 'Failed');
    const targets = pod.status?.conditions?.filter(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual(
      targets?.map(({ reason, status }) => [reason, status]),
      [['DeletionByFenceline', 'True']],
      'one of it',
    );
  });

  test('[POD-2, POD-9] NodeFence says what was released, by whom, on what basis, and when each part was done', async () => {
    const seen = await observe(scenarioOf('statefulset-released'));
    const released = statusAt(seen, 400_000);
    const [record, ...more] = released.releases;
    assert.ok(record);
    assert.deepEqual(more, []);
    assert.deepEqual([record.basis, record.by, record.podsStay], ['AcceptedRisk', 'policy release', false]);
    assert.deepEqual(
      record.pods.map(({ name }) => name),
      ['web-0'],
    );
    assert.deepEqual([record.volumes, record.freed], [['pv-0'], ['kubernetes.io/csi/driver.longhorn.io^pv-0']]);
    assert.equal(record.attachments.length, 1);
    for (const at of [record.freedAt, record.podsGoneAt, record.endedAt]) {
      assert.ok(at !== undefined && at >= record.recordedAt, `${at}`);
    }
    assert.deepEqual(
      released.applied.map(({ key }) => key),
      ['fenceline.dev/quarantine'],
    );
    assert.equal(released.incident?.trouble, 'Ready=Unknown');
    assert.deepEqual(
      released.evidence.map(({ source }) => source),
      ['Condition', 'Lease'],
    );
    assert.equal(released.conditions.find(({ type }) => type === 'Released')?.reason, 'Complete');
    const end = statusAt(seen);
    assert.equal(end.incident, undefined, 'the incident is over');
    assert.deepEqual([end.applied, end.stuck, end.releases.length], [[], [], 1], 'and the record is kept');
    assert.deepEqual(
      end.history.map(({ reason }) => reason),
      ['Incident', 'Releasing', 'Complete', 'Returning', 'Returning', 'BackInService'],
    );
    assert.deepEqual(
      ['Quarantined', 'Released', 'BackInService', 'NotReleased'].map((reason) => eventsOf(seen, reason).length),
      [1, 1, 1, 0],
    );
  });

  test('[POD-2, POD-5] the reason of a stuck pod names the rule, once', async () => {
    const nothing = await observe(scenarioOf('release/pod/statefulset-do-nothing'));
    assert.deepEqual([stuckAt(nothing, 'web-0').reason, statusAt(nothing).releases], ['DoNothing', []]);
    assert.deepEqual(eventsOf(nothing, 'NotReleased'), ['policy: podDeletion of policy release is do-nothing']);
    assert.ok(nothing.statuses.length <= 4, `written ${nothing.statuses.length} times in an hour`);
    const owner = await observe(first(10, 'release/pod/statefulset-delete-deployment-pod'));
    assert.equal(stuckAt(owner, 'web-0').reason, 'OwnerNotCovered');
    assert.match(stuckAt(owner, 'web-0').message, /belongs to a StatefulSet.*delete-deployment-pod/);
    const volumes = await observe(first(10, 'release/pod/no-listed-volume'));
    assert.deepEqual(
      [stuckAt(volumes, 'web-0').reason, stuckAt(volumes, 'bare-0').reason],
      ['NoListedVolume', 'NoPersistentVolume'],
    );
  });

  test('[POD-2] every other kind is told apart from the policy that covers none of them', async () => {
    const seen = await observe(first(10, 'release/pod/other-kinds-never'));
    const { stuck } = statusAt(seen);
    assert.deepEqual([...new Set(stuck.map(({ reason }) => reason))], ['OwnerNotCovered']);
    assert.deepEqual(stuck.map(({ name }) => name.replace(/^job-.*/, 'job')).sort(), ['bare', 'custom-0', 'job']);
    assert.match(stuckAt(seen, 'custom-0').message, /belongs to a Database/);
    assert.match(stuckAt(seen, 'bare').message, /belongs to no controller/);
  });

  test('[POD-7] a recovery frees the volume, ends the old pod in name only, and deletes nothing', async () => {
    const seen = await observe(first(20, 'release/pod/deployment-do-nothing-wait'));
    assert.deepEqual(
      seen.writes.filter(({ what }) => what.startsWith('delete')),
      [],
    );
    const [record, ...more] = statusAt(seen).releases;
    assert.deepEqual([record?.basis, record?.podsStay, more], ['AcceptedRisk', true, []]);
    assert.ok(record?.endedAt !== undefined, 'detached is done, though the object is there');
    const order = [
      firstWrite(seen, /^update nodefences\/.*\/status$/, /AcceptedRisk/),
      firstWrite(seen, /^patch nodes\/node-\d$/, /quarantine/),
      firstWrite(seen, /^patch nodes\/node-\d\/status$/, /volumesInUse/),
      firstWrite(seen, /^patch pods\/default\/shell-.*\/status$/, /Failed/),
    ];
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    assert.ok(seen.statuses.length < 15, `written ${seen.statuses.length} times`);
  });

  test('[REM-8, POD-11] of two policies of equal rank the older one applies', async () => {
    const seen = await observe(scenarioOf('release/pod/policies-of-equal-rank'));
    const { reason, message } = stuckAt(seen, 'web-0', 1_700_000);
    assert.equal(reason, 'DoNothing');
    assert.match(message, /podDeletion of policy shy is do-nothing/);
  });
});
