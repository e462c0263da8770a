/** Pods that run, and what is said of them. */
import assert from 'node:assert/strict';
import type { Behaviour } from '../scene.ts';
import { conditionOf, same, statusOf } from '../scene.ts';
import { contractTimes } from '../subject.ts';

export const runningBehaviours: Behaviour[] = [
  {
    name: 'a pod bound to the node runs: phase, addresses, start, and a container that is ready',
    async run(scene) {
      await scene.createPod('web');
      const { status } = await scene.ready('web');
      const address = scene.nodeObject.status?.addresses?.[0]?.address;
      same([status?.hostIP, status?.hostIPs], [address, [{ ip: address }]]);
      assert.match(status?.podIP ?? '', /^\d+\.\d+\.\d+\.\d+$/);
      assert.notEqual(status?.podIP, address);
      same(status?.podIPs, [{ ip: status?.podIP }]);
      assert.ok(Date.parse(status?.startTime ?? '') <= scene.now());
      const [container] = status?.containerStatuses ?? [];
      same([container?.name, container?.ready, container?.started, container?.restartCount], ['main', true, true, 0]);
      assert.ok(container?.state.running?.startedAt);
      assert.match(container?.containerID ?? '', /^\w+:\/\/./);
    },
  },
  {
    name: 'five conditions say how far a pod is, all True when it runs',
    async run(scene) {
      const made = await scene.createPod('web');
      const { status, metadata } = await scene.ready('web');
      const conditions = (status?.conditions ?? []).map(({ type, status: is, observedGeneration }) => [
        type,
        is,
        observedGeneration,
      ]);
      const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
      same(
        conditions,
        types.map((type) => [type, 'True', metadata.generation]),
      );
      // On its way there the pod was seen Pending, with its containers not ready yet.
      const first = scene
        .versionsOf(made)
        .find((version) => conditionOf(version, 'ContainersReady')?.status === 'False');
      same(first?.status?.phase, 'Pending');
      same(conditionOf(first, 'Ready')?.reason, 'ContainersNotReady');
      same(conditionOf(first, 'Ready')?.message, 'containers with unready status: [main]');
      same(statusOf(first)?.state, { waiting: { reason: 'ContainerCreating' } });
    },
  },
  {
    name: 'a pod waits for its readiness gate, and is ready when somebody opens it',
    async run(scene) {
      const gate = 'contract.test/gate';
      await scene.createPod('web', {}, { readinessGates: [{ conditionType: gate }] });
      const closed = await scene.podWhere(
        'web',
        'to have its containers ready',
        (pod) => conditionOf(pod, 'ContainersReady')?.status === 'True',
      );
      const { status, reason } = conditionOf(closed, 'Ready') ?? {};
      same([closed.status?.phase, status, reason], ['Running', 'False', 'ReadinessGatesNotReady']);
      await scene.stays(1000, () => same(conditionOf(scene.pod('web'), 'Ready')?.status, 'False'));
      await scene.addCondition('web', { type: gate, status: 'True' });
      await scene.ready('web');
    },
  },
  {
    name: 'a condition of somebody else stays while the kubelet writes its own',
    async run(scene) {
      const foreign = { type: 'DisruptionTarget', status: 'True', reason: 'Test', message: 'as somebody wants it' };
      await scene.createPod('web', { exitAfterMs: 6000 });
      const pod = await scene.ready('web');
      await scene.addCondition('web', foreign);
      const restarted = await scene.podWhere('web', 'to restart', (one) => (statusOf(one)?.restartCount ?? 0) > 0);
      const kept = conditionOf(restarted, 'DisruptionTarget');
      same([kept?.status, kept?.reason, kept?.message], [foreign.status, foreign.reason, foreign.message]);
      await scene.deletePod('web', 1);
      await scene.gone('web');
      const last = scene.versionsOf(pod).at(-1);
      same(conditionOf(last, 'DisruptionTarget')?.status, 'True');
      same(conditionOf(last, 'Ready')?.status, 'False');
    },
  },
  {
    name: 'what somebody else made of Ready is put right',
    async run(scene) {
      await scene.createPod('web');
      const { status } = await scene.ready('web');
      const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
      await scene.patchStatus('web', [{ op: 'replace', path: `/status/conditions/${index}/status`, value: 'False' }]);
      await scene.podWhere('web', 'to be called unready', (pod) => conditionOf(pod, 'Ready')?.status === 'False');
      await scene.ready('web');
      same(statusOf(scene.pod('web'))?.restartCount, 0);
    },
  },
  {
    name: 'a cordon and a NoSchedule taint do not keep a kubelet from what is bound to it',
    alone: true,
    async run(scene) {
      await scene.taint({ key: 'contract.test/full', effect: 'NoSchedule' });
      await scene.patchNode(() => [{ op: 'add', path: '/spec/unschedulable', value: true }]);
      await scene.until('the cordon', () => scene.nodeObject.spec?.unschedulable === true);
      await scene.createPod('web', {}, { tolerations: [] });
      await scene.ready('web');
      await scene.stays(contractTimes.statusEveryMs, () => same(scene.nodeObject.spec?.unschedulable, true));
    },
  },
];
