/** StatefulSets: names that stay, one after the other, and never twice. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { controllerOf, isReady, isTerminating } from '../../../../src/world/objects/meta.ts';
import type { StatefulSet } from '../../../../src/world/objects/workloads.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same } from '../scene.ts';
import { allReady, database, newImage, statefulSet } from '../workloads.ts';

const namesOf = (scene: Scene): string[] =>
  scene
    .pods('db')
    .map(({ metadata }) => metadata.name)
    .sort();

async function scale(scene: Scene, replicas: number): Promise<void> {
  await scene.patch(resources.statefulSets, 'db', [{ op: 'replace', path: '/spec/replicas', value: replicas }]);
}

export const statefulBehaviours: Behaviour[] = [
  {
    name: 'an ordered set waits for each predecessor to be ready',
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 3, annotations: { 'test/startup-ms': '1500' } });
      const seen = new Set<string>();
      const inOrder = (): void => {
        for (const name of namesOf(scene)) {
          if (seen.has(name)) continue;
          seen.add(name);
          const before = scene.pods('db').filter(({ metadata }) => metadata.name < name);
          assert.equal(before.length, seen.size - 1);
          assert.ok(before.every(isReady), `${name} came before its predecessors were ready`);
        }
      };
      await scene.untilWhile(
        'all three',
        inOrder,
        () => scene.pods('db').length === 3 && scene.pods('db').every(isReady),
      );
      same([...seen], ['db-0', 'db-1', 'db-2']);
      await scene.until('its status', () => {
        const { status } = scene.get<StatefulSet>(resources.statefulSets, 'db') ?? {};
        same([status?.['replicas'], status?.['readyReplicas'], status?.['availableReplicas']], [3, 3, 3]);
        assert.equal(status?.currentRevision, status?.updateRevision);
        return true;
      });
    },
  },
  {
    name: 'a parallel set starts all at once',
    async run(scene) {
      // None of them will ever be ready: a set that waited for the first would wait for good.
      await statefulSet(scene, 'db', { replicas: 3, parallel: true, annotations: { 'test/startup-ms': '3600000' } });
      await scene.until('all three', () => namesOf(scene).length === 3);
      assert.ok(!scene.pods('db').some(isReady));
    },
  },
  {
    name: 'a pod of a set has its name, its host name and its claims',
    async run(scene) {
      const { pod } = await database(scene);
      same(
        [pod.spec.hostname, pod.spec.subdomain, pod.metadata.labels?.['apps.kubernetes.io/pod-index']],
        ['db-0', 'db', '0'],
      );
      same(pod.metadata.labels?.['statefulset.kubernetes.io/pod-name'], 'db-0');
      same(pod.spec.volumes?.map(({ name, persistentVolumeClaim }) => [name, persistentVolumeClaim?.claimName])[0], [
        'data',
        'data-db-0',
      ]);
      same(controllerOf(pod)?.kind, 'StatefulSet');
      same(scene.claim('data-db-0')?.metadata.labels, { app: 'db' });
      same(scene.claim('data-db-0')?.metadata.ownerReferences, undefined);
    },
  },
  {
    name: 'a set shrinks from its highest ordinal, and its claims stay',
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 3, volumes: true });
      await allReady(scene, 'db', 3);
      await scale(scene, 1);
      let before = 3;
      const fromTheTop = (): void => {
        const names = namesOf(scene);
        same(names, ['db-0', 'db-1', 'db-2'].slice(0, names.length));
        assert.ok(names.length <= before && scene.pods('db').filter(isTerminating).length <= 1);
        before = names.length;
      };
      await scene.untilWhile('one to be left', fromTheTop, () => namesOf(scene).length === 1);
      await scene.stays(1000, () => assert.ok(scene.claim('data-db-2')));
    },
  },
  {
    name: 'a deleted pod comes back under its name with its claim',
    async run(scene) {
      const { pod } = await database(scene);
      const claim = scene.claim('data-db-0')?.metadata.uid;
      await scene.delete(resources.pods, 'db-0');
      const next = await scene.ready('db-0', pod);
      assert.notEqual(next.metadata.uid, pod.metadata.uid);
      same(scene.claim('data-db-0')?.metadata.uid, claim);
    },
  },
  {
    name: 'a pod of a set is never replaced while its object exists',
    nodes: 3,
    async run(scene) {
      const { pod, nodeName } = await database(scene);
      scene.machine(nodeName).powerOff();
      await scene.terminating('db-0');
      await scene.stays(10_000, () => {
        same(
          scene.pods('db').map(({ metadata }) => metadata.uid),
          [pod.metadata.uid],
        );
      });
    },
  },
  {
    name: 'an ordered set makes no new pod behind a dead one',
    nodes: 2,
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 1 });
      const pod = await scene.ready('db-0');
      scene.machine(pod.spec.nodeName ?? '').powerOff();
      await scene.terminating('db-0');
      await scale(scene, 2);
      await scene.stays(4000, () => same(namesOf(scene), ['db-0']));
    },
  },
  {
    name: 'a parallel set goes on beside a dead pod',
    nodes: 2,
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 1, parallel: true });
      const pod = await scene.ready('db-0');
      scene.machine(pod.spec.nodeName ?? '').powerOff();
      await scene.terminating('db-0');
      await scale(scene, 2);
      await scene.ready('db-1');
      same(scene.pod('db-0')?.metadata.uid, pod.metadata.uid);
    },
  },
  {
    name: 'a failed pod of a set is deleted and made anew',
    async run(scene) {
      await statefulSet(scene, 'db');
      const pod = await scene.ready('db-0');
      const failed = [{ op: 'replace' as const, path: '/status/phase', value: 'Failed' }];
      await scene.patch(resources.pods, 'db-0', failed, 'status');
      await scene.ready('db-0', pod);
    },
  },
  updating('a set is updated from its highest ordinal, one at a time', false),
  updating('a parallel set is updated one at a time too', true),
];

function updating(name: string, parallel: boolean): Behaviour {
  return {
    name,
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 3, parallel, annotations: { 'test/startup-ms': '500' } });
      const before = new Map((await allReady(scene, 'db', 3)).map(({ metadata }) => [metadata.name, metadata.uid]));
      await scene.patch(resources.statefulSets, 'db', newImage('example/main:2'));
      const order: string[] = [];
      const oneByOne = (): void => {
        for (const { metadata } of scene.pods('db')) {
          const isNew = before.get(metadata.name) !== metadata.uid;
          if (isNew && !order.includes(metadata.name)) order.push(metadata.name);
        }
        assert.ok(scene.pods('db').filter((pod) => isReady(pod) && !isTerminating(pod)).length >= 2);
      };
      await scene.untilWhile('all to be new', oneByOne, () => {
        const own = scene.pods('db');
        return order.length === 3 && own.length === 3 && own.every(isReady);
      });
      same(order, ['db-2', 'db-1', 'db-0']);
      assert.ok(scene.pods('db').every(({ spec }) => spec.containers[0]?.image === 'example/main:2'));
      await scene.until('its status', () => {
        const { status } = scene.get<StatefulSet>(resources.statefulSets, 'db') ?? {};
        return status?.currentRevision === status?.updateRevision && status?.['updatedReplicas'] === 3;
      });
    },
  };
}
