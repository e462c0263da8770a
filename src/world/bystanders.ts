/**
 * Nodes that are only there: they are Ready and renew their Leases, nothing runs on them and nothing befalls them. Of a large
 * cluster they are the part that has to be counted and need not be played.
 */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { leases, nodes } from '../kube/resources.ts';
import { nodeInfo, renewedLease } from './kubelet/node-status.ts';
import { uuid } from './machines/machine.ts';
import type { Lease, Node } from './objects/nodes.ts';
import { apiTime } from './objects/times.ts';

export interface BystanderGroup {
  zone: string;
  count: number;
}

export interface BystanderOptions {
  clock: Clock;
  client: KubeClient;
  random: () => number;
  groups: readonly BystanderGroup[];
  leaseDurationSeconds: number;
  /** Renews at once, where nothing is in the way; false: it has to be asked for. Ninety of a hundred writes of a large cluster are these. */
  amend?: (name: string, change: (live: Lease) => Lease) => boolean;
}

/** Nothing is placed on them. */
const taint = { key: 'simulation.fenceline.dev/only-counts', effect: 'NoSchedule' };
/** They renew in so many batches between two renewals of one, as a fleet does that was not started at once. */
const batches = 40;
/** So many renewals after one that was missed it looks whether somebody has called it unknown meanwhile, as kubelets do all the time. */
const looksAfterMiss = 5;

const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'only counts' };

export class Bystanders {
  readonly #options: BystanderOptions;
  readonly #leases = new Map<string, Lease>();
  /** By node: how often it still looks at its status. */
  readonly #looks = new Map<string, number>();
  #cancel: () => void = () => {};

  constructor(options: BystanderOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#options.groups.reduce((sum, { count }) => sum + count, 0);
  }

  /** Resolves when all have registered themselves; from then on they renew. */
  async start(): Promise<void> {
    for (const [group, { zone, count }] of this.#options.groups.entries()) {
      for (let index = 1; index <= count; index += 1) await this.#register(`bystander-${group + 1}-${index}`, zone);
    }
    this.#next([...this.#leases.keys()], 0);
  }

  stop(): void {
    this.#cancel();
  }

  async #register(name: string, zone: string): Promise<void> {
    const { client, clock, random } = this.#options;
    const node = await client.create<Node>(nodes, nodeOf(name, zone, { bootId: uuid(random), nowMs: clock.now() }));
    if (!node.ok) throw new Error(node.error.message);
    const lease = await client.create<Lease>(leases, this.#renewed(name, node.value));
    if (!lease.ok) throw new Error(lease.error.message);
    this.#leases.set(name, lease.value);
  }

  #next(names: readonly string[], batch: number): void {
    const { clock, leaseDurationSeconds } = this.#options;
    // As kubelets do: every quarter of its duration.
    this.#cancel = clock.after((leaseDurationSeconds * 250) / batches, () => {
      for (let at = batch; at < names.length; at += batches) this.#renewOne(names[at] ?? '');
      this.#next(names, (batch + 1) % batches);
    });
  }

  #renewOne(name: string): void {
    const isDone = this.#options.amend?.(name, (live) => this.#renewed(name, undefined, live)) ?? false;
    if (!isDone) void this.#renew(name);
    else if (this.#looks.size > 0) void this.#look(name);
  }

  /** Where the API server does not answer, the next time has to do. */
  async #renew(name: string): Promise<void> {
    const lease = this.#leases.get(name);
    if (lease === undefined) return;
    const ref = { resource: leases, namespace: 'kube-node-lease', name };
    const written = await this.#options.client.replace<Lease>(ref, this.#renewed(name, undefined, lease));
    if (written.ok) {
      this.#leases.set(name, written.value);
      await this.#look(name);
      return;
    }
    this.#looks.set(name, looksAfterMiss);
    if (written.error.kind === 'conflict') {
      const read = await this.#options.client.get<Lease>(ref);
      if (read.ok) this.#leases.set(name, read.value);
    }
  }

  /** Nobody but itself says that it is Ready again. */
  async #look(name: string): Promise<void> {
    const left = this.#looks.get(name) ?? 0;
    if (left === 0) return;
    if (left === 1) this.#looks.delete(name);
    else this.#looks.set(name, left - 1);
    const { client, clock } = this.#options;
    const ref = { resource: nodes, name };
    const read = await client.get<Node>(ref);
    const conditions = read.ok ? (read.value.status?.conditions ?? []) : [];
    const at = conditions.findIndex(({ type, status }) => type === 'Ready' && status !== 'True');
    if (!read.ok || at < 0) return;
    const { uid = '', resourceVersion = '' } = read.value.metadata;
    const time = apiTime(clock.now());
    const value = { ...ready, lastHeartbeatTime: time, lastTransitionTime: time };
    const patch = { op: 'replace' as const, path: `/status/conditions/${at}`, value };
    const written = await client.patch<Node>(ref, { uid, resourceVersion }, [patch], { subresource: 'status' });
    // Somebody else wrote first: it looks again with its next renewal.
    if (!written.ok) this.#looks.set(name, left);
  }

  #renewed(name: string, node: Node | undefined, previous?: Lease): Lease {
    const { clock, leaseDurationSeconds: durationSeconds } = this.#options;
    return renewedLease(name, { nowMs: clock.now(), durationSeconds }, node, previous);
  }
}

function nodeOf(name: string, zone: string, { bootId, nowMs }: { bootId: string; nowMs: number }): Node {
  const time = apiTime(nowMs);
  return {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, ...(zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }) },
    },
    spec: { taints: [taint] },
    status: {
      conditions: [{ ...ready, lastHeartbeatTime: time, lastTransitionTime: time }],
      nodeInfo: nodeInfo({}, { serial: name, bootId }),
    },
  };
}
