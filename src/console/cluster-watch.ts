/**
 * What one person may see of a cluster, kept up to date: the same objects that `status` and `explain` read, by watches, with the
 * rights of whoever looks. What may not be read is said, and not shown as if it were not there.
 */
import { nodeFenceName } from '../api/fence-names.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import type { SeenPause } from '../api/seen-pause.ts';
import { knownFrom } from '../cli/known.ts';
import type { StoredFence } from '../cli/node-fence.ts';
import { policyAsTold } from '../cli/policy-of.ts';
import type { Place } from '../cli/operator-place.ts';
import { placeOf, readPause } from '../cli/operator-place.ts';
import type { ReadDevice } from '../cli/status-devices.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Resource } from '../kube/resources.ts';
import {
  drainPolicies,
  fenceDevices,
  leases,
  nodeFences,
  nodeLeaseNamespace,
  nodes,
  pods,
  remedyPolicies,
} from '../kube/resources.ts';
import type { Change } from '../kube/view.ts';
import { ServerTime } from '../kube/server-time.ts';
import type { SeenLease } from '../observe/project.ts';
import { projectLease } from '../observe/project.ts';
import type { DrainPolicyStatus, DrainState } from '../report/drain-status.ts';
import { drainsByNode } from '../report/drain-status.ts';
import type { Known } from '../report/explanation.ts';
import { Memory } from './memory.ts';
import type { SeenNode, SeenPod } from './seen.ts';
import { seenNode, seenPod } from './seen.ts';

export interface ClusterWatchOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  /** Of the operator; absent: wherever it is found. */
  namespace?: string;
}

/** A policy as it is stored: what the operator says of it is in its status. */
export type StoredPolicy = KubeObject & { spec?: Record<string, unknown>; status?: Record<string, unknown> };

/** How often it is asked who leads, and whether everything is paused. */
const lookEveryMs = 3000;

export class ClusterWatch {
  readonly client: KubeClient;
  readonly memory: Memory;
  readonly #clock: Clock;
  readonly #namespace: string | undefined;
  readonly #time: ServerTime;
  readonly #nodes: ListWatch<SeenNode>;
  readonly #leases: ListWatch<SeenLease>;
  readonly #fences: ListWatch<StoredFence>;
  readonly #pods: ListWatch<SeenPod>;
  readonly #remedies: ListWatch<{ object: StoredPolicy; facts: PolicyFacts | undefined }>;
  readonly #drains: ListWatch<StoredPolicy>;
  readonly #devices: ListWatch<ReadDevice>;
  readonly #listeners = new Set<() => void>();
  readonly #unreadable = new Map<string, string>();
  #place: Place | undefined;
  #pause: SeenPause | undefined;

