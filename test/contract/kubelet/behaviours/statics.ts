/** Pods from files of the node, and their mirrors in the API. */
import assert from 'node:assert/strict';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import { mirrorAnnotation } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same, statusOf } from '../scene.ts';
import { nodeName } from '../subject.ts';

async function staticPod(scene: Scene, name: string): Promise<{ mirrorName: string; mirror: Pod }> {
  const { nodeName: _bound, ...spec } = scene.podSpec({}, { terminationGracePeriodSeconds: 2 });
  await scene.node.addStaticPod({ name, namespace: scene.namespace, spec });
  const mirrorName = `${name}-${nodeName}`;
  return { mirrorName, mirror: await scene.ready(mirrorName) };
}

async function remove(scene: Scene, name: string): Promise<void> {
  await scene.node.removeStaticPod({ name, namespace: scene.namespace });
}

export const staticBehaviours: Behaviour[] = [
  {
    name: 'a pod from a file of the node is mirrored in the API',
    async run(scene) {
      const { mirror } = await staticPod(scene, 'local');
      const { annotations = {}, ownerReferences } = mirror.metadata;
      assert.match(annotations[mirrorAnnotation] ?? '', /^[0-9a-f]{32}$/);
      same(annotations['kubernetes.io/config.hash'], annotations[mirrorAnnotation]);
      same(annotations['kubernetes.io/config.source'], 'file');
      assert.ok(Date.parse(annotations['kubernetes.io/config.seen'] ?? '') > 0);
      const uid = scene.nodeObject.metadata.uid;
      same(ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }]);
      same([mirror.spec.nodeName, statusOf(mirror)?.ready], [nodeName, true]);
      same(
        mirror.spec.tolerations?.some(({ operator, effect }) => operator === 'Exists' && effect === 'NoExecute'),
        true,
      );
      await remove(scene, 'local');
      await scene.gone(`local-${nodeName}`);
    },
  },
  {
    name: 'deleting a mirror stops nothing: another one takes its place',
    async run(scene) {
      const { mirror, mirrorName } = await staticPod(scene, 'local');
      const containers = await scene.containers(mirror);
      for (const grace of [0, undefined]) {
        const before = scene.pod(mirrorName);
        await scene.deletePod(mirrorName, grace);
        const after = await scene.podWhere(
          mirrorName,
          'to come back',
          ({ metadata }) => metadata.uid !== before?.metadata.uid && metadata.deletionTimestamp === undefined,
        );
        same(await scene.containers(after), containers);
      }
      const again = await scene.ready(mirrorName);
      same([await scene.containers(again), statusOf(again)?.restartCount], [containers, 0]);
      await remove(scene, 'local');
      await scene.gone(mirrorName);
    },
  },
  {
    name: 'a pod whose file is taken away ends, and its mirror goes',
    async run(scene) {
      const { mirror, mirrorName } = await staticPod(scene, 'local');
      await remove(scene, 'local');
      await scene.stopped(mirror);
      await scene.gone(mirrorName);
      await scene.stays(2000, () => same(scene.pod(mirrorName), undefined));
    },
  },
  {
    name: 'a NoExecute taint does not concern pods from files, also when the kubelet starts anew',
    alone: true,
    async run(scene) {
      const before = await staticPod(scene, 'before');
      const key = 'contract.test/leave';
      await scene.taint({ key, effect: 'NoExecute' });
      await scene.until('the taint', () => scene.nodeObject.spec?.taints?.some((taint) => taint.key === key));
      await staticPod(scene, 'after');
      const containers = await scene.containers(before.mirror);
      await scene.node.stopKubelet();
      await scene.node.startKubelet();
      await scene.renewed();
      await scene.stays(3000, async () => {
        same(await scene.containers(before.mirror), containers);
        same(scene.pod(before.mirrorName)?.status?.phase, 'Running');
      });
      for (const name of ['before', 'after']) await remove(scene, name);
      await scene.gone(before.mirrorName);
    },
  },
];
