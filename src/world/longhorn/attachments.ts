/** Which node uses a volume, where a PersistentVolume names it: the one that Kubernetes has it attached to. */
import type { Informer } from '../controllers/informer.ts';
import type { PersistentVolume, VolumeAttachment } from '../objects/volumes.ts';
import type { TrueVolume } from './truth.ts';

const driver = 'driver.longhorn.io';

/** Of a volume that no PersistentVolume names the user is who the scenario says. */
export function followAttachments(
  volumes: Iterable<TrueVolume>,
  persistent: Informer<PersistentVolume>,
  attachments: Informer<VolumeAttachment>,
): void {
  for (const volume of volumes) {
    const named = [...persistent.values()].find(
      ({ spec }) => spec.csi?.driver === driver && spec.csi.volumeHandle === volume.name,
    );
    if (named === undefined) continue;
    const { name } = named.metadata;
    const found = [...attachments.values()].find(({ spec }) => spec.source.persistentVolumeName === name);
    const node = found?.spec.nodeName;
    volume.isFollowed = true;
    if (node === undefined) delete volume.attachedTo;
    else volume.attachedTo = node;
  }
}