  constructor({ client, clock, random, namespace }: ClusterWatchOptions) {
    this.client = client;
    this.#clock = clock;
    this.#namespace = namespace;
    this.#time = new ServerTime(clock);
    this.memory = new Memory(() => this.nowMs);
    const of = <T>(
      resource: Resource,
      project: (object: KubeObject) => T,
      note: (change: Change<T>) => void = () => {},
    ): ListWatch<T> =>
      new ListWatch({
        client,
        clock,
        random,
        resource,
        ...(resource === leases ? { namespace: nodeLeaseNamespace } : {}),
        project,
        onChange: (change) => {
          note(change);
          this.#changed(resource);
        },
        onSync: () => this.#readable(resource),
        onProblem: ({ kind, message }) => this.#problem(resource, kind, message),
      });
    this.#nodes = of(nodes, seenNode);
    this.#leases = of(leases, projectLease);
    this.#fences = of(
      nodeFences,
      (object) => object as StoredFence,
      ({ entry }) => this.memory.noteRecord(entry.value),
    );
    this.#pods = of(pods, seenPod, (change) => this.#podChanged(change));
    this.#remedies = of(remedyPolicies, (object) => ({ object, facts: policyAsTold(object) }));
    this.#drains = of(drainPolicies, (object) => object);
    this.#devices = of(fenceDevices, (object) => object as ReadDevice);
  }

  async run(signal: AbortSignal): Promise<void> {
    const watches: { run: (signal: AbortSignal) => Promise<void> }[] = [
      this.#nodes,
      this.#leases,
      this.#fences,
      this.#pods,
      this.#remedies,
      this.#drains,
      this.#devices,
    ];
    await Promise.all([...watches.map((watch) => watch.run(signal)), this.#look(signal)]);
  }

  onChange(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  /** By the API server's clock. */
  get nowMs(): number {
    return this.#time.now();
  }

  /** Nodes were listed: before that nothing can be said. */
  get synced(): boolean {
    return this.#nodes.synced;
  }

  /** Since the API server last said anything. */
  get silentMs(): number {
    return this.#nodes.silentMs;
  }

  /** What may not be read, or could not be, and why. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#unreadable;
  }

  get place(): Place | undefined {
    return this.#place;
  }

  get pause(): SeenPause | undefined {
    return this.#pause;
  }

  get nodes(): SeenNode[] {
    return [...this.#nodes.entries.values()].map(({ value }) => value);
  }

  get pods(): SeenPod[] {
    return [...this.#pods.entries.values()].map(({ value }) => value);
  }

  get records(): StoredFence[] {
    return [...this.#fences.entries.values()].map(({ value }) => value);
  }

  get policies(): PolicyFacts[] {
    return [...this.#remedies.entries.values()].flatMap(({ value }) => value.facts ?? []);
  }

  get remedyPolicies(): StoredPolicy[] {
    return [...this.#remedies.entries.values()].map(({ value }) => value.object);
  }

  get drainPolicies(): StoredPolicy[] {
    return [...this.#drains.entries.values()].map(({ value }) => value);
  }

  get devices(): ReadDevice[] {
    return [...this.#devices.entries.values()].map(({ value }) => value);
  }

  get drains(): Map<string, DrainState> {
    return drainsByNode(this.drainPolicies.map(({ status }) => status as DrainPolicyStatus | undefined));
  }

  lease(node: string): SeenLease | undefined {
    return this.#leases.entries.get(`${nodeLeaseNamespace}/${node}`)?.value;
  }

  record(node: string): StoredFence | undefined {
    return this.#fences.entries.get(nodeFenceName(node))?.value;
  }

  /** What an explanation is made from. `shared`: what is the same for all nodes, where many are asked for. */
  known(node: string, shared: Shared = this.shared()): Known | undefined {
    const live = this.#nodes.entries.get(node)?.value;
    const record = this.record(node);
    if (live === undefined && record === undefined) return undefined;
    const lease = this.lease(node);
    const drain = shared.drains.get(node);
    return knownFrom({
      node,
      atMs: shared.atMs,
      ...(live === undefined ? {} : { live }),
      ...(lease === undefined ? {} : { lease }),
      ...(record === undefined ? {} : { record }),
      records: shared.records,
      policies: shared.policies,
      devices: shared.devices.get(node) ?? [],
      ...(drain === undefined ? {} : { drain }),
      ...(this.#place === undefined ? {} : { place: this.#place }),
      ...(this.#pause === undefined ? {} : { pause: this.#pause }),
    });
  }

  shared(): Shared {
    return {
      atMs: this.nowMs,
      policies: this.policies,
      records: this.records.filter(({ status }) => status?.hold !== undefined),
      devices: Map.groupBy(this.devices, ({ spec }) => spec?.node ?? ''),
      drains: this.drains,
    };
  }

  async #look(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#lookOnce();
      await sleep(this.#clock, lookEveryMs, signal);
    }
  }

  async #lookOnce(): Promise<void> {
    const askedMs = this.#clock.monotonic();
    try {
      const asked = await this.client.list<KubeObject>(nodes, { limit: 1 });
      if (asked.ok && asked.serverTime !== undefined) this.#time.read(asked.serverTime, askedMs);
      this.#place = await placeOf(this.client, { given: this.#namespace, nowMs: this.nowMs });
      this.#pause = this.#place && (await readPause(this.client, this.#place));
      this.#unreadable.delete(leadership);
    } catch (error) {
      // What is not known is said; everything else is shown all the same.
      this.#unreadable.set(leadership, error instanceof Error ? error.message : String(error));
    }
    this.#changed(leases);
  }

  #podChanged(change: Change<SeenPod>): void {
    if (change.type === 'deleted') this.memory.podGone(change.entry.value);
  }

  #problem(resource: Resource, kind: string, message: string): void {
    // Without the CRDs there are no policies and no records, which is an answer.
    if (kind === 'notFound') return;
    this.#unreadable.set(`${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}`, message);
    this.#changed(resource);
  }

  #readable(resource: Resource): void {
    this.#unreadable.delete(`${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}`);
    this.#changed(resource);
  }

  /** That a Lease is renewed is no news by itself: those who look do so every second anyway. */
  #changed(resource: Resource): void {
    if (resource === leases) return;
    for (const listener of this.#listeners) listener();
  }
}

const leadership = 'who leads';

export interface Shared {
  atMs: number;
  policies: readonly PolicyFacts[];
  /** Those by which something is held back. */
  records: readonly StoredFence[];
  devices: ReadonlyMap<string, readonly ReadDevice[]>;
  drains: ReadonlyMap<string, DrainState>;
}
