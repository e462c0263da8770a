/**
 * What is really on the disks: which copies of a volume there are, and what each of them holds. Writing is modelled as a
 * log with a checksum over all of it; a write that the volume has confirmed is in every copy that was in use then. A copy
 * that fell out of use is behind from the next write on.
 *
 * Everything that is said of volumes to whoever judges a run comes from here, never from the API.
 */
import type { Clock } from '../../clock.ts';

export interface Content {
  records: number;
  checksum: number;
}

export interface TrueReplica {
  name: string;
  volume: string;
  node: string;
  /** `building`: a copy is being made of it for the first time; `repairing`: again, over what was there. */
  state: 'healthy' | 'building' | 'repairing' | 'failed';
  running: boolean;
  content: Content;
  healthyAtMs?: number;
  failedAtMs?: number;
  cancelRebuild?: () => void;
}

export interface TrueVolume {
  name: string;
  sizeBytes: number;
  wanted: number;
  /** Where its workload is; absent: it has none. */
  attachedTo?: string;
  /** Kubernetes says where it is attached; else its workload goes where it can. */
  isFollowed?: boolean;
  /** Where the engine runs through which it is written; absent: it is not in use. */
  engineOn?: string;
  /** What was confirmed to whoever wrote it. */
  confirmed: Content;
  writtenAtMs: number;
  replicas: Map<string, TrueReplica>;
}

export type Robustness = 'healthy' | 'degraded' | 'faulted';

export interface StorageReport {
  volume: string;
  robustness: Robustness;
  /** Nodes with a copy, also a failed one, but for those that were never whole; sorted. */
  replicasOn: string[];
  healthyOn: string[];
  attached: boolean;
  /** Some healthy copy holds all that was confirmed. */
  dataIntact: boolean;
}

export class Truth {
  readonly volumes = new Map<string, TrueVolume>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addVolume(volume: Pick<TrueVolume, 'name' | 'sizeBytes' | 'wanted'> & { attachedTo?: string }): TrueVolume {
    const made: TrueVolume = {
      ...volume,
      confirmed: { records: 0, checksum: 1 },
      writtenAtMs: this.#clock.monotonic(),
      replicas: new Map(),
    };
    this.volumes.set(volume.name, made);
    return made;
  }

  addReplica(volume: TrueVolume, name: string, node: string, isWhole: boolean): TrueReplica {
    const replica: TrueReplica = {
      name,
      volume: volume.name,
      node,
      state: isWhole ? 'healthy' : 'building',
      running: false,
      content: isWhole ? { ...volume.confirmed } : { records: 0, checksum: 1 },
      ...(isWhole ? { healthyAtMs: this.#clock.now() } : {}),
    };
    volume.replicas.set(name, replica);
    return replica;
  }

  /** Whatever was written since it was last looked at, to every copy in use; before any of them changes. */
  touch(volume: TrueVolume): void {
    const now = this.#clock.monotonic();
    const inUse = [...volume.replicas.values()].filter(({ state, running }) => state === 'healthy' && running);
    if (volume.engineOn === undefined || volume.engineOn !== volume.attachedTo || inUse.length === 0) return;
    if (now <= volume.writtenAtMs) return;
    volume.writtenAtMs = now;
    const { records, checksum } = volume.confirmed;
    volume.confirmed = { records: records + 1, checksum: mixed(checksum, Math.floor(now)) };
    for (const replica of inUse) {
      if (replica.content.checksum === checksum) replica.content = { ...volume.confirmed };
      else replica.content = { records: replica.content.records + 1, checksum: mixed(replica.content.checksum, now) };
    }
  }

  /** Its process is gone, or does not answer: the volume goes on without it. */
  fail(replica: TrueReplica): void {
    const volume = this.volumes.get(replica.volume);
    if (volume !== undefined) this.touch(volume);
    replica.cancelRebuild?.();
    delete replica.cancelRebuild;
    replica.running = false;
    replica.state = 'failed';
    replica.failedAtMs = this.#clock.now();
  }

  /** A copy has become whole, of what the volume holds now. */
  complete(volume: TrueVolume, replica: TrueReplica): void {
    this.touch(volume);
    delete replica.cancelRebuild;
    const source = [...volume.replicas.values()].find(({ state }) => state === 'healthy');
    replica.content = { ...(source?.content ?? replica.content) };
    this.heal(replica);
  }

  /** What it holds is taken for good. */
  heal(replica: TrueReplica): void {
    replica.state = 'healthy';
    replica.healthyAtMs = this.#clock.now();
    delete replica.failedAtMs;
  }

  remove(replica: TrueReplica): void {
    const volume = this.volumes.get(replica.volume);
    if (volume === undefined) return;
    this.touch(volume);
    replica.cancelRebuild?.();
    volume.replicas.delete(replica.name);
  }

  report(name: string): StorageReport | undefined {
    const volume = this.volumes.get(name);
    if (volume === undefined) return undefined;
    this.touch(volume);
    const all = [...volume.replicas.values()];
    const whole = all.filter(({ state }) => state === 'healthy');
    const nodesOf = (some: TrueReplica[]): string[] => [...new Set(some.map(({ node }) => node))].sort();
    return {
      volume: name,
      robustness: robustnessOf(volume),
      replicasOn: nodesOf(all.filter(({ state }) => state !== 'building')),
      healthyOn: nodesOf(whole),
      attached: volume.engineOn !== undefined,
      dataIntact: whole.some(({ content }) => content.checksum === volume.confirmed.checksum),
    };
  }
}

/** By its copies alone, also while nobody uses it. */
export function robustnessOf({ replicas, wanted }: TrueVolume): Robustness {
  const whole = [...replicas.values()].filter(({ state }) => state === 'healthy').length;
  if (whole === 0) return 'faulted';
  return whole < wanted ? 'degraded' : 'healthy';
}

function mixed(checksum: number, value: number): number {
  return (Math.imul(checksum ^ Math.floor(value), 0x01000193) ^ (checksum >>> 13)) >>> 0;
}
