/**
 * Binds claims to volumes: to one that is meant for the claim, else the smallest that fits, else to a new one of a
 * simulated provisioner. Claims of a class that waits for a consumer wait until the scheduler has chosen a node.
 */
import type { JsonPatchOperation } from '../../kube/client.ts';
import { isTerminating, keyOf } from '../objects/meta.ts';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../objects/volumes.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { quantity } from './quantities.ts';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from './resources.ts';
import { selectedNodeAnnotation } from './scheduler-volumes.ts';
import { claimReference, fits, isReservedFor } from './volume-match.ts';
import type { WorkQueue } from './work-queue.ts';

const who = 'persistent-volume-binder';
const completed = 'pv.kubernetes.io/bind-completed';
const byController = 'pv.kubernetes.io/bound-by-controller';
const provisionedBy = 'pv.kubernetes.io/provisioned-by';

export class VolumeBinder {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #classes: Informer<StorageClass>;
  readonly #provisioners: ReadonlySet<string>;
  readonly #claimQueue: WorkQueue;
  readonly #pending = new Set<string>();
  /** By the claim they are for; those for any under the empty name. */
  readonly #volumesByClaim: Index<PersistentVolume>;
  /** Claims for which a volume is being made, to when it is there. */
  readonly #making = new Map<string, number>();

