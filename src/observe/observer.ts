/**
 * Watches Nodes and their Leases, and says what is known of one node. It knows no rules and writes nothing. Pods are
 * never watched: what a healthy node runs is nobody's business here, and costs gigabytes.
 */
import { hash } from '../api/hash.ts';
import type { Pulse } from '../api/life.ts';
import { silentAfterMs } from '../api/life.ts';
import type { LeaseSign } from '../api/release-view.ts';
import type { LeaseFacts, NodeFacts, NodeView } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { leases, nodeLeaseNamespace, nodes } from '../kube/resources.ts';
import type { Change } from '../kube/view.ts';
import type { SeenLease } from './project.ts';
import { projectLease, projectNode } from './project.ts';
import { Sharing } from './sharing.ts';
import type { WatchState } from './watch-state.ts';
import { stateOf } from './watch-state.ts';

const liveReadTimeoutMs = 5000;
const leftAtMost = 1000;

export interface ObserverOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  /** Something about this node changed. */
  onNode: (name: string, what: NodeChange) => void;
  onProblem: (watch: WatchName, error: KubeError) => void;
}

/**
 * `renewal`: its Lease goes on as it was known, and lasts as long. What else happens to one is `lease`: there is one now (a node
 * is Ready before it has one), there is none any more, or its silence begins to mean something at another time. Whoever has set
 * a timer by it has to look again.
 */
export type NodeChange = 'node' | 'lease' | 'renewal';

export type WatchName = 'nodes' | 'leases';

/** When this version of a Lease was first seen, and whether a live read found it still there later. */
interface Sighting {
  lease: SeenLease;
  seenAtMs: number;
  confirmed: boolean;
  /** It was seen to change; the first sight of a Lease says nothing about when it was renewed. */
  renewed: boolean;
  /** When it was last seen renewed after it had been silent. */
  backAtMs?: number;
  /** When it was renewed, at the latest: a watch may be behind, or have lost it. */
  madeAtMs: number;
  /** And at the earliest: what happened before was in the view already. */
  notBeforeMs: number;
  /** Of one that was found silent: from when on it could have been heard of. Absent: all the time. */
  hearableSinceMs?: number;
  /** There is none any more. A kubelet that lives makes it again with its next renewal, or is heard of by its Node. */
  isGone?: true;
}

interface Same {
  boots: Sharing;
  machines: Sharing;
}

