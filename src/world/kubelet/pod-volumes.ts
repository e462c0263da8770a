/** From what a pod asks for to the volumes behind it, as a kubelet finds them out. */
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import type { KubeError, Result } from '../../kube/errors.ts';
import { failure } from '../../kube/errors.ts';
import { csiDrivers, persistentVolumeClaims, persistentVolumes, volumeAttachments } from '../../kube/resources.ts';
import type { MountedVolume } from '../machines/machine.ts';
import type { Pod } from '../objects/pods.ts';
import { claimsOf } from '../objects/pods.ts';
import type { CsiDriver, PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from '../objects/volumes.ts';
import { attachmentNameOf, attachNameOf } from '../objects/volumes.ts';

/** Fails with `notFound` while a claim is not bound: look again later. */
export async function volumesOf(client: KubeClient, pod: Pod, call: CallOptions): Promise<Result<MountedVolume[]>> {
  const volumes: MountedVolume[] = [];
  for (const claimName of claimsOf(pod)) {
    const ref = { resource: persistentVolumeClaims, namespace: pod.metadata.namespace ?? '', name: claimName };
    const claim = await client.get<PersistentVolumeClaim>(ref, call);
    if (!claim.ok) return claim;
    const name = claim.value.spec?.volumeName;
    if (name === undefined || claim.value.status?.phase !== 'Bound') return failure(unbound(claimName));
    const volume = await client.get<PersistentVolume>({ resource: persistentVolumes, name }, call);
    if (!volume.ok) return volume;
    const mounted = await mountedVolume(client, volume.value, call);
    if (!mounted.ok) return mounted;
    volumes.push(mounted.value);
  }
  return { ok: true, value: volumes };
}

async function mountedVolume(
  client: KubeClient,
  volume: PersistentVolume,
  call: CallOptions,
): Promise<Result<MountedVolume>> {
  const persistentVolume = volume.metadata.name;
  if (volume.spec.csi === undefined) return { ok: true, value: { persistentVolume } };
  const { driver, volumeHandle: handle } = volume.spec.csi;
  const known = await client.get<CsiDriver>({ resource: csiDrivers, name: driver }, call);
  // Without a CSIDriver object a driver needs attaching.
  if (!known.ok && known.error.kind !== 'notFound') return known;
  const attachless = known.ok && known.value.spec.attachRequired === false;
  const value = { persistentVolume, driver, handle };
  return { ok: true, value: attachless ? value : { ...value, attachName: attachNameOf(driver, handle) } };
}

/**
 * Whether the storage system has confirmed the attachments. The Node's volumesAttached alone may be a leftover of an
 * attachment that is already being taken away.
 */
export async function attachmentsConfirmed(
  client: KubeClient,
  volumes: readonly MountedVolume[],
  nodeName: string,
  call: CallOptions,
): Promise<boolean> {
  for (const { driver, handle, attachName } of volumes) {
    if (driver === undefined || handle === undefined || attachName === undefined) continue;
    const ref = { resource: volumeAttachments, name: attachmentNameOf(driver, handle, nodeName) };
    const attachment = await client.get<VolumeAttachment>(ref, call);
    if (!attachment.ok || attachment.value.metadata.deletionTimestamp !== undefined) return false;
    if (attachment.value.status?.attached !== true) return false;
  }
  return true;
}

function unbound(claimName: string): KubeError {
  return { kind: 'notFound', message: `claim ${claimName} is not bound`, mayHaveHappened: false };
}
