/** Which volumes a claim may be bound to. */
import { isTerminating } from '../objects/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../objects/volumes.ts';
import { quantity } from './quantities.ts';
import { matchesLabels } from './selectors.ts';

export function claimReference(claim: PersistentVolumeClaim): NonNullable<PersistentVolume['spec']['claimRef']> {
  const { name, namespace = '', uid = '' } = claim.metadata;
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
}

export function fits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { spec = {} } = claim;
  const { capacity, accessModes = [], storageClassName = '', volumeMode = 'Filesystem' } = volume.spec;
  return (
    !isTerminating(volume) &&
    storageClassName === (spec.storageClassName ?? '') &&
    volumeMode === (spec.volumeMode ?? 'Filesystem') &&
    (spec.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
    quantity(capacity?.storage) >= quantity(spec.resources?.requests?.storage) &&
    (spec.selector === undefined || matchesLabels(spec.selector, volume.metadata.labels))
  );
}

/** Meant for this claim and no other, be it by its name alone. */
export function isReservedFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef } = volume.spec;
  if (claimRef === undefined) return false;
  const { name, namespace = '', uid } = claim.metadata;
  if (claimRef.name !== name || claimRef.namespace !== namespace) return false;
  return claimRef.uid === undefined || claimRef.uid === '' || claimRef.uid === uid;
}
