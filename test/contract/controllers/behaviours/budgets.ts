/** Disruption budgets: the arithmetic, and what evictions make of it. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { isReady } from '../../../../src/world/objects/meta.ts';
import type { PodDisruptionBudget } from '../../../../src/world/objects/workloads.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same } from '../scene.ts';
import { allReady, budget, deployment, newImage, statefulSet } from '../workloads.ts';

/** expected, healthy, desired, allowed */
async function counts(scene: Scene, name: string, expected: readonly [number, number, number, number]): Promise<void> {
  await scene.until(`the counts of ${name}`, () => {
    const { status } = scene.get<PodDisruptionBudget>(resources.podDisruptionBudgets, name) ?? {};
    const fields = ['expectedPods', 'currentHealthy', 'desiredHealthy', 'disruptionsAllowed'];
    same(
      fields.map((field) => status?.[field]),
      [...expected],
    );
    return true;
  });
}

export const budgetBehaviours: Behaviour[] = [
  {
    name: 'budgets count by number and by share, rounded up, against the scale of the controller',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 5 });
      await allReady(scene, 'web', 5);
      await budget(scene, 'at-least-3', 'web', { minAvailable: 3 });
      await budget(scene, 'at-least-half', 'web', { minAvailable: '50%' });
      await budget(scene, 'at-most-1', 'web', { maxUnavailable: 1 });
      await budget(scene, 'at-most-half', 'web', { maxUnavailable: '50%' });
      await budget(scene, 'none-at-all', 'web', { maxUnavailable: 0 });
      await budget(scene, 'nobody', 'nobody', { minAvailable: 1 });
      await counts(scene, 'at-least-3', [5, 5, 3, 2]);
      await counts(scene, 'at-least-half', [5, 5, 3, 2]);
      await counts(scene, 'at-most-1', [5, 5, 4, 1]);
      await counts(scene, 'at-most-half', [5, 5, 2, 3]);
      await counts(scene, 'none-at-all', [5, 5, 5, 0]);
      await counts(scene, 'nobody', [0, 0, 1, 0]);
    },
  },
  {
    name: 'an eviction takes its share and the next is refused until the loss is made up',
    async run(scene) {
      // What is told to end takes its time, so that it can be looked at meanwhile.
      await deployment(scene, 'web', {
        replicas: 2,
        spec: { terminationGracePeriodSeconds: 3600 },
        annotations: { 'test/startup-ms': '10000', 'test/stop-ms': '3600000' },
      });
      const [first, second] = await allReady(scene, 'web', 2);
      await budget(scene, 'keep', 'web', { minAvailable: 1 });
      await counts(scene, 'keep', [2, 2, 1, 1]);
      same(await scene.evict(first?.metadata.name ?? ''), undefined);
      const refusal = await scene.evict(second?.metadata.name ?? '');
      same([refusal?.kind, refusal?.causes], ['tooManyRequests', ['DisruptionBudget']]);
      await scene.until('the pod on its way out to be counted out', () => {
        const { status } = scene.get<PodDisruptionBudget>(resources.podDisruptionBudgets, 'keep') ?? {};
        same([status?.disruptedPods ?? {}, status?.['currentHealthy']], [{}, 1]);
        return true;
      });
      assert.ok(scene.pod(first?.metadata.name ?? '')?.metadata.deletionTimestamp, 'it is still there');
      await counts(scene, 'keep', [3, 2, 1, 1]);
      const { status } = scene.get<PodDisruptionBudget>(resources.podDisruptionBudgets, 'keep') ?? {};
      same(status?.disruptedPods ?? {}, {});
      same(await scene.evict(second?.metadata.name ?? ''), undefined);
    },
  },
  {
    name: 'two budgets on one pod: an eviction is an error, whatever they allow',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 3 });
      const [pod] = await allReady(scene, 'web', 3);
      for (const name of ['one', 'two']) await budget(scene, name, 'web', { minAvailable: 1 });
      for (const name of ['one', 'two']) await counts(scene, name, [3, 3, 1, 2]);
      const refusal = await scene.evict(pod?.metadata.name ?? '');
      same([refusal?.status, refusal?.kind], [500, 'serverError']);
      assert.match(refusal?.message ?? '', /more than one PodDisruptionBudget/);
      await scene.stays(1000, () => same(scene.pod(pod?.metadata.name ?? '')?.metadata.deletionTimestamp, undefined));
    },
  },
  {
    name: 'in a roll-over the deployment counts, not its replica sets',
    async run(scene) {
      await deployment(scene, 'web', { replicas: 4, annotations: { 'test/startup-ms': '1500' } });
      await allReady(scene, 'web', 4);
      await budget(scene, 'keep', 'web', { maxUnavailable: 1 });
      await counts(scene, 'keep', [4, 4, 3, 1]);
      await scene.patch(resources.deployments, 'web', newImage('example/main:2'));
      const status = (field: string): unknown =>
        scene.get<PodDisruptionBudget>(resources.podDisruptionBudgets, 'keep')?.status?.[field];
      await scene.untilWhile(
        'all to be new',
        () => same([status('expectedPods'), status('desiredHealthy')], [4, 3]),
        () => {
          const own = scene.pods('web');
          return (
            own.length === 4 && own.every((pod) => isReady(pod) && pod.spec.containers[0]?.image === 'example/main:2')
          );
        },
      );
    },
  },
  {
    name: 'a pod of a dead node counts for nobody',
    nodes: 3,
    async run(scene) {
      await statefulSet(scene, 'db', { replicas: 2 });
      const [pod] = await allReady(scene, 'db', 2);
      await budget(scene, 'keep', 'db', { maxUnavailable: 1 });
      await counts(scene, 'keep', [2, 2, 1, 1]);
      scene.machine(pod?.spec.nodeName ?? '').powerOff();
      await counts(scene, 'keep', [2, 1, 1, 0]);
      await scene.terminating(pod?.metadata.name ?? '');
      await counts(scene, 'keep', [2, 1, 1, 0]);
    },
  },
];
