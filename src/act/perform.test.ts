import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, attachmentRef, fenceRef, nodeRef, podRef } from '../../test/support/act-cluster.ts';
import { entry, forceEviction, quarantine } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { Cordon, FreeAct, GroundedAct, Grounds, LongAct, Step } from '../api/steps.ts';
import type { KubeObject } from '../kube/client.ts';
import type { ActOutcome } from './act-outcome.ts';
import type { ActOptions, Target } from './perform.ts';
import { perform } from './perform.ts';
import { Turnstile } from './turnstile.ts';

interface Pod extends KubeObject {
  status: { phase: string; conditions: { type: string; reason: string; message?: string }[] };
}

interface Node extends KubeObject {
  spec: { taints?: { key: string; effect: string }[] };
  status: { volumesInUse?: string[] };
}

const other = 'kubernetes.io/csi/other^x';

function optionsFor(cluster: ActCluster, change: Partial<ActOptions> = {}): ActOptions {
  return {
    client: cluster.client,
    clock: { monotonic: () => 0 },
    guard: () => true,
    at: '2026-01-01T00:10:00Z',
    timeoutMs: 5000,
    onPod: () => {},
    turnstile: new Turnstile(8),
    ask: async () => 'there is nobody to ask',
    longActs: cluster.longActs(),
    ...change,
  };
}

async function act(cluster: ActCluster, ...steps: Step[]): Promise<ActOutcome[]> {
  return performed(steps, await target(cluster), optionsFor(cluster), cluster);
}

/** On grounds that hold at this very moment: what has changed since is left to the act itself to find. */
async function performed(steps: Step[], ...rest: [Target, ActOptions, ActCluster]): Promise<ActOutcome[]> {
  const [on, options, cluster] = rest;
  const seen = (await cluster.uidsOfPods()).map((uid) => ({ uid, isInService: false }));
  const standing: Grounds = { ...(await cluster.grounds()), taints: [], ...back, pods: seen };
  const grounded = steps.map((step) =>
    'acts' in step && step.grounds === bare ? { ...step, grounds: standing } : step,
  );
  return perform(grounded, on, options);
}

async function target(cluster: ActCluster): Promise<Target> {
  return { name: 'node-1', node: await cluster.node() };
}

const pause = { namespace: 'fenceline' };
const back = { basis: 'Return', isReady: false, pods: [] } as const;
const bare: Grounds = { ...back, node: 'node-1', taints: [], freed: [], pause, epoch: 3 };
const one = (grounded: GroundedAct, grounds: Grounds = bare): Step => ({ grounds, acts: [grounded] });
const free = (wanted: FreeAct): Step => ({ free: [wanted] });
const kinds = (outcomes: readonly ActOutcome[]): string[] => outcomes.map(({ kind }) => kind);

function ownedBy(apiVersion: string, kind: string): object {
  return { apiVersion, kind, name: 'owner', uid: 'owner-1', controller: true };
}

