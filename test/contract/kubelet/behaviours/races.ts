/**
 * A node that comes back while somebody lets its pods and volumes go: before the taint that keeps them away, after it, and without a way
 * to see it. What the kubelet lets in, when it stops what it had, and when it unmounts.
 */
import type { Pod } from '../../../../src/world/objects/pods.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same, statusOf } from '../scene.ts';
import { attach, detach, volume, volumesInUse } from '../volumes.ts';

const evicted = { key: 'contract.test/dead', effect: 'NoExecute' };

/** A database whose volume is attached; it needs a while to end. */
async function database(scene: Scene): Promise<{ pod: Pod; attachName: string }> {
  const attachName = await volume(scene);
  // Only what it tolerates by itself: it is driven away.
  await scene.createPod('db', {}, { ...scene.withClaim('data', { stopMs: 1500 }), tolerations: [] });
  await attach(scene, attachName);
  const pod = await scene.ready('db');
  same(await scene.mounts(pod), [scene.namespace]);
  return { pod, attachName };
}

/** From here on nothing of it may start, for so long as somebody looks. */
async function nothingRuns(scene: Scene, pod: Pod, forMs: number): Promise<void> {
  await scene.stays(forMs, async () => {
    same([await scene.containers(pod), await scene.mounts(pod)], [[], []]);
  });
}

/** First the containers, then the mount, then the word of the API. */
async function endsInOrder(scene: Scene, pod: Pod, attachName: string): Promise<void> {
  await scene.until('the volume to be free', async () => {
    // In this order: what is seen first cannot have ended after what is seen last.
    const isInUse = volumesInUse(scene).includes(attachName);
    const mounts = await scene.mounts(pod);
    const containers = await scene.containers(pod);
    if (mounts.length === 0) same(containers, []);
    if (!isInUse) same(mounts, []);
    return !isInUse;
  });
}

export const raceBehaviours: Behaviour[] = [
  {
    name: 'back after the taint: what it drives away is refused and not mounted, what tolerates it runs again',
    alone: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      await scene.createPod('agent');
      await scene.ready('agent');
      await scene.addCondition('db', { type: 'DisruptionTarget', status: 'True', reason: 'Test' });
      await scene.node.powerOff();
      await scene.taint(evicted);
      await detach(scene, attachName);
      await scene.node.powerOn();
      const refused = await scene.podWhere('db', 'to be refused', ({ status }) => status?.phase === 'Failed');
      same([refused.metadata.uid, refused.status?.reason], [pod.metadata.uid, 'TaintToleration']);
      // Of what was said while it ran, nothing is left: only what others have said of it, and when it began.
      const { conditions = [], containerStatuses, podIP, startTime } = refused.status ?? {};
      same(
        [conditions.map(({ type }) => type), containerStatuses, podIP],
        [['DisruptionTarget'], undefined, undefined],
      );
      same(startTime, pod.status?.startTime);
      await scene.podWhere('agent', 'to run again', (one) => statusOf(one)?.restartCount === 1);
      await nothingRuns(scene, pod, 3000);
      same(volumesInUse(scene).includes(attachName), false);
      await scene.deletePod('db', 0);
      await scene.untaint(evicted.key);
      await scene.until('no taint', () => !scene.nodeObject.spec?.taints?.some(({ key }) => key === evicted.key));
      // The kubelet may see that a little later than we do.
      await scene.stays(1000, () => {});
      await scene.createPod('db', {}, { ...scene.withClaim('data'), tolerations: [] });
      await attach(scene, attachName);
      const fresh = await scene.ready('db');
      same([await scene.mounts(fresh), statusOf(fresh)?.restartCount], [[scene.namespace], 0]);
    },
  },
  {
    name: 'back without a way to the API: only what its own files say runs, and what goes meanwhile never does',
    alone: true,
    thorough: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      await scene.createPod('stays');
      const stays = await scene.ready('stays');
      const { nodeName: _bound, ...spec } = scene.podSpec();
      await scene.node.addStaticPod({ name: 'local', namespace: scene.namespace, spec });
      const mirror = await scene.ready(`local-${stays.spec.nodeName}`);
      await scene.node.partition();
      await scene.node.powerOff();
      await scene.node.powerOn();
      await scene.until('the pod of the file to run', async () => (await scene.containers(mirror)).length === 1);
      await nothingRuns(scene, pod, 3000);
      same(await scene.containers(stays), []);
      await scene.deletePod('db', 0);
      await detach(scene, attachName);
      await scene.node.heal();
      await scene.podWhere('stays', 'to run again', (one) => statusOf(one)?.restartCount === 1);
      await nothingRuns(scene, pod, 3000);
      same(volumesInUse(scene).includes(attachName), false);
      await scene.node.removeStaticPod({ name: 'local', namespace: scene.namespace });
    },
  },
  {
    name: 'back before the taint: the same pods start on what is still attached, and the taint alone does not end them',
    alone: true,
    thorough: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      await scene.node.powerOff();
      await scene.node.powerOn();
      await scene.podWhere('db', 'to run again', (one) => statusOf(one)?.restartCount === 1);
      const again = await scene.ready('db');
      same([again.metadata.uid, await scene.mounts(again)], [pod.metadata.uid, [scene.namespace]]);
      await scene.taint(evicted);
      await scene.stays(3000, async () => {
        same([(await scene.containers(again)).length, await scene.mounts(again)], [1, [scene.namespace]]);
        same(volumesInUse(scene).includes(attachName), true);
      });
    },
  },
  {
    name: 'back while its volumes are taken away: a pod that is still bound waits for its volume, and says that it uses it',
    alone: true,
    thorough: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      await scene.node.powerOff();
      await detach(scene, attachName);
      same(volumesInUse(scene).includes(attachName), false);
      await scene.node.powerOn();
      await scene.until('it to be called in use again', () => volumesInUse(scene).includes(attachName));
      await nothingRuns(scene, pod, 3000);
      await scene.deletePod('db');
      await scene.gone('db');
      await scene.until('the volume to be free', () => !volumesInUse(scene).includes(attachName));
    },
  },
  {
    name: 'what was deleted by force beyond a partition stops when that heals, and is unmounted after that',
    alone: true,
    thorough: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      await scene.node.partition();
      await scene.deletePod('db', 0);
      await scene.stays(2000, async () => {
        same([(await scene.containers(pod)).length, await scene.mounts(pod)], [1, [scene.namespace]]);
      });
      await scene.node.heal();
      await endsInOrder(scene, pod, attachName);
    },
  },
  {
    name: 'a kubelet started anew beyond a partition leaves alone what runs there, and ends it in order when that heals',
    alone: true,
    thorough: true,
    async run(scene) {
      const { pod, attachName } = await database(scene);
      const containers = await scene.containers(pod);
      await scene.node.partition();
      await scene.node.stopKubelet();
      await scene.deletePod('db', 0);
      await scene.node.startKubelet();
      await scene.stays(5000, async () => {
        same([await scene.containers(pod), await scene.mounts(pod)], [containers, [scene.namespace]]);
      });
      await scene.node.heal();
      await endsInOrder(scene, pod, attachName);
    },
  },
];
