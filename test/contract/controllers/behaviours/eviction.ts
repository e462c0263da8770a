/** Taint eviction and the collection of pods that nobody ends. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { conditionOf } from '../../../../src/world/objects/meta.ts';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import type { Behaviour } from '../scene.ts';
import { notEarlier, same } from '../scene.ts';
import { allReady, daemonSet, database, statefulSet } from '../workloads.ts';

const uidOf = ({ metadata }: Pod): string | undefined => metadata.uid;
const outOfService = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };

export const evictionBehaviours: Behaviour[] = [
  {
    name: 'pods of an unreachable node are deleted when their toleration ends, and then stay terminating',
    nodes: 2,
    async run(scene) {
      const { tolerationMs } = scene.times;
      await statefulSet(scene, 'db');
      const { metadata, spec } = await scene.ready('db-0');
      const { nodeName = '' } = spec;
      scene.machine(nodeName).powerOff();
      const taint = await scene.until('the taint', () =>
        scene
          .node(nodeName)
          ?.spec?.taints?.find(({ key, effect }) => key.endsWith('/unreachable') && effect === 'NoExecute'),
      );
      const pod = await scene.terminating('db-0', tolerationMs + 1000);
      scene.deletedNotBefore(pod, Date.parse(taint.timeAdded ?? '') + tolerationMs);
      const { status, reason } = conditionOf(pod, 'DisruptionTarget') ?? {};
      same([status, reason], ['True', 'DeletionByTaintManager']);
      same(pod.metadata.deletionGracePeriodSeconds, 2);
      await scene.stays(6000, () => same(scene.pod('db-0')?.metadata.uid, metadata.uid));
    },
  },
  {
    name: 'a pod with more patience stays longer, one with none goes at once',
    nodes: 2,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      const toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
      await scene.createPod('patient', { nodeName, tolerations: [{ ...toleration, tolerationSeconds: 3600 }] });
      await scene.createPod('hasty', { nodeName, tolerations: [{ ...toleration, tolerationSeconds: 0 }] });
      await scene.createPod('for-ever', { nodeName, tolerations: [toleration] });
      await Promise.all(['patient', 'hasty', 'for-ever'].map((name) => scene.ready(name)));
      scene.machine(nodeName).powerOff();
      await scene.until('the taint', () => scene.taintsOf(nodeName).includes('unreachable:NoExecute'));
      await scene.terminating('hasty', 1000);
      await scene.stays(scene.times.tolerationMs + 3000, () => {
        for (const name of ['patient', 'for-ever']) same(scene.pod(name)?.metadata.deletionTimestamp, undefined);
      });
    },
  },
  {
    name: 'a node that returns in time keeps its pods',
    nodes: 2,
    async run(scene) {
      // Longer than the default, so that "in time" does not depend on how busy the machine is.
      const seconds = 40;
      const toleration = { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: seconds };
      const keys = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'];
      await statefulSet(scene, 'db', { spec: { tolerations: keys.map((key) => ({ key, ...toleration })) } });
      const pod = await scene.ready('db-0');
      const { nodeName = '' } = pod.spec;
      scene.machine(nodeName).partition();
      await scene.until('the taint', () => scene.taintsOf(nodeName).includes('unreachable:NoExecute'));
      scene.machine(nodeName).heal();
      await scene.until('no taints', () => same(scene.taintsOf(nodeName), []) === undefined);
      await scene.stays(seconds * 1000 + 2000, () =>
        same(
          [scene.pod('db-0')?.metadata.uid, scene.pod('db-0')?.metadata.deletionTimestamp],
          [pod.metadata.uid, undefined],
        ),
      );
      await scene.until('ready again', () => conditionOf(scene.pod('db-0'), 'Ready')?.status === 'True');
    },
  },
  {
    name: 'a NoExecute taint by hand ends what does not tolerate it, gracefully',
    nodes: 1,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      const tolerations = [{ key: 'example.com/out', operator: 'Exists', effect: 'NoExecute' }];
      await scene.createPod('goes');
      await scene.createPod('stays', { tolerations });
      await Promise.all(['goes', 'stays'].map((name) => scene.ready(name)));
      await scene.taint(nodeName, { key: 'example.com/out', effect: 'NoExecute' });
      await scene.until('the pod to be gone', () => scene.pod('goes') === undefined);
      await scene.stays(2000, () => same(scene.pod('stays')?.metadata.deletionTimestamp, undefined));
    },
  },
  {
    name: 'taking the taint away in time cancels the eviction',
    nodes: 1,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      const seconds = 15;
      const toleration = {
        key: 'example.com/out',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: seconds,
      };
      await scene.createPod('stays', { tolerations: [toleration] });
      const pod = await scene.ready('stays');
      await scene.taint(nodeName, { key: 'example.com/out', effect: 'NoExecute' });
      await scene.stays(2000, () => same(scene.pod('stays')?.metadata.deletionTimestamp, undefined));
      await scene.untaint(nodeName, 'example.com/out');
      await scene.stays(seconds * 1000, () => same(scene.pod('stays')?.metadata.deletionTimestamp, undefined));
      const againMs = scene.now();
      await scene.taint(nodeName, { key: 'example.com/out', effect: 'NoExecute' });
      await scene.until('the pod to be gone', () => scene.pod('stays') === undefined, seconds * 1000 + 3000);
      scene.deletedNotBefore(pod, againMs + seconds * 1000);
    },
  },
  {
    name: 'daemon pods stay on an unreachable node',
    nodes: 2,
    async run(scene) {
      await daemonSet(scene, 'agent');
      const own = await allReady(scene, 'agent', 2);
      const [nodeName = ''] = scene.nodes;
      scene.machine(nodeName).powerOff();
      await scene.until('the taint', () => scene.taintsOf(nodeName).includes('unreachable:NoExecute'));
      await scene.stays(scene.times.tolerationMs + 4000, () => {
        same(new Set(scene.pods('agent').map(uidOf)), new Set(own.map(uidOf)));
        assert.ok(scene.pods('agent').every(({ metadata }) => metadata.deletionTimestamp === undefined));
      });
    },
  },
  {
    name: 'pods of a deleted node are collected after their quarantine',
    nodes: 2,
    async run(scene) {
      await statefulSet(scene, 'db');
      const pod = await scene.ready('db-0');
      const { nodeName = '' } = pod.spec;
      const { quarantineMs, podGcMs } = scene.times;
      scene.machine(nodeName).powerOff();
      const deletedAtMs = scene.now();
      await scene.delete(resources.nodes, nodeName);
      const replacement = await scene.ready('db-0', pod);
      const replacedAtMs = Date.parse(replacement.metadata.creationTimestamp ?? '');
      notEarlier('the replacement', replacedAtMs, deletedAtMs + quarantineMs);
      scene.atMost(replacedAtMs - deletedAtMs, quarantineMs + 2 * podGcMs);
      assert.notEqual(replacement.spec.nodeName, nodeName);
    },
  },
  {
    name: 'out of service: pods are collected, volumes detached at once, and all runs elsewhere',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await database(scene);
      scene.machine(nodeName).powerOff();
      await scene.terminating('db-0');
      await scene.stays(2000, () => same(scene.pod('db-0')?.metadata.uid, pod.metadata.uid));
      await scene.taint(nodeName, outOfService);
      const gone = await scene.until(
        'the old pod to be gone',
        () => scene.pod('db-0')?.metadata.uid !== pod.metadata.uid && { at: scene.world.clock.monotonic() },
        scene.times.podGcMs,
      );
      const replacement = await scene.ready('db-0', pod);
      scene.atMost(scene.world.clock.monotonic() - gone.at, 5000);
      assert.notEqual(replacement.spec.nodeName, nodeName);
      same(
        scene.attachments(volume).map(({ spec }) => spec.nodeName),
        [replacement.spec.nodeName],
      );
      assert.ok(scene.node(nodeName)?.status?.volumesInUse?.length, 'the dead node still calls it in use');
    },
  },
];
