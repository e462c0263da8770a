import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, nodeRef, podRef } from '../../test/support/act-cluster.ts';
import { quarantine } from '../../test/support/release-case.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { GroundedAct } from '../api/steps.ts';
import type { KubeObject } from '../kube/client.ts';
import { perform } from './perform.ts';
import { Turnstile } from './turnstile.ts';

interface Pod extends KubeObject {
  status: { phase: string; conditions: { type: string; status: string; reason: string }[] };
}

interface Node extends KubeObject {
  spec: { taints?: { key: string; value?: string }[] };
  status: { conditions: Record<string, string>[] };
}

/** On grounds that hold at this very moment. */
async function does(cluster: ActCluster, act: GroundedAct): Promise<string[]> {
  const node = await cluster.node();
  const pods = (await cluster.uidsOfPods()).map((uid) => ({ uid, isInService: false }));
  const grounds = { ...(await cluster.grounds()), taints: [], basis: 'Return' as const, isReady: false, pods };
  const outcomes = await perform(
    [{ grounds, acts: [act] }],
    { name: 'node-1', node },
    {
      client: cluster.client,
      clock: { monotonic: () => 0 },
      guard: () => true,
      at: '2026-01-01T00:10:00Z',
      timeoutMs: 5000,
      onPod: () => {},
      turnstile: new Turnstile(8),
      ask: async () => 'there is nobody to ask',
      longActs: cluster.longActs(),
    },
  );
  return outcomes.map(({ kind }) => kind);
}

function ownedBy(apiVersion: string, kind: string): object {
  return { apiVersion, kind, name: 'owner', uid: 'owner-1', controller: true };
}

describe('a pod of a node that is out of service', () => {
  test('[POD-6, FEV-1] that Kubernetes has asked to go meanwhile is the same pod, and goes in the same pass', async () => {
    const cluster = await ActCluster.create();
    const pod = await cluster.pod();
    await cluster.client.delete(podRef, { uid: pod.uid });
    assert.notEqual((await cluster.pod()).resourceVersion, pod.resourceVersion);
    assert.deepEqual(await does(cluster, { do: 'forceDelete', pod, basis: 'PowerOff' }), ['done']);
    assert.equal(await cluster.exists(podRef), false);
  });

  test('[POD-6] that was asked to go and got a finalizer, or another controller, is looked at again', async () => {
    for (const [path, value] of [
      ['/metadata/finalizers', ['example.com/held']],
      ['/metadata/ownerReferences', [ownedBy('apps/v1', 'ReplicaSet')]],
    ] as const) {
      const cluster = await ActCluster.create();
      const pod = await cluster.pod();
      await cluster.patch(podRef, path, value);
      await cluster.client.delete(podRef, { uid: pod.uid });
      assert.deepEqual(await does(cluster, { do: 'forceDelete', pod, basis: 'PowerOff' }), ['changed']);
      assert.equal((await cluster.pod()).graceSeconds === 0, false);
    }
  });

  test('[POD-6] that somebody still looks at, and that cannot be marked as over, is not deleted', async () => {
    const cluster = await ActCluster.create();
    await cluster.addPod('held', { finalizers: ['batch.kubernetes.io/job-tracking'] });
    const pod = await cluster.pod('held');
    cluster.server.faults.inject({ matches: ({ path }) => path.endsWith('/pods/held/status'), code: 403 });
    assert.deepEqual(await does(cluster, { do: 'forceDelete', pod, basis: 'PowerOff' }), ['failed']);
    const { metadata } = await cluster.read<Pod>({ ...podRef, name: 'held' });
    assert.equal(metadata.deletionTimestamp, undefined);
  });

  test('[EVD-5] that stays is marked not ready, and nothing else of it', async () => {
    const cluster = await ActCluster.create();
    const before = await cluster.read<Pod>(podRef);
    const pod = await cluster.pod();
    assert.equal(pod.readyAt, 0);
    assert.deepEqual(await does(cluster, { do: 'markUnready', pod }), ['done']);
    const { status, metadata } = await cluster.read<Pod>(podRef);
    const [ready, ...rest] = status.conditions;
    assert.deepEqual([ready?.type, ready?.reason, ready?.status], ['Ready', 'FencelinePoweredOff', 'False']);
    assert.deepEqual(rest, before.status.conditions.slice(1));
    assert.deepEqual([status.phase, metadata.deletionTimestamp], ['Running', undefined]);
    assert.equal((await cluster.pod()).readyAt, undefined);
    assert.deepEqual(await does(cluster, { do: 'markUnready', pod }), ['changed'], 'as it was seen, only');
  });
});