describe('a pod', () => {
  test('[POD-6] that nobody will look at any more goes by one write: grace 0, its UID and version', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['done']);
    assert.equal(await cluster.exists(podRef), false);
    const [deleted, ...more] = cluster.writes;
    assert.deepEqual([deleted?.verb, more.length], ['delete', 0]);
    assert.deepEqual(JSON.parse(deleted?.body ?? ''), {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: pod.uid, resourceVersion: pod.resourceVersion },
    });
  });

  const lookedAt = [
    ['has a finalizer', { finalizers: ['example.com/held'] }],
    ['belongs to a Job', { ownerReferences: [ownedBy('batch/v1', 'Job')] }],
  ] as const;
  for (const [what, metadata] of lookedAt) {
    test(`[POD-6] that ${what} is marked Failed with one DisruptionTarget first, then deleted as it is then`, async () => {
      const cluster = await ActCluster.create();
      await cluster.addPod('seen', metadata);
      const pod = await cluster.pod('seen');
      assert.equal(pod.disruptionAt, 1);
      cluster.writes.length = 0;
      assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['done']);
      const [failed, deleted, ...more] = cluster.writes;
      assert.deepEqual(
        [failed?.verb, failed?.subresource, deleted?.verb, more.length],
        ['patch', 'status', 'delete', 0],
      );
      assert.ok(deleted);
      const { status, metadata: before } = deleted.before as unknown as Pod;
      assert.equal(status.phase, 'Failed');
      assert.deepEqual(
        status.conditions.map(({ type, reason }) => `${type} ${reason}`),
        ['Ready Before', 'DisruptionTarget DeletionByFenceline'],
      );
      assert.match(status.conditions[1]?.message ?? '', /node node-1 on the basis PowerOff/);
      assert.match(deleted.body, new RegExp(`"resourceVersion":"${before.resourceVersion}"`));
    });
  }

  test('[POD-6] of what calls itself a Job in another group goes by one write too', async () => {
    const cluster = await ActCluster.create();
    await cluster.addPod('other', { ownerReferences: [ownedBy('example.com/v1', 'Job')] });
    const pod = await cluster.pod('other');
    cluster.writes.length = 0;
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['done']);
    assert.deepEqual(
      cluster.writes.map(({ verb }) => verb),
      ['delete'],
    );
  });

  test('[POD-6] that got a finalizer meanwhile is looked at again, and is then marked Failed first', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    await cluster.patch(podRef, '/metadata/finalizers', ['example.com/held']);
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['changed']);
    const now = await cluster.pod();
    assert.deepEqual([now.phase, now.deletionAtMs], ['Running', undefined]);
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod: now, basis: 'PowerOff' }))), ['done']);
    assert.equal((await cluster.pod()).phase, 'Failed');
  });

  test('[POD-6] of the same name, born meanwhile, is never touched', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    await cluster.remove(podRef);
    await cluster.addPod('web-0');
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['changed']);
    assert.notEqual((await cluster.pod()).uid, pod.uid);
    assert.equal((await cluster.pod()).phase, 'Running');
  });

  test('[POD-6] that changed meanwhile is looked at again first', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    await cluster.patch(podRef, '/metadata/labels', { a: 'b' });
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['changed']);
    assert.equal((await cluster.pod()).phase, 'Running');
  });

  test('[POD-6] with a finalizer stays, but is over', async () => {
    const cluster = await ActCluster.create();
    await cluster.addPod('held', { finalizers: ['example.com/held'] });
    const pod = await cluster.pod('held');
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['done']);
    const left = await cluster.pod('held');
    assert.deepEqual([left.phase, left.graceSeconds, left.deletionAtMs !== undefined], ['Failed', 0, true]);
  });

  test('that is over already is only deleted; one that is gone needs nothing', async () => {
    const cluster = await ActCluster.create();
    await cluster.patch(podRef, '/status/phase', 'Succeeded', 'status');
    const pod = await cluster.pod();
    cluster.writes.length = 0;
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['done']);
    assert.deepEqual(
      cluster.writes.map(({ verb }) => verb),
      ['delete'],
    );
    assert.deepEqual(kinds(await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }))), ['needless']);
  });

  test('that somebody deletes as soon as we mark it Failed was released by us', async () => {
    const cluster = await ActCluster.create();
    await cluster.patch(podRef, '/metadata/ownerReferences', [ownedBy('batch/v1', 'Job')]);
    const pod = await cluster.pod();
    let gone: Promise<void> | undefined;
    cluster.server.onAudit(({ subresource }) => {
      if (subresource === 'status') gone ??= cluster.remove(podRef);
    });
    const outcomes = await act(cluster, one({ do: 'forceDelete', pod, basis: 'PowerOff' }));
    await gone;
    assert.equal(await cluster.exists(podRef), false);
    assert.ok(
      kinds(outcomes).every((kind) => kind === 'done' || kind === 'changed'),
      kinds(outcomes).join(),
    );
  });

  test('[POD-7] whose object stays is only marked Failed', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    assert.deepEqual(kinds(await act(cluster, one({ do: 'failPod', pod, basis: 'AcceptedRisk' }))), ['done']);
    const left = await cluster.pod();
    assert.deepEqual([left.phase, left.deletionAtMs, left.uid], ['Failed', undefined, pod.uid]);
  });
});

function carriedOut({ writes }: ActCluster): ActCluster['writes'] {
  return writes.filter(({ code }) => code < 300);
}