  constructor(host: ControllerHost, provisioners: readonly string[]) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#claims = host.informers.of(persistentVolumeClaims);
    this.#volumes = host.informers.of(persistentVolumes);
    this.#classes = host.informers.of(storageClasses);
    this.#provisioners = new Set(provisioners);
    this.#volumesByClaim = this.#volumes.indexBy(({ spec: { claimRef } }) => [
      claimRef === undefined ? '' : `${claimRef.namespace}/${claimRef.name}`,
    ]);
    // One at a time: two claims must not be given the same volume.
    this.#claimQueue = host.queue(who, (key) => this.#syncClaim(key), { workers: 1 });
    const volumeQueue = host.queue(who, (key) => this.#syncVolume(key), { workers: 1 });
    this.#claims.on(({ key, object, previous }) => {
      if (object !== undefined && object.spec?.volumeName === undefined) this.#pending.add(key);
      else this.#pending.delete(key);
      this.#claimQueue.add(key);
      const volume = (object ?? previous)?.spec?.volumeName;
      if (volume !== undefined) volumeQueue.add(volume);
    });
    this.#volumes.on(({ key, object }) => {
      volumeQueue.add(key);
      const claim = object?.spec.claimRef;
      if (claim !== undefined) this.#claimQueue.add(`${claim.namespace}/${claim.name}`);
      else this.#wakePending();
    });
    this.#classes.on(() => this.#wakePending());
  }

  #wakePending(): void {
    for (const key of this.#pending) this.#claimQueue.add(key);
  }

  async #syncClaim(key: string): Promise<number | undefined> {
    const claim = this.#claims.get(key);
    if (claim === undefined || isTerminating(claim)) {
      this.#making.delete(key);
      return undefined;
    }
    const name = claim.spec?.volumeName;
    if (claim.metadata.annotations?.[completed] !== undefined && name !== undefined) {
      const volume = this.#volumes.get(name);
      if (volume === undefined) await this.#setPhase(claim, 'Lost');
      else if (isReservedFor(volume, claim)) await this.#bind(volume, claim);
      return undefined;
    }
    const volume = name === undefined ? this.#choose(claim) : this.#named(name, claim);
    if (volume !== undefined) {
      await this.#bind(volume, claim);
      return undefined;
    }
    await this.#setPhase(claim, 'Pending');
    return name === undefined ? this.#provision(key, claim) : undefined;
  }

  #named(name: string, claim: PersistentVolumeClaim): PersistentVolume | undefined {
    const volume = this.#volumes.get(name);
    if (volume === undefined) return undefined;
    return volume.spec.claimRef === undefined || isReservedFor(volume, claim) ? volume : undefined;
  }

  #choose(claim: PersistentVolumeClaim): PersistentVolume | undefined {
    for (const volume of this.#volumesByClaim.of(keyOf(claim)).values()) {
      if (isReservedFor(volume, claim) && !isTerminating(volume)) return volume;
    }
    // The scheduler reserves where a place matters; taking any would take the choice from it.
    if (this.#classOf(claim)?.volumeBindingMode === 'WaitForFirstConsumer') return undefined;
    const size = (one: PersistentVolume): number => quantity(one.spec.capacity?.storage);
    let best: PersistentVolume | undefined;
    for (const volume of this.#volumesByClaim.of('').values()) {
      if (fits(volume, claim) && (best === undefined || size(volume) < size(best))) best = volume;
    }
    return best;
  }

  #classOf(claim: PersistentVolumeClaim): StorageClass | undefined {
    return this.#classes.get(claim.spec?.storageClassName ?? '');
  }

  async #bind(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<void> {
    const bound = await this.#bindVolume(volume, claim);
    if (bound === undefined) return;
    await this.#api.status(persistentVolumes, bound, { fields: { phase: 'Bound' }, conditions: [] });
    const owned = await this.#bindClaim(bound, claim);
    if (owned === undefined || owned.status?.phase === 'Bound') return;
    const value = {
      ...owned.status,
      phase: 'Bound',
      accessModes: bound.spec.accessModes,
      capacity: bound.spec.capacity,
    };
    await this.#api.patch(persistentVolumeClaims, owned, [{ op: 'add', path: '/status', value }], {
      subresource: 'status',
    });
  }

  async #bindVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<PersistentVolume | undefined> {
    if (volume.spec.claimRef?.uid === claim.metadata.uid) return volume;
    const operations: JsonPatchOperation[] = [{ op: 'add', path: '/spec/claimRef', value: claimReference(claim) }];
    if (volume.spec.claimRef === undefined) operations.push(annotate(volume, { [byController]: 'yes' }));
    return this.#api.patch(persistentVolumes, volume, operations, { exact: true });
  }

  async #bindClaim(volume: PersistentVolume, claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim | undefined> {
    const { name } = volume.metadata;
    if (claim.spec?.volumeName === name && claim.metadata.annotations?.[completed] !== undefined) return claim;
    const mine = claim.spec?.volumeName === undefined;
    const operations: JsonPatchOperation[] = [
      annotate(claim, { [completed]: 'yes', ...(mine ? { [byController]: 'yes' } : {}) }),
    ];
    if (mine) operations.push({ op: 'add', path: '/spec/volumeName', value: name });
    return this.#api.patch(persistentVolumeClaims, claim, operations, { exact: true });
  }

  async #setPhase(claim: PersistentVolumeClaim, phase: string): Promise<void> {
    if (claim.status?.phase === phase) return;
    await this.#api.status(persistentVolumeClaims, claim, { fields: { phase }, conditions: [] });
  }

  /** Answers when to look again. */
  async #provision(key: string, claim: PersistentVolumeClaim): Promise<number | undefined> {
    const storageClass = this.#classOf(claim);
    if (storageClass === undefined || !this.#provisioners.has(storageClass.provisioner)) return undefined;
    const waits = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
    if (waits && claim.metadata.annotations?.[selectedNodeAnnotation] === undefined) return undefined;
    const now = this.#host.clock.monotonic();
    const dueAt = this.#making.get(key) ?? now + this.#host.timings.provisionMs;
    this.#making.set(key, dueAt);
    if (dueAt > now) return dueAt - now;
    const name = `pvc-${claim.metadata.uid ?? ''}`;
    await this.#api.create<PersistentVolume>(persistentVolumes, {
      metadata: { name, annotations: { [provisionedBy]: storageClass.provisioner } },
      spec: {
        capacity: { storage: claim.spec?.resources?.requests?.storage ?? '1Gi' },
        accessModes: claim.spec?.accessModes ?? ['ReadWriteOnce'],
        storageClassName: storageClass.metadata.name,
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
        csi: { driver: storageClass.provisioner, volumeHandle: name },
        claimRef: claimReference(claim),
      },
    });
    this.#making.delete(key);
    return undefined;
  }

  async #syncVolume(key: string): Promise<undefined> {
    const volume = this.#volumes.get(key);
    if (volume === undefined) return;
    const { claimRef, persistentVolumeReclaimPolicy } = volume.spec;
    if (claimRef?.uid === undefined || claimRef.uid === '') {
      await this.#setVolumePhase(volume, 'Available');
      return;
    }
    const claimKey = `${claimRef.namespace}/${claimRef.name}`;
    if (this.#claims.get(claimKey)?.metadata.uid === claimRef.uid) {
      if (this.#claims.get(claimKey)?.spec?.volumeName === key) await this.#setVolumePhase(volume, 'Bound');
      return;
    }
    // Only the server's word counts here: a claim that was just made may not have been seen yet.
    const live = await this.#api.get<PersistentVolumeClaim>(persistentVolumeClaims, claimKey);
    if (live?.metadata.uid === claimRef.uid) return;
    await this.#setVolumePhase(volume, 'Released');
    const ours = this.#provisioners.has(volume.metadata.annotations?.[provisionedBy] ?? '');
    if (ours && persistentVolumeReclaimPolicy === 'Delete' && !isTerminating(volume)) {
      await this.#api.delete(persistentVolumes, volume);
    }
  }

  async #setVolumePhase(volume: PersistentVolume, phase: string): Promise<void> {
    if (volume.status?.phase === phase) return;
    await this.#api.status(persistentVolumes, volume, { fields: { phase }, conditions: [] });
  }
}

function annotate(
  object: PersistentVolume | PersistentVolumeClaim,
  annotations: Record<string, string>,
): JsonPatchOperation {
  return { op: 'add', path: '/metadata/annotations', value: { ...object.metadata.annotations, ...annotations } };
}
