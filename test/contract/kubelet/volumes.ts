/** Volumes as the behaviours work with them: nobody attaches or detaches them but they themselves. */
import { persistentVolumeClaims, persistentVolumes, volumeAttachments } from '../../../src/kube/resources.ts';
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from '../../../src/world/objects/volumes.ts';
import { attachmentNameOf, attachNameOf } from '../../../src/world/objects/volumes.ts';
import { valueOf, type Scene } from './scene.ts';
import { driver, nodeName } from './subject.ts';

export const volumesInUse = (scene: Scene): string[] => scene.nodeObject.status?.volumesInUse ?? [];

/** A bound claim of a volume; answers the name under which the node knows it. */
export async function volume(scene: Scene): Promise<string> {
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
export async function attach(scene: Scene, attachName: string): Promise<void> {
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

/** What they do when they take it from a node that is dead for them: nothing of it is left in the API. */
export async function detach(scene: Scene, attachName: string): Promise<void> {
  const ref = { resource: volumeAttachments, name: attachmentNameOf(driver, scene.namespace, nodeName) };
  const { metadata } = valueOf(await scene.client.get(ref));
  valueOf(await scene.client.delete(ref, { uid: metadata.uid ?? '' }, {}));
  await scene.patchNode(
    ({ status }) => [
      {
        op: 'add',
        path: '/status/volumesAttached',
        value: (status?.volumesAttached ?? []).filter(({ name }) => name !== attachName),
      },
      {
        op: 'add',
        path: '/status/volumesInUse',
        value: (status?.volumesInUse ?? []).filter((name) => name !== attachName),
      },
    ],
    'status',
  );
}