describe('a node that is out of service', () => {
  const outOfService: GroundedAct = { do: 'takeOutOfService', isTainted: true };
  const heartbeat = '2026-01-01T00:00:05Z';
  const theirs = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute', value: 'nodeshutdown' };
  const readyNode = async (status = 'True'): Promise<ActCluster> => {
    const cluster = await ActCluster.create();
    const conditions = [
      { type: 'MemoryPressure', status: 'False' },
      { type: 'Ready', status, lastHeartbeatTime: heartbeat },
    ];
    await cluster.patchStatus(nodeRef, { conditions, nodeInfo: { bootID: 'boot-1' } });
    cluster.writes.length = 0;
    return cluster;
  };
  const seen = async (cluster: ActCluster): Promise<unknown[]> => {
    const { spec, status } = await cluster.read<Node>(nodeRef);
    const ready = status.conditions.find(({ type }) => type === 'Ready');
    const taint = spec.taints?.find(({ key }) => key === theirs.key);
    return [ready?.['status'], ready?.['reason'], ready?.['lastHeartbeatTime'], taint?.value];
  };

  test('[EVD-5] S6: gets no taint where Ready could not be written, as when its kubelet has written it', async () => {
    for (const [code, reason, outcome] of [
      [409, 'Conflict', 'changed'],
      [403, 'Forbidden', 'failed'],
      [500, 'InternalError', 'failed'],
    ] as const) {
      const cluster = await readyNode('False');
      const matches = ({ path }: { path: string }): boolean => path.endsWith('/nodes/node-1/status');
      cluster.server.faults.inject({ matches, code, reason });
      assert.deepEqual(await does(cluster, outOfService), [outcome]);
      assert.deepEqual(await seen(cluster), ['False', undefined, heartbeat, undefined]);
    }
  });

  test('[EVD-5] says so by Ready first, then by the taint, and leaves the heartbeat of its kubelet alone', async () => {
    const cluster = await readyNode();
    assert.deepEqual(await does(cluster, outOfService), ['done']);
    assert.deepEqual(await seen(cluster), ['Unknown', 'FencelinePoweredOff', heartbeat, 'fenceline']);
    assert.deepEqual(
      cluster.writes.map(({ subresource }) => subresource),
      ['status', undefined],
    );
    assert.deepEqual(await does(cluster, outOfService), ['needless']);
    const untaint: GroundedAct = { do: 'untaint', ...OUR_OUT_OF_SERVICE };
    assert.deepEqual(await does(cluster, untaint), ['done']);
    assert.deepEqual((await seen(cluster)).at(-1), undefined);
  });

  test('[EVD-5] without the taint where that is not wanted, and with that of an administrator as it is', async () => {
    const cluster = await readyNode('False');
    assert.deepEqual(await does(cluster, { do: 'takeOutOfService', isTainted: false }), ['done']);
    assert.deepEqual(await seen(cluster), ['Unknown', 'FencelinePoweredOff', heartbeat, undefined]);
    await cluster.patch(nodeRef, '/spec/taints', [quarantine, theirs]);
    assert.deepEqual(await does(cluster, outOfService), ['needless']);
    const untaint: GroundedAct = { do: 'untaint', ...theirs, value: 'fenceline' };
    assert.deepEqual(await does(cluster, untaint), ['needless']);
    assert.equal((await seen(cluster)).at(-1), 'nodeshutdown');
  });
});
