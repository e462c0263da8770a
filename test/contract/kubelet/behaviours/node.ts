/** The Node, its status and its Lease. */
import assert from 'node:assert/strict';
import { csiNodes, leases, nodes } from '../../../../src/kube/resources.ts';
import type { CsiNode } from '../../../../src/world/objects/volumes.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { conditionOf, same, valueOf } from '../scene.ts';
import { contractTimes, driver, nodeLabels, nodeName } from '../subject.ts';

/** So many heartbeats that something which a heartbeat changes would have been changed. */
const severalHeartbeatsMs = 2.5 * contractTimes.statusEveryMs;

async function heartbeat(scene: Scene): Promise<void> {
  const before = conditionOf(scene.nodeObject, 'Ready')?.lastHeartbeatTime ?? '';
  await scene.until(
    'another heartbeat',
    () => (conditionOf(scene.nodeObject, 'Ready')?.lastHeartbeatTime ?? '') > before,
  );
}

export const nodeBehaviours: Behaviour[] = [
  {
    name: 'a kubelet registers its Node: labels, addresses, capacity, and what it runs on',
    async run(scene) {
      const { metadata, status } = await scene.nodeReady();
      const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
      for (const [key, value] of Object.entries({
        'kubernetes.io/hostname': nodeName,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architecture,
        'beta.kubernetes.io/os': 'linux',
        'beta.kubernetes.io/arch': architecture,
        ...nodeLabels,
      })) {
        same([key, metadata.labels?.[key]], [key, value]);
      }
      same(metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'], 'true');
      same(
        status?.addresses?.map(({ type }) => type),
        ['InternalIP', 'Hostname'],
      );
      same(status?.addresses?.[1]?.address, nodeName);
      for (const resource of ['cpu', 'memory', 'pods']) {
        assert.match(status?.capacity?.[resource] ?? '', /^[1-9]/);
        assert.match(status?.allocatable?.[resource] ?? '', /^[1-9]/);
      }
      same(status?.nodeInfo?.kubeletVersion, 'v1.36.3');
      same([status?.nodeInfo?.operatingSystem, status?.nodeInfo?.architecture], ['linux', architecture]);
      same(status?.nodeInfo?.bootID, await scene.node.bootId());
      same(status?.daemonEndpoints?.kubeletEndpoint.Port, 10_250);
    },
  },
  {
    name: 'a healthy node says so in four conditions, each with its reason',
    async run(scene) {
      const node = await scene.nodeReady();
      const said = (node.status?.conditions ?? []).map(({ type, status, reason, message }) => [
        type,
        status,
        reason,
        message,
      ]);
      for (const condition of [
        ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
        ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
        ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
        ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
      ]) {
        same(
          said.find(([type]) => type === condition[0]),
          condition,
        );
      }
    },
  },
  {
    name: 'a status without news is written again and again: the heartbeat moves, the transition does not',
    async run(scene) {
      const before = conditionOf(await scene.nodeReady(), 'Ready');
      await heartbeat(scene);
      await heartbeat(scene);
      same(conditionOf(scene.nodeObject, 'Ready')?.lastTransitionTime, before?.lastTransitionTime);
    },
  },
  {
    name: 'the Lease belongs to the Node, names its holder, and is renewed within a quarter of its time',
    async run(scene) {
      const { metadata, spec } = await scene.renewed();
      same([spec?.holderIdentity, spec?.leaseDurationSeconds], [nodeName, contractTimes.leaseDurationSeconds]);
      same(metadata.ownerReferences, [
        { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: scene.nodeObject.metadata.uid },
      ]);
      const distances: number[] = [];
      let before = spec?.renewTime ?? '';
      for (let turn = 0; turn < 3; turn += 1) {
        const after = (await scene.renewed()).spec?.renewTime ?? '';
        distances.push(Date.parse(after) - Date.parse(before));
        before = after;
      }
      // The stock kubelet spreads its renewals by up to 4 %; a busy machine may delay one or the other.
      const usualMs = Math.min(...distances);
      const { leaseRenewMs } = contractTimes;
      assert.ok(usualMs >= leaseRenewMs * 0.9 && usualMs < leaseRenewMs * 1.25, `renewed after ${distances.join()} ms`);
    },
  },
  {
    name: 'the CSINode of a node names the drivers installed there, and belongs to the Node',
    async run(scene) {
      const found = await scene.until('the CSINode', async () => {
        const csiNode = await scene.client.get<CsiNode>({ resource: csiNodes, name: nodeName });
        return csiNode.ok && csiNode.value.spec.drivers.length > 0 ? csiNode.value : undefined;
      });
      same(
        found.spec.drivers.map(({ name, nodeID, topologyKeys }) => ({ name, nodeID, topologyKeys })),
        [{ name: driver, nodeID: nodeName, topologyKeys: null }],
      );
      same(
        found.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]),
        [['Node', scene.nodeObject.metadata.uid]],
      );
    },
  },
  {
    name: 'labels, annotations, taints, a cordon and conditions of others survive heartbeats and a new kubelet',
    alone: true,
    async run(scene) {
      const foreign = { type: 'StorageUnreachable', status: 'False', reason: 'Test' };
      await scene.patchNode(({ metadata }) => [
        { op: 'add', path: '/metadata/labels', value: { ...metadata.labels, 'contract.test/own': 'kept' } },
        { op: 'add', path: '/metadata/annotations', value: { ...metadata.annotations, 'contract.test/own': 'kept' } },
        { op: 'add', path: '/spec/unschedulable', value: true },
        { op: 'add', path: '/spec/taints', value: [{ key: 'contract.test/own', effect: 'NoSchedule' }] },
      ]);
      await scene.patchNode(() => [{ op: 'add', path: '/status/conditions/-', value: foreign }], 'status');
      const check = (): void => {
        const node = scene.nodeObject;
        const own = 'contract.test/own';
        same([node.metadata.labels?.[own], node.metadata.annotations?.[own]], ['kept', 'kept']);
        same(node.spec?.unschedulable, true);
        assert.ok(node.spec?.taints?.some(({ key }) => key === own));
        same([conditionOf(node, foreign.type)?.status, conditionOf(node, foreign.type)?.reason], ['False', 'Test']);
      };
      await scene.until('all of it', () => (check(), true));
      await scene.stays(severalHeartbeatsMs, check);
      await scene.node.stopKubelet();
      await scene.node.startKubelet();
      await heartbeat(scene);
      await scene.stays(severalHeartbeatsMs, check);
    },
  },
  {
    name: 'a deleted Node comes back only with a new kubelet; meanwhile its pods run on',
    alone: true,
    async run(scene) {
      await scene.createPod('runs');
      const pod = await scene.ready('runs');
      const containers = await scene.containers(pod);
      const before = scene.nodeObject.metadata;
      valueOf(await scene.client.delete({ resource: nodes, name: nodeName }, { uid: before.uid ?? '' }));
      await scene.until('the Node to be gone', () => scene.nodeIfAny === undefined);
      await scene.stays(2 * severalHeartbeatsMs, async () => {
        same(scene.nodeIfAny, undefined);
        same(await scene.containers(pod), containers);
      });
      await scene.node.stopKubelet();
      await scene.node.startKubelet();
      const after = await scene.nodeReady();
      assert.notEqual(after.metadata.uid, before.uid);
      // The Lease keeps the owner that it has. The garbage collector takes it for that, and the next one is the new Node's.
      const kept = await scene.renewed();
      same(kept.metadata.ownerReferences?.[0]?.uid, before.uid);
      const lease = { resource: leases, namespace: 'kube-node-lease', name: nodeName };
      valueOf(await scene.client.delete(lease, { uid: kept.metadata.uid ?? '' }));
      await scene.until('a Lease of the new Node', async () => {
        const owners = (await scene.lease())?.metadata.ownerReferences ?? [];
        return owners.some(({ uid }) => uid === after.metadata.uid);
      });
      same(await scene.containers(pod), containers);
    },
  },
];
