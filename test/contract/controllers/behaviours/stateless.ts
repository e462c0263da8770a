/** Deployments, DaemonSets and Jobs. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { conditionOf, controllerOf, isReady, isTerminating } from '../../../../src/world/objects/meta.ts';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import { isFinished } from '../../../../src/world/objects/pods.ts';
import type { Deployment, Job, ReplicaSet } from '../../../../src/world/objects/workloads.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same } from '../scene.ts';
import { allReady, daemonSet, deployment, job, newImage } from '../workloads.ts';

const setsOf = (scene: Scene): ReplicaSet[] =>
  [...scene.world.seen.of<ReplicaSet>(resources.replicaSets).values()].filter(
    ({ metadata }) => metadata.namespace === scene.namespace,
  );

const jobOf = (scene: Scene): Job | undefined => scene.get<Job>(resources.jobs, 'work');

export const statelessBehaviours: Behaviour[] = [
  {
    name: 'a terminating pod of a deployment is replaced at once',
    nodes: 2,
    async run(scene) {
      await deployment(scene, 'web');
      const [pod] = await allReady(scene, 'web', 1);
      scene.machine(pod?.spec.nodeName ?? '').powerOff();
      await scene.terminating(pod?.metadata.name ?? '');
      await scene.until(
        'the replacement',
        () => scene.pods('web').some((other) => !isTerminating(other) && isReady(other)),
        3000,
      );
      same(scene.pod(pod?.metadata.name ?? '')?.metadata.uid, pod?.metadata.uid);
      same(scene.pods('web').length, 2);
    },
  },
  {
    name: 'a deployment grows and shrinks',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 2 });
      await allReady(scene, 'web', 2);
      const to = (value: number): Promise<void> =>
        scene.patch(resources.deployments, 'web', [{ op: 'replace', path: '/spec/replicas', value }]);
      await to(4);
      await allReady(scene, 'web', 4);
      await to(1);
      await allReady(scene, 'web', 1);
      await scene.until('its status', () => {
        const web = scene.get<Deployment>(resources.deployments, 'web');
        same([web?.status?.['replicas'], web?.status?.['availableReplicas']], [1, 1]);
        same(conditionOf(web, 'Available')?.status, 'True');
        return true;
      });
    },
  },
  {
    name: 'a deployment is rolled over to a new replica set without a gap',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 4, annotations: { 'test/startup-ms': '500' } });
      await allReady(scene, 'web', 4);
      await scene.patch(resources.deployments, 'web', newImage('example/main:2'));
      const living = (): Pod[] => scene.pods('web').filter((pod) => !isTerminating(pod));
      const withoutGap = (): void => {
        // By what the sets are told: one may have made its new pod before the other has deleted its old one.
        const wanted = setsOf(scene).reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
        assert.ok(wanted <= 5, 'a quarter may be too many');
        assert.ok(wanted >= 3, 'a quarter may be missing');
        // The stock controller counts by what the sets last said of themselves, and on a busy machine may count one twice.
        if (scene.world.exact) assert.ok(living().filter(isReady).length >= 3, 'a quarter may be missing');
      };
      await scene.untilWhile('all to be new', withoutGap, () => {
        const own = living();
        const isNew = own.every(({ spec }) => spec.containers[0]?.image === 'example/main:2');
        return isNew && own.length === 4 && own.every(isReady);
      });
      same(new Set(setsOf(scene).map(({ spec }) => spec.replicas)), new Set([0, 4]));
      const hashes = new Set(scene.pods('web').map(({ metadata }) => metadata.labels?.['pod-template-hash']));
      assert.ok(hashes.size >= 1 && !hashes.has(undefined));
    },
  },
  {
    name: 'a deployment that recreates waits until the old pods are gone',
    async run(scene) {
      await deployment(scene, 'web', { strategy: { type: 'Recreate' }, annotations: { 'test/stop-ms': '1500' } });
      const [pod] = await allReady(scene, 'web', 1);
      await scene.patch(resources.deployments, 'web', newImage('example/main:2'));
      // An old one that has ended may still be there.
      const never2 = (): void =>
        assert.ok(scene.pods('web').filter((one) => !isFinished(one)).length <= 1, 'two at a time');
      await scene.untilWhile('the new one', never2, () => {
        const own = scene.pods('web');
        return own.length === 1 && own[0]?.metadata.uid !== pod?.metadata.uid && own.every(isReady);
      });
    },
  },
  {
    name: 'a daemon set has a pod on each of its nodes, also on a cordoned one',
    nodes: 3,
    async run(scene) {
      const [cordoned = ''] = scene.nodes;
      await scene.patch(resources.nodes, cordoned, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
      await scene.until('the taint', () => scene.taintsOf(cordoned).length === 1);
      await daemonSet(scene, 'agent');
      const own = await allReady(scene, 'agent', 3);
      same(new Set(own.map(({ spec }) => spec.nodeName)), new Set(scene.nodes));
      for (const { spec } of own) {
        const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
        same(terms?.[0]?.matchFields?.[0], { key: 'metadata.name', operator: 'In', values: [spec.nodeName] });
        const keys = spec.tolerations?.map(({ key = '', effect }) => `${key.split('/')[1]}:${effect}`) ?? [];
        for (const key of ['unreachable:NoExecute', 'not-ready:NoExecute', 'unschedulable:NoSchedule'])
          assert.ok(keys.includes(key));
      }
    },
  },
  {
    name: 'a daemon set leaves a node with a NoExecute taint, and returns',
    nodes: 2,
    async run(scene) {
      const [nodeName = ''] = scene.nodes;
      await daemonSet(scene, 'agent');
      await allReady(scene, 'agent', 2);
      await scene.taint(nodeName, { key: 'example.com/out', effect: 'NoExecute' });
      await scene.until('one to be left', () => scene.pods('agent').length === 1);
      await scene.untaint(nodeName, 'example.com/out');
      await allReady(scene, 'agent', 2);
    },
  },
  {
    name: 'a daemon set goes with the labels of its nodes',
    nodes: 2,
    async run(scene) {
      const [first = '', second = ''] = scene.nodes;
      const label = '/metadata/labels/agent';
      for (const name of scene.nodes)
        await scene.patch(resources.nodes, name, [{ op: 'add', path: label, value: 'yes' }]);
      await daemonSet(scene, 'agent', { spec: { nodeSelector: { ...scene.selector, agent: 'yes' } } });
      await allReady(scene, 'agent', 2);
      await scene.patch(resources.nodes, first, [{ op: 'remove', path: label }]);
      await scene.until('one to be left', () => scene.pods('agent').length === 1);
      same(scene.pods('agent')[0]?.spec.nodeName, second);
      await scene.patch(resources.nodes, first, [{ op: 'add', path: label, value: 'yes' }]);
      await allReady(scene, 'agent', 2);
    },
  },
  {
    name: 'a job runs to its completions',
    async run(scene) {
      await job(scene, 'work', { completions: 3, parallelism: 2, annotations: { 'test/exit': '0' } });
      const atMost2 = (): void =>
        assert.ok(scene.pods('work').filter(({ status }) => status?.phase === 'Running').length <= 2);
      await scene.untilWhile('the end', atMost2, () => conditionOf(jobOf(scene), 'Complete')?.status === 'True');
      same([jobOf(scene)?.status?.succeeded, jobOf(scene)?.status?.['active'] ?? 0], [3, 0]);
      assert.ok(jobOf(scene)?.status?.['completionTime']);
      await scene.until('no finalizers', () =>
        scene.pods('work').every(({ metadata }) => !metadata.finalizers?.length),
      );
      same(scene.pods('work').length, 3);
    },
  },
  {
    name: 'a job gives up after its backoff limit',
    async run(scene) {
      await job(scene, 'work', { backoffLimit: 0, annotations: { 'test/exit': '1' } });
      await scene.until('the end', () => conditionOf(jobOf(scene), 'Failed')?.status === 'True');
      same(conditionOf(jobOf(scene), 'Failed')?.reason, 'BackoffLimitExceeded');
      same([jobOf(scene)?.status?.failed, scene.pods('work').length], [1, 1]);
    },
  },
  {
    name: 'a deleted pod of a job that ends well at once has succeeded',
    async run(scene) {
      await job(scene, 'work', { backoffLimit: 3 });
      const [pod] = await allReady(scene, 'work', 1);
      await scene.delete(resources.pods, pod?.metadata.name ?? '');
      const counts = await scene.until('the count', () => {
        const { succeeded = 0, failed = 0 } = jobOf(scene)?.status ?? {};
        return succeeded + failed > 0 && [succeeded, failed];
      });
      // It has a second for that, which on a busy machine may be too short.
      if (scene.world.exact || counts[0] === 1) {
        same(counts, [1, 0]);
        await scene.until('the end', () => conditionOf(jobOf(scene), 'Complete')?.status === 'True');
      }
    },
  },
  {
    name: 'a job replaces its pod of a dead node and counts it as failed',
    nodes: 2,
    async run(scene) {
      await job(scene, 'work', { backoffLimit: 3 });
      const [pod] = await allReady(scene, 'work', 1);
      const name = pod?.metadata.name ?? '';
      assert.ok(pod !== undefined && pod.metadata.finalizers?.includes('batch.kubernetes.io/job-tracking'));
      same(controllerOf(pod)?.kind, 'Job');
      scene.machine(pod.spec.nodeName ?? '').powerOff();
      await scene.terminating(name);
      await scene.until('the count', () => jobOf(scene)?.status?.failed === 1, 5000);
      // It was ready for the last time long before it was evicted: there is nothing to wait for.
      await scene.until(
        'the replacement',
        () => scene.pods('work').some((other) => other.metadata.name !== name && isReady(other)),
        scene.times.graceMs + 10_000 - scene.times.tolerationMs,
      );
      same(scene.pod(name)?.metadata.uid, pod.metadata.uid);
    },
  },
];
