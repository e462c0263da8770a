/** Lets go of claims and volumes that were deleted, once nobody uses them. The API server puts the finalizers there. */
import { removeFinalizer } from '../../kube/patches.ts';
import { isTerminating } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { claimsOf } from '../objects/pods.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../objects/volumes.ts';
import type { ControllerHost } from './host.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { persistentVolumeClaims, persistentVolumes, pods } from './resources.ts';

const claimFinalizer = 'kubernetes.io/pvc-protection';
const volumeFinalizer = 'kubernetes.io/pv-protection';

export function protectVolumes(host: ControllerHost, { podsByClaim }: PodIndexes): void {
  const claims = host.informers.of<PersistentVolumeClaim>(persistentVolumeClaims);
  const volumes = host.informers.of<PersistentVolume>(persistentVolumes);
  const claimApi = host.apiFor('pvc-protection-controller');
  const volumeApi = host.apiFor('pv-protection-controller');

  const claimQueue = host.queue('pvc-protection-controller', async (key) => {
    const claim = claims.get(key);
    if (claim === undefined || !isTerminating(claim)) return undefined;
    // A pod that is not on a node yet will not find the claim any more.
    if ([...podsByClaim.of(key).values()].some(({ spec }) => spec.nodeName !== undefined)) return undefined;
    const operations = removeFinalizer(claim, claimFinalizer);
    if (operations.length > 0) await claimApi.patch(persistentVolumeClaims, claim, operations);
    return undefined;
  });
  claims.on(({ key, object }) => {
    if (object !== undefined && isTerminating(object)) claimQueue.add(key);
  });
  host.informers.of<Pod>(pods).on(({ object, previous }) => {
    if (object !== undefined || previous === undefined) return;
    for (const name of claimsOf(previous)) claimQueue.add(`${previous.metadata.namespace ?? ''}/${name}`);
  });

  const volumeQueue = host.queue('pv-protection-controller', async (key) => {
    const volume = volumes.get(key);
    if (volume === undefined || !isTerminating(volume) || volume.status?.phase === 'Bound') return undefined;
    const operations = removeFinalizer(volume, volumeFinalizer);
    if (operations.length > 0) await volumeApi.patch(persistentVolumes, volume, operations);
    return undefined;
  });
  volumes.on(({ key, object }) => {
    if (object !== undefined && isTerminating(object)) volumeQueue.add(key);
  });
}
