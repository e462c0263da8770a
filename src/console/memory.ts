/**
 * What the console has seen and nobody has put on record: holds that are over, pods that are gone, where their successors began. It
 * ends with the process; what an incident was about is on record, and can be shown without.
 */
import type { StoredFence } from '../cli/node-fence.ts';
import type { SeenHold, Workload } from '../report/timeline.ts';
import type { SeenPod } from './seen.ts';
import { isMovable } from './seen.ts';

interface Remembered {
  silentSince?: string;
  /** When its trouble went away the last time. */
  clearedAt?: string;
  holds: SeenHold[];
  /** By pod: where it runs since, as it was first found. */
  runs: Map<string, NonNullable<Workload['runs']>>;
}

const maxIncidents = 500;
const maxDeparted = 5000;
const maxHolds = 32;

export class Memory {
  readonly #nowMs: () => number;
  readonly #incidents = new Map<string, Remembered>();
  /** Pods that are gone, by key: the last of each name. */
  readonly #departed = new Map<string, SeenPod>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  noteRecord({ status }: StoredFence): void {
    const { incident, hold } = status ?? {};
    if (incident === undefined) return;
    const known = this.of(incident.id);
    if (incident.silence !== undefined) known.silentSince ??= incident.silence.since;
    if (incident.clearedAt !== undefined) known.clearedAt = incident.clearedAt;
    else delete known.clearedAt;
    const last = known.holds.at(-1);
    const isSame = hold !== undefined && last?.reason === hold.reason && last.since === hold.since;
    if (isSame) return;
    if (last !== undefined) last.endedAt ??= new Date(this.#nowMs()).toISOString();
    if (hold === undefined) return;
    known.holds.push({ reason: hold.reason, message: hold.message, since: hold.since });
    if (known.holds.length > maxHolds) known.holds.shift();
  }

  podGone(pod: SeenPod): void {
    this.#departed.set(pod.key, pod);
    for (const key of this.#departed.keys()) {
      if (this.#departed.size <= maxDeparted) break;
      this.#departed.delete(key);
    }
  }

  of(incident: string): Remembered {
    const known = this.#incidents.get(incident);
    if (known !== undefined) return known;
    const made: Remembered = { holds: [], runs: new Map() };
    this.#incidents.set(incident, made);
    for (const id of this.#incidents.keys()) {
      if (this.#incidents.size <= maxIncidents) break;
      this.#incidents.delete(id);
    }
    return made;
  }

  /** What was let go, with where it runs now; and what is still on the node. */
  workloads(node: string, incident: string, released: readonly Workload[], pods: readonly SeenPod[]): Workload[] {
    const known = this.of(incident);
    const gone = new Set(released.map(({ pod }) => pod));
    const left = pods
      .filter((pod) => pod.node === node && isMovable(pod) && !gone.has(pod.key) && !pod.ready)
      .map(({ key }) => ({ pod: key }));
    const moved = released.flatMap((one): Workload[] => {
      const runs = known.runs.get(one.pod) ?? successorOf(node, one, pods);
      if (runs !== undefined) known.runs.set(one.pod, runs);
      const pod = this.#departed.get(one.pod);
      // What belongs to its node runs nowhere else, and nobody waits for it.
      if (runs === undefined && (pod === undefined || !isMovable(pod))) return [];
      return [{ ...one, ...(runs === undefined ? {} : { runs }) }];
    });
    return [...moved, ...left];
  }
}

/** Of the same name, or of the same owner. */
function successorOf(node: string, { pod, goneAt = '' }: Workload, pods: readonly SeenPod[]): Workload['runs'] {
  const set = pod.replace(/-[^-]*$/, '');
  const found = pods.find(
    (one) =>
      one.ready &&
      one.node !== node &&
      Date.parse(one.readySince ?? '') >= Date.parse(goneAt) &&
      (one.key === pod || (one.owner?.kind === 'ReplicaSet' && `${one.namespace}/${one.owner.name}` === set)),
  );
  return found?.readySince === undefined ? undefined : { node: found.node, since: found.readySince };
}
