/** Volumes that have to be attached: what a kubelet waits for, and what it calls in use. */
import type { Behaviour } from '../scene.ts';
import { same } from '../scene.ts';
import { contractTimes } from '../subject.ts';
import { attach, volume, volumesInUse } from '../volumes.ts';

export const volumeBehaviours: Behaviour[] = [
  {
    name: 'a pod waits until its volume is attached, which is called in use before that',
    async run(scene) {
      const attachName = await volume(scene);
      const made = await scene.createPod('db', {}, scene.withClaim('data'));
      await scene.until('the volume to be in use', () => volumesInUse(scene).includes(attachName));
      await scene.stays(2000, async () => {
        same(await scene.containers(made), []);
        same(scene.pod('db')?.status?.phase, 'Pending');
      });
      await attach(scene, attachName);
      await scene.ready('db');
    },
  },
  {
    name: 'a volume is called in use while its pod runs, also when somebody denies it, and no longer when it is gone',
    async run(scene) {
      const attachName = await volume(scene);
      await scene.createPod('db', {}, scene.withClaim('data'));
      await attach(scene, attachName);
      await scene.ready('db');
      await scene.stays(contractTimes.statusEveryMs * 1.5, () => same(volumesInUse(scene).includes(attachName), true));
      await scene.patchNode((node) => {
        const others = (node.status?.volumesInUse ?? []).filter((name) => name !== attachName);
        return [{ op: 'add', path: '/status/volumesInUse', value: others }];
      }, 'status');
      await scene.until('it to be called in use again', () => volumesInUse(scene).includes(attachName));
      await scene.deletePod('db');
      await scene.gone('db');
      await scene.until('the volume to be free', () => !volumesInUse(scene).includes(attachName));
    },
  },
  {
    name: 'a volume is called in use until the container of a pod deleted by force has ended',
    async run(scene) {
      const attachName = await volume(scene);
      await scene.createPod(
        'db',
        {},
        {
          ...scene.withClaim('data', { stopMs: 60_000 }),
          terminationGracePeriodSeconds: 60,
        },
      );
      await attach(scene, attachName);
      const pod = await scene.ready('db');
      await scene.deletePod('db', 0);
      const running = await scene.until('the volume to be free', async () => {
        return volumesInUse(scene).includes(attachName) ? undefined : scene.containers(pod);
      });
      same(running, []);
    },
  },
];
