/** The end of pods that are deleted. */
import assert from 'node:assert/strict';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same, statusOf } from '../scene.ts';

/** How long the container ran on after the deletion, in milliseconds. */
async function survived(scene: Scene, pod: Pod, gracePeriodSeconds?: number): Promise<number> {
  await scene.deletePod(pod.metadata.name, gracePeriodSeconds);
  const since = scene.monotonic();
  await scene.stopped(pod);
  return scene.monotonic() - since;
}

function lastWords(scene: Scene, pod: Pod): [string | undefined, number | undefined] {
  const last = scene.versionsOf(pod).at(-1);
  return [last?.status?.phase, statusOf(last)?.state.terminated?.exitCode];
}

export const deletingBehaviours: Behaviour[] = [
  {
    name: 'a deleted pod is asked to end, says how it ended, and then its object goes',
    async run(scene) {
      await scene.createPod('web', { stopMs: 1500 });
      const pod = await scene.ready('web');
      const tookMs = await survived(scene, pod);
      assert.ok(tookMs >= 1000 && tookMs < 10_000, `it took ${tookMs} ms`);
      await scene.gone('web');
      same(lastWords(scene, pod), ['Succeeded', 0]);
      const begun = scene.versionsOf(pod).find(({ metadata }) => metadata.deletionTimestamp !== undefined);
      same([begun?.metadata.deletionGracePeriodSeconds, begun?.status?.phase], [30, 'Running']);
    },
  },
  {
    name: 'the kubelet deletes with no grace, and only the pod that it means',
    async run(scene) {
      await scene.createPod('web');
      const pod = await scene.ready('web');
      await scene.deletePod('web');
      await scene.gone('web');
      const [request] = await scene.until('the request to be on record', async () => {
        const requests = await scene.kubeletRequests('delete', 'pods');
        return requests.length > 0 && requests;
      });
      const body = request?.body as { gracePeriodSeconds?: number; preconditions?: { uid?: string } };
      same([body.gracePeriodSeconds, body.preconditions?.uid], [0, pod.metadata.uid]);
    },
  },
  {
    name: 'a container that needs longer than its grace is killed',
    async run(scene) {
      await scene.createPod('slow', { stopMs: 60_000 }, { terminationGracePeriodSeconds: 3 });
      const pod = await scene.ready('slow');
      const tookMs = await survived(scene, pod);
      assert.ok(tookMs >= 2000 && tookMs < 15_000, `it took ${tookMs} ms`);
      await scene.gone('slow');
      same(lastWords(scene, pod), ['Failed', 137]);
    },
  },
  {
    name: 'the grace of the deletion counts, not that of the pod',
    async run(scene) {
      await scene.createPod('slow', { stopMs: 60_000 }, { terminationGracePeriodSeconds: 60 });
      const pod = await scene.ready('slow');
      const tookMs = await survived(scene, pod, 2);
      assert.ok(tookMs >= 1000 && tookMs < 15_000, `it took ${tookMs} ms`);
    },
  },
  {
    name: 'an end that has begun takes the grace that it began with, also when the pod is then deleted by force',
    async run(scene) {
      await scene.createPod('slow', { stopMs: 60_000 }, { terminationGracePeriodSeconds: 8 });
      const pod = await scene.ready('slow');
      const since = scene.monotonic();
      await scene.deletePod('slow');
      await scene.stays(1500, () => same(scene.pod('slow')?.metadata.uid, pod.metadata.uid));
      await scene.deletePod('slow', 0);
      await scene.gone('slow');
      await scene.stays(4000, async () => same((await scene.containers(pod)).length, 1));
      await scene.stopped(pod);
      const tookMs = scene.monotonic() - since;
      assert.ok(tookMs >= 7000 && tookMs < 20_000, `it took ${tookMs} ms`);
    },
  },
  {
    name: 'a pod deleted by force is gone from the API at once, and its container soon after',
    async run(scene) {
      await scene.createPod('slow', { stopMs: 60_000 }, { terminationGracePeriodSeconds: 60 });
      const pod = await scene.ready('slow');
      await scene.deletePod('slow', 0);
      await scene.gone('slow', 2000);
      const since = scene.monotonic();
      await scene.stopped(pod);
      const tookMs = scene.monotonic() - since;
      assert.ok(tookMs < 15_000, `it took ${tookMs} ms`);
    },
  },
  {
    name: 'a pod deleted before it could start goes without ever running',
    async run(scene) {
      const made = await scene.createPod('waits', {}, scene.withClaim('missing'));
      await scene.stays(1500, async () => {
        same(scene.pod('waits')?.status?.phase ?? 'Pending', 'Pending');
        same(await scene.containers(made), []);
      });
      await scene.deletePod('waits');
      await scene.gone('waits', 20_000);
      same(await scene.containers(made), []);
    },
  },
  {
    name: 'a pod of the same name is another one: it starts while the old one still ends',
    async run(scene) {
      await scene.createPod('web', { stopMs: 60_000 }, { terminationGracePeriodSeconds: 60 });
      const old = await scene.ready('web');
      await scene.deletePod('web', 0);
      await scene.gone('web');
      const fresh = await scene.createPod('web');
      await scene.ready('web');
      assert.notEqual(fresh.metadata.uid, old.metadata.uid);
      same(statusOf(scene.pod('web'))?.restartCount, 0);
      await scene.stopped(old);
      same((await scene.containers(fresh)).length, 1);
    },
  },
];
