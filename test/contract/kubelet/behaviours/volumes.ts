/** Volumes that have to be attached: what a kubelet waits for, and what it calls in use. */
import { persistentVolumeClaims, persistentVolumes, volumeAttachments } from '../../../../src/kube/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from '../../../../src/world/objects/volumes.ts';
import { attachmentNameOf, attachNameOf } from '../../../../src/world/objects/volumes.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { same, valueOf } from '../scene.ts';
import { contractTimes, driver, nodeName } from '../subject.ts';

const volumesInUse = (scene: Scene): string[] => scene.nodeObject.status?.volumesInUse ?? [];

/** A bound claim of a volume; answers the name under which the node knows it. */
async function volume(scene: Scene): Promise<string> {
  const handle = scene.namespace;
  const size = { storage: '1Gi' };
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'none' };
  const claim = await scene.create<PersistentVolumeClaim>(persistentVolumeClaims, {
    metadata: { name: 'data' },
    spec: { ...common, volumeName: handle, resources: { requests: size } },
  });
  const { uid = '' } = claim.metadata;
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: scene.namespace, name: 'data', uid };
  const spec = { ...common, capacity: size, claimRef, csi: { driver, volumeHandle: handle } };
  await scene.create<PersistentVolume>(persistentVolumes, { metadata: { name: handle }, spec });
  const ref = { resource: persistentVolumeClaims, namespace: scene.namespace, name: 'data' };
  const bound = { op: 'add', path: '/status/phase', value: 'Bound' } as const;
  valueOf(await scene.client.patch(ref, { uid }, [bound], { subresource: 'status' }));
  return attachNameOf(driver, handle);
}

/** What the attacher and the attach-detach controller do. */
async function attach(scene: Scene, attachName: string): Promise<void> {
  const name = attachmentNameOf(driver, scene.namespace, nodeName);
  const source = { persistentVolumeName: scene.namespace };
  const made = await scene.create<VolumeAttachment>(volumeAttachments, {
    metadata: { name },
    spec: { attacher: driver, nodeName, source },
  });
  const ref = { resource: volumeAttachments, name };
  const only = { uid: made.metadata.uid ?? '' };
  const status = { op: 'add', path: '/status', value: { attached: true } } as const;
  valueOf(await scene.client.patch(ref, only, [status], { subresource: 'status' }));
  await scene.patchNode(
    (node) => [
      {
        op: 'add',
        path: '/status/volumesAttached',
        value: [...(node.status?.volumesAttached ?? []), { name: attachName, devicePath: '' }],
      },
    ],
    'status',
  );
}

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
