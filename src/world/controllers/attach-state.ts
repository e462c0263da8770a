/** What attach-detach believes of one volume, and which volumes the pods of a cluster want where. */
import { isTerminating } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { claimsOf } from '../objects/pods.ts';
import type { CsiDriver, PersistentVolume, PersistentVolumeClaim } from '../objects/volumes.ts';
import { attachNameOf } from '../objects/volumes.ts';
import type { Index, Informer, Informers } from './informer.ts';
import { csiDrivers, persistentVolumeClaims, persistentVolumes } from './resources.ts';

export interface Attachment {
  /** False: an attach or detach has failed, and nobody knows how far it got. */
  confirmed: boolean;
  /** Stands in the Node's volumesAttached. */
  reported: boolean;
  detachRequestedAt: number | undefined;
}

export interface Operation {
  kind: 'attach' | 'detach';
  since: number;
}

/** One volume, under the name that nodes know it by. */
export class VolumeState {
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly attachments = new Map<string, Attachment>();
  /** UIDs of the pods that want it, by node. */
  readonly wanted = new Map<string, Set<string>>();
  /** Under way, by node. A volume for one node at a time has at most one. */
  readonly operations = new Map<string, Operation>();
  /** Of the same kind, one after the other. */
  #failed: { kind: Operation['kind']; count: number; retryAt: number } | undefined;

  constructor(name: string) {
    this.name = name;
    const [driver = '', handle = ''] = name.slice('kubernetes.io/csi/'.length).split('^', 2);
    this.driver = driver;
    this.handle = handle;
  }

  get idle(): boolean {
    return this.attachments.size + this.wanted.size + this.operations.size === 0;
  }

  /** Pauses grow as with the stock operations: half a second, doubled up to two minutes. */
  fail(kind: Operation['kind'], nowMs: number): void {
    const count = this.#failed?.kind === kind ? this.#failed.count : 0;
    this.#failed = { kind, count: count + 1, retryAt: nowMs + Math.min(122_000, 500 * 2 ** Math.min(count, 10)) };
  }

  succeed(): void {
    this.#failed = undefined;
  }

  /** Only the kind that failed has to wait, not the other one. */
  pauseMs(kind: Operation['kind'], nowMs: number): number {
    return this.#failed?.kind === kind ? Math.max(0, this.#failed.retryAt - nowMs) : 0;
  }

  /** Until the first of its operations has waited long enough. */
  untilTimeoutMs(nowMs: number, timeoutMs: number): number {
    return Math.min(Infinity, ...[...this.operations.values()].map(({ since }) => since + timeoutMs - nowMs));
  }

  hasTimedOut(nodeName: string, nowMs: number, timeoutMs: number): boolean {
    const { since } = this.operations.get(nodeName) ?? {};
    return since !== undefined && nowMs - since >= timeoutMs;
  }
}

export class VolumeLookup {
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #drivers: Informer<CsiDriver>;
  readonly #volumesByName: Index<PersistentVolume>;

  constructor(informers: Informers) {
    this.#claims = informers.of(persistentVolumeClaims);
    this.#volumes = informers.of(persistentVolumes);
    this.#drivers = informers.of(csiDrivers);
    this.#volumesByName = this.#volumes.indexBy(({ spec: { csi } }) =>
      csi === undefined ? [] : [attachNameOf(csi.driver, csi.volumeHandle)],
    );
  }

  /** The attachable volumes behind the bound claims of a pod. */
  volumesOf(pod: Pod): string[] {
    return claimsOf(pod).flatMap((name) => {
      const claim = this.#claims.get(`${pod.metadata.namespace ?? ''}/${name}`);
      if (claim?.status?.phase !== 'Bound') return [];
      const volume = this.#volumes.get(claim.spec?.volumeName ?? '');
      if (volume?.spec.csi === undefined || volume.spec.claimRef?.uid !== claim.metadata.uid) return [];
      const { driver, volumeHandle } = volume.spec.csi;
      // Without a CSIDriver object a driver needs attaching.
      if (this.#drivers.get(driver)?.spec.attachRequired === false) return [];
      return [attachNameOf(driver, volumeHandle)];
    });
  }

  persistentVolumeOf(name: string): PersistentVolume | undefined {
    return this.#volumesByName.of(name).values().next().value;
  }

  /** For one node at a time. Of a volume that nobody knows, several nodes are allowed and the storage has to refuse. */
  isExclusive(name: string): boolean {
    const modes = this.persistentVolumeOf(name)?.spec.accessModes ?? [];
    return modes.length > 0 && !modes.includes('ReadWriteMany') && !modes.includes('ReadOnlyMany');
  }

  /** Claims of pods may become usable when one of these changes. */
  onChange(podsOfClaim: (claim: string) => Iterable<Pod>, look: (pod: Pod) => void): void {
    this.#claims.on(({ key, object, previous }) => {
      if (object === undefined || object.status?.phase === previous?.status?.phase) return;
      for (const pod of podsOfClaim(key)) look(pod);
    });
    this.#volumes.on(({ object, previous }) => {
      const claim = object?.spec.claimRef;
      if (claim?.uid === undefined || claim.uid === previous?.spec.claimRef?.uid) return;
      for (const pod of podsOfClaim(`${claim.namespace}/${claim.name}`)) look(pod);
    });
  }
}

/** A pod that needs its volumes no longer: finished, or deleted with nothing of it running as far as the API knows. */
export function needsNoVolumes(pod: Pod): boolean {
  if (isFinished(pod)) return true;
  if (!isTerminating(pod)) return false;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses].every(
    ({ state }) => state.terminated !== undefined || state.waiting !== undefined,
  );
}