describe('a node', () => {
  test('S14: a newcomer of the same name is not marked, cleared, freed or deleted', async () => {
    const cluster = await ActCluster.create();
    const decided = await target(cluster);
    await cluster.replaceNode();
    const steps = [
      one({ do: 'untaint', ...quarantine }),
      one({ do: 'freeVolumes', volumes: [entry] }),
      free({ do: 'noteRemediation', remediation: { since: '2026-01-01T00:10:00Z', pod: 'default/repair-1' } }),
    ];
    for (const step of steps) {
      const outcomes = await performed([step], decided, optionsFor(cluster), cluster);
      assert.deepEqual(kinds(outcomes), ['changed'], JSON.stringify(step));
    }
    assert.deepEqual(carriedOut(cluster), []);
    await cluster.patch(nodeRef, '/spec/taints', []);
    cluster.writes.length = 0;
    assert.deepEqual(kinds(await performed([free({ do: 'quarantine' })], decided, optionsFor(cluster), cluster)), [
      'changed',
    ]);
    assert.deepEqual(carriedOut(cluster), []);
    assert.deepEqual(kinds(await performed([one({ do: 'deleteNode' })], decided, optionsFor(cluster), cluster)), [
      'changed',
    ]);
    assert.equal(await cluster.exists(nodeRef), true);
  });

  test('[NGS-6] keeps the taints of others, and does not get ours twice', async () => {
    const cluster = await ActCluster.create();
    const theirs = { key: 'example.com/theirs', effect: 'NoSchedule' };
    await cluster.patch(nodeRef, '/spec/taints', [theirs]);
    const step = free({ do: 'quarantine' });
    assert.deepEqual(kinds(await act(cluster, step)), ['done']);
    assert.deepEqual(kinds(await act(cluster, step)), ['needless']);
    assert.deepEqual((await cluster.read<Node>(nodeRef)).spec.taints, [theirs, quarantine]);
  });

  test('[NGS-6] gets our taint beside those that somebody has set since the decision', async () => {
    const cluster = await ActCluster.create();
    await cluster.patch(nodeRef, '/spec/taints', []);
    const decided = await target(cluster);
    const step = free({ do: 'quarantine' });
    assert.deepEqual(kinds(await performed([step], decided, optionsFor(cluster), cluster)), ['done']);
    const theirs = { key: 'example.com/theirs', effect: 'NoSchedule' };
    await cluster.patch(nodeRef, '/spec/taints', [theirs]);
    assert.deepEqual(kinds(await performed([step], decided, optionsFor(cluster), cluster)), ['done']);
    assert.deepEqual((await cluster.read<Node>(nodeRef)).spec.taints, [theirs, quarantine]);
  });

  test('[NGS-7, FEV-5] loses our taint only, and only with the pods on it that were known', async () => {
    const cluster = await ActCluster.create();
    await cluster.patch(nodeRef, '/spec/taints', [quarantine, forceEviction]);
    const alone: Grounds = { ...(await cluster.grounds()), ...back };
    const stranger = await act(cluster, one({ do: 'untaint', ...forceEviction }, alone));
    assert.deepEqual(
      stranger.map((outcome) => outcome.kind === 'changed' && outcome.what),
      ['pod default/web-0 is new on node-1'],
    );
    assert.deepEqual(kinds(await act(cluster, one({ do: 'untaint', ...forceEviction }))), ['done']);
    assert.deepEqual((await cluster.read<Node>(nodeRef)).spec.taints, [quarantine]);
    assert.deepEqual(kinds(await act(cluster, one({ do: 'untaint', ...forceEviction }))), ['needless']);
  });

  test('[NGS-4, FEV-4] only the released volumes leave volumesInUse', async () => {
    const cluster = await ActCluster.create();
    assert.deepEqual(kinds(await act(cluster, one({ do: 'freeVolumes', volumes: [entry] }))), ['done']);
    assert.deepEqual((await cluster.read<Node>(nodeRef)).status.volumesInUse, [other]);
    assert.deepEqual(kinds(await act(cluster, one({ do: 'freeVolumes', volumes: [entry] }))), ['needless']);
  });
});

describe('a VolumeAttachment', () => {
  test('[NGS-5] is annotated, and read back', async () => {
    const cluster = await ActCluster.create();
    const step = one({ do: 'requestFence', attachment: 'csi-0', uid: await cluster.uidOf(attachmentRef) });
    assert.deepEqual(kinds(await act(cluster, step)), ['done']);
    const { annotations } = (await cluster.read(attachmentRef)).metadata;
    assert.equal(annotations?.['fenceline.dev/unpublish-fence'], 'true');
    assert.deepEqual(kinds(await act(cluster, step)), ['needless']);
  });

  test('[NGS-5] a newcomer of its name is not the one that was meant', async () => {
    const cluster = await ActCluster.create();
    assert.deepEqual(kinds(await act(cluster, one({ do: 'requestFence', attachment: 'csi-0', uid: 'earlier' }))), [
      'changed',
    ]);
    assert.deepEqual(kinds(await act(cluster, one({ do: 'deleteAttachment', attachment: 'csi-0', uid: 'earlier' }))), [
      'changed',
    ]);
    assert.equal(await cluster.exists(attachmentRef), true);
  });

  test('[NGS-4] goes by its UID', async () => {
    const cluster = await ActCluster.create();
    const step = one({ do: 'deleteAttachment', attachment: 'csi-0', uid: await cluster.uidOf(attachmentRef) });
    assert.deepEqual(kinds(await act(cluster, step)), ['done']);
    assert.deepEqual(kinds(await act(cluster, step)), ['needless']);
  });
});