export class Observer {
  readonly #options: ObserverOptions;
  readonly #nodes: ListWatch<NodeFacts>;
  readonly #leases: ListWatch<SeenLease>;
  readonly #sightings = new Map<string, Sighting>();
  /** Since when each node that is not Ready has been seen to be so. */
  readonly #notReadySince = new Map<string, number>();
  /** When a kubelet was last seen to write the status of its node. */
  readonly #reportedAt = new Map<string, number>();
  /** Of names without a Node: when their kubelet was last heard of. To delete a Node says nothing of its machine. */
  readonly #leftAt = new Map<string, number>();
  /** Who has which address: made when it is asked for, which anybody who can send a datagram may do as often as they like. */
  #addresses: Map<string, string[]> | undefined;
  /** Who says the same of itself; undefined: somebody says something else since, or was not there. */
  #known: Same | undefined;
  readonly #firstSync = Promise.withResolvers<void>();

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { client, clock, random } = options;
    this.#nodes = new ListWatch({
      client,
      clock,
      random,
      resource: nodes,
      project: projectNode,
      onChange: (change) => this.#noteNode(change),
      onSync: () => this.#noteSync(),
      onProblem: (error) => options.onProblem('nodes', error),
      // A Node is some 12 kB of JSON: smaller pages keep a cold start from holding megabytes of it.
      timings: { pageSize: 100 },
    });
    this.#leases = new ListWatch({
      client,
      clock,
      random,
      resource: leases,
      namespace: nodeLeaseNamespace,
      project: projectLease,
      onChange: (change) => this.#sight(change),
      onSync: () => this.#noteSync(),
      onProblem: (error) => options.onProblem('leases', error),
    });
  }

  /** Ends with `signal`; rejects only when something is broken beyond repair. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#nodes.run(signal), this.#leases.run(signal)]);
  }

  get synced(): boolean {
    return this.#nodes.synced && this.#leases.synced;
  }

  /** Both collections have been seen once. */
  get firstSync(): Promise<void> {
    return this.#firstSync.promise;
  }

  get nodeNames(): Iterable<string> {
    return this.#nodes.entries.keys();
  }

  get nodeCount(): number {
    return this.#nodes.entries.size;
  }

  get watches(): WatchState<WatchName>[] {
    return [stateOf('nodes', this.#nodes), stateOf('leases', this.#leases)];
  }

  view(name: string): NodeView {
    const view: NodeView = {
      name,
      ageMs: Math.max(this.#nodes.ageMs, this.#leases.ageMs),
      silentMs: Math.max(this.#nodes.silentMs, this.#leases.silentMs),
    };
    const node = this.#nodes.entries.get(name)?.value;
    if (node !== undefined) view.node = node;
    const lease = this.#lease(name);
    if (lease !== undefined) view.lease = lease;
    return view;
  }

  nodeOf(name: string): NodeFacts | undefined {
    return this.#nodes.entries.get(name)?.value;
  }

  /** The nodes that have this address. */
  nodesAt(address: string): readonly string[] {
    this.#addresses ??= byAddress(this.#nodes.entries.values());
    return this.#addresses.get(address) ?? [];
  }

  /** Whether another node reports the same boot. */
  sharesBoot({ name, bootId }: { name: string; bootId: string }): boolean {
    return bootId !== '' && this.#same.boots.otherThan(name, bootId) !== undefined;
  }

  /** Another node that says that it is this machine. */
  rival(name: string, key: string): string | undefined {
    return this.#same.machines.otherThan(name, hash(key));
  }

  /** What the Lease of a node says about whether its kubelet lives. */
  leaseSign(name: string): LeaseSign | undefined {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) return undefined;
    const { seenAtMs, renewed, backAtMs } = sighting;
    const notReadySince = this.#notReadySince.get(name);
    return {
      ...this.#pulse(sighting),
      ...(backAtMs === undefined ? {} : { backForMs: this.#options.clock.monotonic() - backAtMs }),
      renewed,
      renewedSinceNotReady: renewed && notReadySince !== undefined && seenAtMs > notReadySince,
    };
  }

  /** How long ago the Lease of a node was renewed, at least; undefined: nobody has seen it renewed. */
  renewedForMs(name: string): number | undefined {
    const { renewed = false, madeAtMs = 0 } = this.#sightings.get(name) ?? {};
    return renewed ? this.#options.clock.monotonic() - madeAtMs : undefined;
  }

  /**
   * How long ago it was renewed, at most, unless both the clock of its kubelet and the age of our view are wrong: a watch that was away
   * shows a renewal long after it was made. Undefined: nobody has seen it renewed.
   */
  provenForMs(name: string): number | undefined {
    const { renewed = false, madeAtMs = 0, notBeforeMs = 0 } = this.#sightings.get(name) ?? {};
    return renewed ? this.#options.clock.monotonic() - Math.max(madeAtMs, notBeforeMs) : undefined;
  }

  /** Who has no Node any more, or never had one, and was heard of within this time. */
  leftWithin(ms: number): readonly string[] {
    const sinceMs = this.#options.clock.monotonic() - ms;
    return [...this.#leftAt].flatMap(([name, atMs]) => (atMs >= sinceMs ? [name] : []));
  }

  /** Reads the Lease live and compares it with what the watch says. Answers whether the read succeeded. */
  async confirmLease(name: string): Promise<boolean> {
    const before = this.#sightings.get(name);
    const ref = { resource: leases, namespace: nodeLeaseNamespace, name };
    const read = await this.#options.client.get(ref, { timeoutMs: liveReadTimeoutMs });
    const sighting = this.#sightings.get(name);
    // The watch was faster: what it said meanwhile is newer than this read, or at least as new.
    if (sighting === undefined || sighting !== before) return true;
    if (!read.ok && read.error.kind !== 'notFound') {
      this.#options.onProblem('leases', read.error);
      return false;
    }
    const found = read.ok ? projectLease(read.value) : undefined;
    if (found !== undefined && found.renewTime !== sighting.lease.renewTime) this.#note(name, found);
    else if (found !== undefined || this.#lose(name)) this.#confirm(name);
    return true;
  }

  #noteSync(): void {
    if (this.synced) this.#firstSync.resolve();
  }

  #noteNode(change: Change<NodeFacts>): void {
    const { name, conditions, addresses } = change.entry.value;
    const isMoved = change.type !== 'updated' || change.previous.value.addresses.join() !== addresses.join();
    if (isMoved) this.#addresses = undefined;
    if (change.type !== 'updated' || !isSameMachine(change)) this.#known = undefined;
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    if (change.type === 'deleted' || isReady) this.#notReadySince.delete(name);
    else if (!this.#notReadySince.has(name)) this.#notReadySince.set(name, this.#options.clock.monotonic());
    if (change.type !== 'updated') this.#reportedAt.delete(name);
    else if (!isAsBefore(change)) this.#reportedAt.set(name, this.#options.clock.monotonic());
    this.#noteLeft(name, change.type === 'deleted' ? this.#sightings.get(name)?.seenAtMs : undefined);
    if (!isAsBefore(change) && this.#sightings.get(name)?.isGone === true) this.#sightings.delete(name);
    this.#options.onNode(name, 'node');
  }

  get #same(): Same {
    if (this.#known !== undefined) return this.#known;
    const same = { boots: new Sharing(), machines: new Sharing() };
    for (const { value } of this.#nodes.entries.values()) {
      same.boots.note(value.bootId, value.name);
      for (const machine of value.machine) same.machines.note(machine, value.name);
    }
    this.#known = same;
    return same;
  }

  /** Of the many that come and go the last are kept. Undefined: it has a Node, or was never heard of. */
  #noteLeft(name: string, atMs: number | undefined): void {
    this.#leftAt.delete(name);
    if (atMs === undefined) return;
    this.#leftAt.set(name, atMs);
    const [first = ''] = this.#leftAt.keys();
    if (this.#leftAt.size > leftAtMost) this.#leftAt.delete(first);
  }

  #lease(name: string): LeaseFacts | undefined {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined) return undefined;
    const reportedAtMs = this.#reportedAt.get(name);
    const reported = reportedAtMs !== undefined && { reportedForMs: this.#options.clock.monotonic() - reportedAtMs };
    return { ...this.#pulse(sighting), confirmed: sighting.confirmed, ...reported };
  }

  #confirm(name: string): void {
    const sighting = this.#sightings.get(name);
    if (sighting === undefined || sighting.confirmed) return;
    const { hearableForMs } = this.#pulse(sighting);
    sighting.confirmed = true;
    if (hearableForMs === undefined) delete sighting.hearableSinceMs;
    else sighting.hearableSinceMs = this.#options.clock.monotonic() - hearableForMs;
  }

  /**
   * A kubelet that could not renew because the API server was away tries again when its next renewal is due. So its silence counts
   * from when the server was back; that of one that was found silent before goes on (STM-2).
   */
  #pulse({ lease, seenAtMs, confirmed, isGone, hearableSinceMs = -Infinity }: Sighting): SeenLease & Pulse {
    const nowMs = this.#options.clock.monotonic();
    const unchangedForMs = nowMs - seenAtMs;
    const answeringMs = Math.min(this.#nodes.answeringMs, this.#leases.answeringMs);
    const hearableForMs = confirmed ? nowMs - hearableSinceMs : answeringMs;
    return {
      ...lease,
      unchangedForMs,
      ...(hearableForMs >= unchangedForMs ? {} : { hearableForMs }),
      ...(isGone === true ? { isGone } : {}),
    };
  }

  #sight(change: Change<SeenLease>): void {
    const { key, value } = change.entry;
    const name = key.slice(nodeLeaseNamespace.length + 1);
    const known = this.#sightings.get(name);
    if (change.type === 'deleted') this.#lose(name);
    else this.#note(name, value);
    const goesOn = change.type !== 'deleted' && isThere(known) && known.lease.durationMs === value.durationMs;
    this.#options.onNode(name, goesOn ? 'renewal' : 'lease');
  }

  /** What was known of it stays: since when its kubelet is silent is told by nothing else. Where there is no Node, nobody asks. */
  #lose(name: string): boolean {
    const known = this.#sightings.get(name);
    if (known === undefined) return false;
    if (this.#nodes.entries.has(name)) this.#sightings.set(name, { ...known, isGone: true });
    else this.#sightings.delete(name);
    return true;
  }

  /** Somebody may write to a Lease without renewing it; only a renewal is a sign of life. */
  #note(name: string, lease: SeenLease): void {
    const known = this.#sightings.get(name);
    const seenAtMs = this.#options.clock.monotonic();
    const madeAtMs = madeBy(known, lease, seenAtMs);
    const isBack = known !== undefined && seenAtMs - known.seenAtMs >= silentAfterMs(known.lease);
    const backAtMs = isBack ? seenAtMs : known?.backAtMs;
    const back = backAtMs === undefined ? {} : { backAtMs };
    const made = { madeAtMs, notBeforeMs: seenAtMs - this.#leases.ageMs };
    const first: Sighting = { lease, seenAtMs, ...made, confirmed: false, renewed: isThere(known), ...back };
    if (known?.lease.renewTime !== lease.renewTime) {
      this.#sightings.set(name, first);
      if (known !== undefined && !this.#nodes.entries.has(name)) this.#noteLeft(name, seenAtMs);
    } else {
      const { isGone: _, ...same } = known;
      this.#sightings.set(name, { ...same, lease, confirmed: false });
    }
  }
}

function isThere(sighting: Sighting | undefined): sighting is Sighting {
  return sighting !== undefined && sighting.isGone !== true;
}

/** The clock of a node is slower than ours by less than that, from renewal to renewal. */
const driftMs = 10;
/** One that is further behind was set back. */
const behindAtMostMs = 60_000;

/**
 * What is first seen now may have been written a while ago. How long a kubelet has waited from one renewal to the next is told by its
 * own clock, and no renewal was made later than it was seen: this one was made no later than so long after the one before.
 */
function madeBy(known: Sighting | undefined, { renewTime }: SeenLease, seenAtMs: number): number {
  if (!isThere(known)) return seenAtMs;
  const waitedMs = Date.parse(renewTime) - Date.parse(known.lease.renewTime);
  const dueMs = known.madeAtMs + waitedMs + driftMs;
  return waitedMs > 0 && dueMs < seenAtMs && dueMs >= seenAtMs - behindAtMostMs ? dueMs : seenAtMs;
}

/** It is the Node that it was, and nothing was heard of its kubelet by it either. */
function isAsBefore(change: Change<NodeFacts>): boolean {
  return change.type === 'updated' && change.previous.value.heartbeatTime === change.entry.value.heartbeatTime;
}

function isSameMachine({ previous, entry }: { previous: { value: NodeFacts }; entry: { value: NodeFacts } }): boolean {
  const [before, now] = [previous.value, entry.value];
  return before.bootId === now.bootId && before.machine.join() === now.machine.join();
}

function byAddress(entries: Iterable<{ value: NodeFacts }>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { value } of entries) {
    for (const address of new Set(value.addresses)) found.set(address, [...(found.get(address) ?? []), value.name]);
  }
  return found;
}
