/** Keeps the books of a run: what is stored, what happened, what was broken. Reads only what the server itself tells. */
import type { KubeObject } from '../kube/client.ts';
import type { AuditRecord } from '../world/api-server/server.ts';
import type { MachineEvent } from '../world/machines/machine.ts';
import { keyOf } from '../world/objects/meta.ts';
import type { Lease } from '../world/objects/nodes.ts';
import type { Pod } from '../world/objects/pods.ts';
import type { World } from '../world/world.ts';
import type { Baseline } from './baseline.ts';
import type { Exemption, Write, Pulse } from './checkers/checker.ts';
import { Records } from './checkers/records.ts';
import type { StoredChange } from './cluster-state.ts';
import { ClusterState } from './cluster-state.ts';
import { FenceCount } from './fence-count.ts';
import { isOperator } from './operator-user.ts';
import type { Exempted, Violation } from './report.ts';
import { Workloads } from './settle.ts';
import type { TimelineEntry } from './timeline.ts';
import { describeChange, objectName } from './timeline.ts';

export interface Followers {
  onWrite: (write: Write) => void;
  onStored: (change: StoredChange, user: string) => void;
  onRenewed: (node: string) => void;
}

export class Recorder {
  readonly state = new ClusterState();
  readonly records = new Records(this.state);
  readonly fences = new FenceCount();
  readonly timeline: TimelineEntry[] = [];
  readonly violations: Violation[] = [];
  readonly exemptions: Exempted[] = [];
  readonly #workloads = new Workloads();
  readonly #renewals = new Map<string, { atMs: number; sinceMs: number; silentAfterMs: number }>();
  readonly #now: () => number;
  readonly #monotonic: () => number;
  #baseline: Baseline | undefined;
  #touched = true;
  #finished = false;

  /** `now` counts from time 0, which comes later; `monotonic` from the start. */
  constructor(now: () => number, monotonic: () => number) {
    this.#now = now;
    this.#monotonic = monotonic;
  }

  follow(world: World, { onWrite, onStored, onRenewed }: Followers): void {
    world.server.onChange(({ type, version, previous }, user) => {
      const change = told({ type, object: version.object, previous: previous?.object } as unknown as StoredChange);
      // Heartbeats, which are nearly all that happens.
      if (change.object.kind === 'Lease') {
        this.#renewed(change);
        if (change.object.metadata.namespace === 'kube-node-lease') onRenewed(change.object.metadata.name);
        return;
      }
      onStored(change, user ?? 'api');
      this.records.stored(change, user ?? 'api');
      this.#take(change, user ?? 'api');
    });
    world.server.onAudit((record) => {
      // Who only asks whether it might has decided nothing, and done nothing.
      if (isOperator(record.user) && !record.isDryRun) onWrite(writeOf(record));
    });
    for (const machine of world.fleet.machines) {
      machine.on((event, { name }) => this.#onMachine(event, name));
    }
  }

  /** Time 0: the history begins. */
  begin(baseline: Baseline): void {
    this.#baseline = baseline;
    this.#touched = true;
  }

  /** The history ends: what is taken down afterwards is no part of it. */
  finish(): void {
    this.#finished = true;
  }

  note(actor: string, what: string, object: string): void {
    if (this.#baseline !== undefined && !this.#finished)
      this.timeline.push({ at: Math.floor(this.#now()), actor, what, object });
  }

  violated(invariant: string, detail: string): void {
    if (!this.#finished) this.violations.push({ invariant, at: Math.floor(this.#now()), detail });
  }

  exempted(invariant: string, exemption: Exemption, detail: string): void {
    if (!this.#finished) this.exemptions.push({ invariant, exemption, at: Math.floor(this.#now()), detail });
  }

  /** How long no renewal of the Lease of a node has arrived, and from when on that means something. */
  pulseOf(node: string): Pulse | undefined {
    const last = this.#renewals.get(node);
    if (last === undefined) return undefined;
    const { atMs, sinceMs, silentAfterMs } = last;
    const nowMs = this.#monotonic();
    return { silentForMs: nowMs - atMs, renewingForMs: nowMs - sinceMs, silentAfterMs };
  }

  /** Something may look different now. */
  touched(): void {
    this.#touched = true;
  }

  takeTouched(): boolean {
    const touched = this.#touched;
    this.#touched = false;
    return touched;
  }

  unsettled(nodeCount: number): string[] {
    return this.#workloads.unsettled(this.state, nodeCount);
  }

  #renewed({ object, previous }: StoredChange): void {
    const { metadata, spec } = object as Lease;
    const before: Lease | undefined = previous;
    const isRenewal = spec?.renewTime !== before?.spec?.renewTime;
    if (metadata.namespace !== 'kube-node-lease' || !isRenewal) return;
    // A kubelet renews every quarter of the duration; a fifth more than that is silence.
    const silentAfterMs = ((spec?.leaseDurationSeconds ?? 40) * 1000 * 1.2) / 4;
    const atMs = this.#monotonic();
    const last = this.#renewals.get(metadata.name);
    // Renewals that come after a silence are the first of a new life.
    const sinceMs = last === undefined || atMs - last.atMs >= silentAfterMs ? atMs : last.sinceMs;
    this.#renewals.set(metadata.name, { atMs, sinceMs, silentAfterMs });
  }

  #take(change: StoredChange, user: string): void {
    const { kind = '' } = change.object;
    this.state.apply(change);
    this.#workloads.take(change);
    if (kind === 'NodeFence') this.fences.take(change);
    if (kind === 'Pod') this.#baseline?.note(keyOf(change.object), change.object as Pod);
    const news = this.#baseline === undefined ? [] : describeChange(change);
    for (const what of news) this.note(actorOf(user), what, objectName(change.object));
    if (kind !== 'Node' || news.length > 0) this.#touched = true;
  }

  #onMachine(event: MachineEvent, name: string): void {
    switch (event.type) {
      case 'processStarted':
      case 'processStopped':
        break;
      default:
        this.#touched = true;
        this.note(name, event.type, `machine/${name}`);
    }
  }
}

/** Longhorn calls its own idea of a node Node as well: whoever hears of one has to know which of the two. */
function told(change: StoredChange): StoredChange {
  const { object, previous } = change;
  if (object.kind !== 'Node' || !isLonghorn(object.apiVersion)) return change;
  const named = (one: KubeObject): KubeObject => ({ ...one, kind: 'StorageNode' });
  return { ...change, object: named(object), previous: previous === undefined ? undefined : named(previous) };
}

function isLonghorn(apiVersion = ''): boolean {
  return apiVersion.startsWith('longhorn.io/');
}

function writeOf(record: AuditRecord): Write {
  const { user, verb, group, subresource, namespace, name, contentType, code } = record;
  const resource = group === 'longhorn.io' ? `${record.resource}.${group}` : record.resource;
  return {
    user,
    verb: verb as Write['verb'],
    resource,
    subresource,
    namespace,
    name,
    contentType,
    // Few checkers look inside, and most writes are renewals of a lock.
    get body() {
      return bodyOf(record.body);
    },
    status: code,
    before: record.before as KubeObject | undefined,
    after: record.after as KubeObject | undefined,
  };
}

function bodyOf(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Users as people call them. */
function actorOf(user: string): string {
  return user.slice(user.lastIndexOf(':') + 1);
}