describe('steps', () => {
  const missing: Grounds = { ...bare, basis: 'AcceptedRisk' };

  test('whose grounds have changed are not taken, nor what comes after them', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    const outcomes = await act(
      cluster,
      one({ do: 'freeVolumes', volumes: [entry] }, missing),
      one({ do: 'forceDelete', pod, basis: 'PowerOff' }),
    );
    assert.deepEqual(outcomes, [{ kind: 'changed', what: 'there is a node node-1 again' }]);
    assert.deepEqual(cluster.writes, []);
  });

  test('that fail end the rest, but not what runs beside them', async () => {
    const cluster = await ActCluster.create();
    await cluster.addPod('web-1');
    const [first, second] = [await cluster.pod('web-0'), await cluster.pod('web-1')];
    await cluster.patch({ ...podRef, name: 'web-0' }, '/metadata/labels', { a: 'b' });
    const forceDelete = (pod: typeof first): GroundedAct => ({ do: 'forceDelete', pod, basis: 'PowerOff' });
    const outcomes = await act(
      cluster,
      { grounds: bare, acts: [forceDelete(first), forceDelete(second)] },
      one({ do: 'freeVolumes', volumes: [entry] }),
    );
    assert.deepEqual(kinds(outcomes), ['changed', 'done']);
    assert.equal(await cluster.exists({ ...podRef, name: 'web-1' }), false);
  });

  test('S19: an instance that no longer leads writes nothing', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    const steps = [one({ do: 'forceDelete', pod, basis: 'PowerOff' })];
    const outcomes = await performed(
      steps,
      await target(cluster),
      optionsFor(cluster, { guard: () => false }),
      cluster,
    );
    assert.deepEqual([kinds(outcomes), cluster.writes], [['failed'], []]);
  });

  test('S4: that rest on the word of a device are not taken without it, nor what comes after them', async () => {
    const cluster = await ActCluster.create();
    const grounds: Grounds = {
      ...(await cluster.grounds()),
      basis: 'PowerOff',
      question: { what: 'power', methods: [] },
    };
    const steps = [one({ do: 'freeVolumes', volumes: [entry] }, grounds), one({ do: 'deleteNode' })];
    const what = 'node-1 is not known to be off: there is nobody to ask';
    assert.deepEqual(await act(cluster, ...steps), [{ kind: 'unconfirmed', what }]);
    assert.deepEqual(cluster.writes, []);
    const options = optionsFor(cluster, { ask: async () => undefined });
    assert.deepEqual(kinds(await performed(steps, await target(cluster), options, cluster)), ['done', 'done']);
  });

  test('S15: what they rest on is read when their turn has come, not while they wait for it', async () => {
    const cluster = await ActCluster.create();
    const turnstile = new Turnstile(1);
    const leave = await turnstile.enter(1);
    const step = one({ do: 'freeVolumes', volumes: [entry] }, { ...(await cluster.grounds()), basis: 'AcceptedRisk' });
    const outcomes = perform([step], await target(cluster), optionsFor(cluster, { turnstile }));
    await cluster.patch(fenceRef, '/spec/stop', true);
    leave();
    assert.deepEqual(await outcomes, [{ kind: 'changed', what: 'NodeFence node-fence-node-1 is stopped' }]);
  });

  test('S27: that take their time are begun, and nobody waits for them', async () => {
    const cluster = await ActCluster.create();
    const longActs = cluster.longActs({ provider: { device: () => new Promise(() => {}) } });
    const off: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
    const switching: LongAct = { do: 'switch', key: 'k', what: 'power', method: off };
    const steps = [
      { begins: switching, grounds: { ...(await cluster.grounds()), basis: 'Remedy' as const } },
      one({ do: 'freeVolumes', volumes: [entry] }),
    ];
    const outcomes = await performed(steps, await target(cluster), optionsFor(cluster, { longActs }), cluster);
    assert.deepEqual([outcomes[0], kinds(outcomes)], [{ kind: 'begun', act: switching }, ['begun', 'done']]);
    assert.deepEqual(longActs.of('node-1'), { task: { key: 'k', outcome: 'running' } });
  });

  test('S17: a cordon has been written when the next step begins', async () => {
    const cluster = await ActCluster.create();
    const cordon: Cordon = { do: 'cordon', key: 'k' };
    assert.deepEqual(await act(cluster, { begins: cordon }), [{ kind: 'begun', act: cordon }]);
    assert.equal((await cluster.node()).isCordoned, true);
  });
});
