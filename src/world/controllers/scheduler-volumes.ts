/** What the volumes of a pod mean for its place, and the binding of those that wait for it. */
import { isTerminating, keyOf } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { claimsOf } from '../objects/pods.ts';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../objects/volumes.ts';
import type { Api } from './api.ts';
import type { Informer, Informers } from './informer.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from './resources.ts';
import type { NodeFilter } from './scheduler-fit.ts';
import { matchesNodeTerms } from './selectors.ts';
import { claimReference, fits } from './volume-match.ts';

export const selectedNodeAnnotation = 'volume.kubernetes.io/selected-node';
export const noProvisioner = 'kubernetes.io/no-provisioner';

export type VolumeNeeds =
  | { kind: 'refused'; reason: string }
  | { kind: 'ok'; filter: NodeFilter; waiting: PersistentVolumeClaim[] };

export class SchedulerVolumes {
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #indexes: PodIndexes;

  constructor(informers: Informers, indexes: PodIndexes) {
    this.#claims = informers.of(persistentVolumeClaims);
    this.#volumes = informers.of(persistentVolumes);
    this.#classes = informers.of(storageClasses);
    this.#indexes = indexes;
  }

  needsOf(pod: Pod): VolumeNeeds {
    const bound: PersistentVolume[] = [];
    const waiting: PersistentVolumeClaim[] = [];
    for (const name of claimsOf(pod)) {
      const claim = this.#claims.get(`${pod.metadata.namespace ?? ''}/${name}`);
      if (claim === undefined) return { kind: 'refused', reason: `persistentvolumeclaim "${name}" not found` };
      if (isTerminating(claim)) return { kind: 'refused', reason: `persistentvolumeclaim "${name}" is being deleted` };
      if (this.#isTakenByAnother(claim, pod)) return { kind: 'refused', reason: alreadyInUse };
      if (claim.status?.phase === 'Bound' && claim.spec?.volumeName !== undefined) {
        const volume = this.#volumes.get(claim.spec.volumeName);
        if (volume === undefined) return { kind: 'refused', reason: noVolume };
        bound.push(volume);
      } else if (this.waitsForPod(claim)) waiting.push(claim);
      else return { kind: 'refused', reason: 'pod has unbound immediate PersistentVolumeClaims' };
    }
    return { kind: 'ok', waiting, filter: (node) => this.#reasonAgainst(node, bound, waiting) };
  }

  waitsForPod(claim: PersistentVolumeClaim): boolean {
    if (claim.spec?.volumeName !== undefined) return false;
    const className = claim.spec?.storageClassName ?? '';
    return this.#classes.get(className)?.volumeBindingMode === 'WaitForFirstConsumer';
  }

  /** Says where the volumes are to be. True once all of them are bound. */
  async bind(api: Api, claims: readonly PersistentVolumeClaim[], node: Node): Promise<boolean> {
    let done = true;
    for (const { metadata } of claims) {
      const claim = this.#claims.get(keyOf({ metadata }));
      if (claim === undefined || claim.status?.phase === 'Bound') continue;
      done = false;
      const volume = this.#volumeFor(claim, node);
      if (volume !== undefined) {
        const value = claimReference(claim);
        await api.patch(persistentVolumes, volume, [{ op: 'add', path: '/spec/claimRef', value }], { exact: true });
      } else if (claim.metadata.annotations?.[selectedNodeAnnotation] !== node.metadata.name) {
        const value = { ...claim.metadata.annotations, [selectedNodeAnnotation]: node.metadata.name };
        await api.patch(persistentVolumeClaims, claim, [{ op: 'add', path: '/metadata/annotations', value }], {
          exact: true,
        });
      }
    }
    return done;
  }

  #volumeFor(claim: PersistentVolumeClaim, node: Node): PersistentVolume | undefined {
    return [...this.#volumes.values()].find(
      (volume) => volume.spec.claimRef === undefined && fits(volume, claim) && isReachable(volume, node),
    );
  }

  #reasonAgainst(
    node: Node,
    bound: readonly PersistentVolume[],
    waiting: readonly PersistentVolumeClaim[],
  ): string | undefined {
    if (!bound.every((volume) => isReachable(volume, node))) {
      return "node(s) didn't match PersistentVolume's node affinity";
    }
    for (const claim of waiting) {
      const { provisioner } = this.#classes.get(claim.spec?.storageClassName ?? '') ?? {};
      const provisioned = provisioner !== undefined && provisioner !== noProvisioner;
      if (!provisioned && this.#volumeFor(claim, node) === undefined) {
        return "node(s) didn't find available persistent volumes to bind";
      }
    }
    return undefined;
  }

  #isTakenByAnother(claim: PersistentVolumeClaim, pod: Pod): boolean {
    if (claim.spec?.accessModes?.includes('ReadWriteOncePod') !== true) return false;
    const users = this.#indexes.podsByClaim.of(keyOf(claim)).values();
    return [...users].some(
      (other) => other.metadata.uid !== pod.metadata.uid && other.spec.nodeName !== undefined && !isFinished(other),
    );
  }
}

const alreadyInUse =
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';
const noVolume = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';

function isReachable({ spec }: PersistentVolume, node: Node): boolean {
  const required = spec.nodeAffinity?.required;
  return required === undefined || matchesNodeTerms(required.nodeSelectorTerms, node);
}
