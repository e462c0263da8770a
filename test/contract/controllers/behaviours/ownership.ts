/** What belongs to whom, and goes with it. */
import assert from 'node:assert/strict';
import type { KubeObject } from '../../../../src/kube/client.ts';
import * as resources from '../../../../src/world/controllers/resources.ts';
import type { Namespace } from '../../../../src/world/objects/meta.ts';
import { isTerminating } from '../../../../src/world/objects/meta.ts';
import type { Behaviour } from '../scene.ts';
import { same } from '../scene.ts';
import { allReady, deployment, job, statefulSet } from '../workloads.ts';

const versionOf = (object: KubeObject | undefined): number => Number(object?.metadata.resourceVersion);

export const ownershipBehaviours: Behaviour[] = [
  {
    name: 'a deleted deployment takes its pods along, in the background',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 2, annotations: { 'test/stop-ms': '1500' } });
      await allReady(scene, 'web', 2);
      await scene.delete(resources.deployments, 'web', { propagationPolicy: 'Background' });
      await scene.until('the deployment', () => scene.get(resources.deployments, 'web') === undefined, 1500);
      await scene.until('the pods', () => scene.pods('web').length === 0);
    },
  },
  {
    name: 'a set deleted in the foreground goes after its pods',
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 2, annotations: { 'test/stop-ms': '1500' } });
      await allReady(scene, 'db', 2);
      await scene.delete(resources.statefulSets, 'db', { propagationPolicy: 'Foreground' });
      await scene.until('the deletion', () => {
        const set = scene.get(resources.statefulSets, 'db');
        return set !== undefined && isTerminating(set);
      });
      const all = [scene.get(resources.statefulSets, 'db'), ...scene.pods('db')];
      const [owner, ...own] = await scene.until('all to go', () => {
        const gone = all.flatMap((one) => scene.world.endings.get(one?.metadata.uid ?? '')?.gone ?? []);
        return gone.length === 3 && gone;
      });
      // By the order in the store, not in which two watches told it.
      for (const pod of own) assert.ok(versionOf(owner) > versionOf(pod), 'the owner went first');
    },
  },
  {
    name: 'a set deleted with its pods orphaned leaves them',
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 1 });
      const pod = await scene.ready('db-0');
      await scene.delete(resources.statefulSets, 'db', { propagationPolicy: 'Orphan' });
      await scene.until('the set', () => scene.get(resources.statefulSets, 'db') === undefined);
      await scene.stays(2000, () => {
        same(
          [scene.pod('db-0')?.metadata.uid, scene.pod('db-0')?.metadata.deletionTimestamp],
          [pod.metadata.uid, undefined],
        );
      });
      same(scene.pod('db-0')?.metadata.ownerReferences ?? [], []);
    },
  },
  {
    name: 'what belongs to nobody that ever was is collected',
    async run(scene) {
      const owner = {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'never',
        uid: '00000000-0000-4000-8000-000000000001',
      };
      const metadata = { name: 'orphan', ownerReferences: [owner] };
      await scene.create(resources.pods, { metadata, spec: scene.podSpec() } as never, 'orphan');
      await scene.until('it to go', () => scene.pod('orphan') === undefined);
    },
  },
  {
    name: 'a deleted job takes its pods along, finalizers and all',
    async run(scene) {
      await job(scene, 'work');
      await allReady(scene, 'work', 1);
      await scene.delete(resources.jobs, 'work', { propagationPolicy: 'Background' });
      await scene.until('the pod', () => scene.pods('work').length === 0);
    },
  },
  {
    name: 'a deleted namespace is emptied and goes',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 2 });
      await statefulSet(scene, 'db', { volumes: true });
      await allReady(scene, 'web', 2);
      await scene.ready('db-0');
      await scene.delete(resources.namespaces, scene.namespace);
      const here = (): Namespace | undefined => scene.get<Namespace>(resources.namespaces, scene.namespace);
      await scene.until('the deletion', () => here()?.status?.phase === 'Terminating');
      await scene.until('the end of the namespace', () => here() === undefined);
      same([scene.pods().length, scene.claim('data-db-0')], [0, undefined]);
      same(scene.volume('db-0')?.status?.phase, 'Released');
    },
  },
];
