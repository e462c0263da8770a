/**
 * The part of a kubelet that stands for its node: registers it, keeps its status and renews its lease.
 *
 * As with the stock kubelet a Node that was deleted is registered again only when the kubelet starts anew.
 */
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import type { KubeError, Result } from '../../kube/errors.ts';
import { compareVersions } from '../../kube/resource-version.ts';
import type { ObjectRef } from '../../kube/resources.ts';
import { csiNodes, leases, nodes } from '../../kube/resources.ts';
import type { Machine } from '../machines/machine.ts';
import type { Lease, Node } from '../objects/nodes.ts';
import { statusPatch } from '../objects/status-patch.ts';
import type { CsiNode } from '../objects/volumes.ts';
import { LevelLoop } from '../time/level-loop.ts';
import type { ConditionOverride, NodeSpec, NodeState } from './node-status.ts';
import {
  csiNodeDrivers,
  newCsiNode,
  newNode,
  registeredAnnotations,
  registeredLabels,
  renewedLease,
  wantedNodeStatus,
} from './node-status.ts';

export interface ReporterTimings {
  leaseRenewMs: number;
  leaseDurationSeconds: number;
  /** How often the status is looked at, and written if it says something else. */
  statusEveryMs: number;
  /** How often it is written although nothing changed; absent: every time. The stock kubelet does so every 5 minutes. */
  reportEveryMs?: number;
  /** After a call that failed; twice as long after the next, up to the usual distance. */
  retryMs: number;
}

export interface ReporterOptions {
  spec: NodeSpec;
  machine: Machine;
  client: KubeClient;
  random: () => number;
  timings: ReporterTimings;
  signal: AbortSignal;
  overrides: ReadonlyMap<string, ConditionOverride>;
  isShuttingDown: () => boolean;
  /** Undefined: not known yet, and what the API says stays. */
  volumesInUse: () => readonly string[] | undefined;
  /** Something else is known of the Node than before; undefined: it was deleted. */
  onNode: (node: Node | undefined) => void;
  onProblem: (error: KubeError) => void;
}

export class NodeReporter {
  readonly #options: ReporterOptions;
  readonly #status: LevelLoop;
  readonly #leaseLoop: LevelLoop;
  readonly #ref: ObjectRef;
  readonly #leaseRef: ObjectRef;
  #node: Node | undefined;
  #gone = false;
  #failures = { status: 0, lease: 0 };
  #registered = false;
  #refresh = true;
  /** The Node is read before anything is written: Ready has to say since when it is True again. */
  #isOld = false;
  #lease: Lease | undefined;
  #keepsLease = true;
  #statusDueAt = 0;
  /** A Node that says all there is to say of a state. */
  #agreed: { node?: Node; told: string } = { told: '' };

  constructor(options: ReporterOptions) {
    this.#options = options;
    const { name } = options.spec;
    this.#ref = { resource: nodes, name };
    this.#leaseRef = { resource: leases, namespace: 'kube-node-lease', name };
    this.#status = new LevelLoop(options.machine.clock, () => this.#statusStep());
    this.#leaseLoop = new LevelLoop(options.machine.clock, () => this.#leaseStep());
  }

  get node(): Node | undefined {
    return this.#node;
  }

  /** Somebody deleted the Node. */
  get nodeGone(): boolean {
    return this.#gone;
  }

  start(): void {
    this.#status.kick();
  }

  stop(): void {
    this.#status.stop();
    this.#leaseLoop.stop();
  }

  /** What is reported may have changed. */
  changed(): void {
    this.#status.kick();
  }

  /** Writes lease and status now; the next ones follow at their usual distance. */
  heartbeat(): void {
    this.#refresh = true;
    this.#status.kick();
    if (this.#registered) this.#leaseLoop.kick();
  }

  /** No: it does not renew its Lease any more, and writes its status every time. */
  keepLease(isKept: boolean): void {
    this.#keepsLease = isKept;
    this.heartbeat();
  }

  /** It was cut off. What it knew of its Node is from before. */
  reconnected(): void {
    this.#isOld = true;
    this.heartbeat();
  }

  /** The Node as a watch shows it, which may lag behind what was just written. */
  seen(node: Node): void {
    const known = this.#node;
    if (known !== undefined && known.metadata.uid === node.metadata.uid && !isNewer(node, known)) return;
    this.#node = node;
    this.#gone = false;
    this.#options.onNode(node);
  }

  async #statusStep(): Promise<number | undefined> {
    const { machine, timings } = this.#options;
    if (!this.#registered) {
      if (!(await this.#register())) return this.#retryMs('status', timings.statusEveryMs);
      this.#registered = true;
      this.#leaseLoop.kick();
    }
    const now = machine.clock.monotonic();
    if (now >= this.#statusDueAt) this.#refresh = true;
    const written = await this.#write();
    if (written === 'again') return 0;
    if (written === 'failed') return this.#retryMs('status', timings.statusEveryMs);
    this.#failures.status = 0;
    const reportEveryMs = this.#keepsLease ? timings.reportEveryMs : undefined;
    if (this.#refresh) this.#statusDueAt = now + (reportEveryMs ?? timings.statusEveryMs);
    this.#refresh = false;
    const untilDueMs = this.#statusDueAt - machine.clock.monotonic();
    return Math.max(1, Math.min(timings.statusEveryMs, untilDueMs));
  }

  async #write(): Promise<'done' | 'again' | 'failed'> {
    const { spec, machine, client } = this.#options;
    const node = (this.#isOld ? undefined : this.#node) ?? (await this.#read());
    if (node === undefined) return 'failed';
    const state = this.#state();
    const told = toldBy(machine, state);
    // Asked every few seconds by every node, and mostly there is nothing to say.
    if (!this.#refresh && node === this.#agreed.node && told === this.#agreed.told) return 'done';
    const patch = statusPatch(node, wantedNodeStatus(spec, machine, state), this.#refresh);
    if (patch === undefined) {
      this.#agreed = { node, told };
      return 'done';
    }
    const options = { ...this.#call(), subresource: 'status' };
    const written = await client.patch<Node>(this.#ref, patch.only, patch.operations, options);
    if (written.ok) {
      this.seen(written.value);
      return 'done';
    }
    this.#problem(written);
    if (written.error.kind === 'notFound') this.#lost();
    // Something else is there than what the patch was made for.
    if (written.error.kind === 'conflict' || written.error.kind === 'invalid') this.#node = undefined;
    return written.error.kind === 'conflict' ? 'again' : 'failed';
  }

  async #read(): Promise<Node | undefined> {
    const read = await this.#options.client.get<Node>(this.#ref, this.#call());
    if (!read.ok) {
      if (read.error.kind === 'notFound') this.#lost();
      return this.#problem(read);
    }
    this.seen(read.value);
    this.#isOld = false;
    return read.value;
  }

  #lost(): void {
    this.#node = undefined;
    if (this.#gone) return;
    this.#gone = true;
    this.#options.onNode(undefined);
  }

  async #register(): Promise<boolean> {
    const { spec, machine, client } = this.#options;
    const created = await client.create<Node>(nodes, newNode(spec, machine, this.#state()), this.#call());
    if (created.ok) this.seen(created.value);
    else if (created.error.kind === 'alreadyExists') await this.#adopt();
    else this.#problem(created);
    return this.#node !== undefined && (await this.#installDrivers(this.#node));
  }

  /** A Node of this name is there: only what a kubelet insists on is set, everything else stays. */
  async #adopt(): Promise<void> {
    const node = await this.#read();
    if (node?.metadata.uid === undefined) return;
    const { labels = {}, annotations = {}, uid } = node.metadata;
    const wantedLabels = { ...labels, ...registeredLabels(this.#options.spec) };
    const wantedAnnotations = { ...annotations, ...registeredAnnotations };
    const grown =
      Object.keys(wantedLabels).some((key) => labels[key] !== wantedLabels[key]) ||
      Object.keys(wantedAnnotations).some((key) => annotations[key] !== wantedAnnotations[key]);
    if (!grown) return;
    const only = { uid, resourceVersion: node.metadata.resourceVersion ?? '' };
    const patched = await this.#options.client.patch<Node>(
      this.#ref,
      only,
      [
        { op: 'add', path: '/metadata/labels', value: wantedLabels },
        { op: 'add', path: '/metadata/annotations', value: wantedAnnotations },
      ],
      this.#call(),
    );
    if (patched.ok) this.seen(patched.value);
    else {
      this.#problem(patched);
      this.#node = undefined;
    }
  }

  async #installDrivers(node: Node): Promise<boolean> {
    const { spec, client } = this.#options;
    const created = await client.create<CsiNode>(csiNodes, newCsiNode(spec, node), this.#call());
    if (created.ok) return true;
    if (created.error.kind !== 'alreadyExists') return this.#problem(created) ?? false;
    const ref = { resource: csiNodes, name: spec.name };
    const known = await client.get<CsiNode>(ref, this.#call());
    if (!known.ok) return this.#problem(known) ?? false;
    const wanted = csiNodeDrivers(spec);
    const names = (drivers: CsiNode['spec']['drivers']): string => drivers.map(({ name }) => name).join();
    if (names(known.value.spec.drivers) === names(wanted)) return true;
    const replaced = await client.replace(ref, { ...known.value, spec: { drivers: wanted } }, undefined, this.#call());
    return replaced.ok || (this.#problem(replaced) ?? false);
  }

  async #leaseStep(): Promise<number | undefined> {
    const { timings, random } = this.#options;
    if (!this.#keepsLease) return undefined;
    const renewed = await this.#renew();
    if (!renewed.ok) {
      this.#lease = undefined;
      this.#problem(renewed);
      return this.#retryMs('lease', timings.leaseRenewMs);
    }
    this.#lease = renewed.value;
    this.#failures.lease = 0;
    // Spread a little, as the stock kubelet does, so that a fleet started at once does not renew at once for ever.
    return timings.leaseRenewMs * (1 + 0.04 * random());
  }

  #retryMs(what: 'status' | 'lease', mostMs: number): number {
    const { timings, random } = this.#options;
    const fullMs = Math.min(mostMs, timings.retryMs * 2 ** Math.min(20, this.#failures[what]));
    this.#failures[what] += 1;
    return fullMs * (0.5 + random() / 2);
  }

  async #renew(): Promise<Result<Lease>> {
    const { client } = this.#options;
    if (this.#lease === undefined) {
      const read = await client.get<Lease>(this.#leaseRef, this.#call());
      if (!read.ok && read.error.kind !== 'notFound') return read;
      if (!read.ok) return client.create<Lease>(leases, this.#renewedLease(), this.#call());
      this.#lease = read.value;
    }
    return client.replace<Lease>(this.#leaseRef, this.#renewedLease(this.#lease), undefined, this.#call());
  }

  #renewedLease(previous?: Lease): Lease {
    const { machine, timings, spec } = this.#options;
    const timing = { nowMs: machine.clock.now(), durationSeconds: timings.leaseDurationSeconds };
    return renewedLease(spec.name, timing, this.#node, previous);
  }

  #state(): NodeState {
    const { machine, overrides, volumesInUse, isShuttingDown } = this.#options;
    return {
      nowMs: machine.clock.now(),
      overrides,
      volumesInUse: volumesInUse(),
      isShuttingDown: isShuttingDown(),
    };
  }

  #call(): CallOptions {
    return { signal: this.#options.signal, timeoutMs: 10_000 };
  }

  #problem(result: { ok: false; error: KubeError }): undefined {
    if (!this.#options.signal.aborted) this.#options.onProblem(result.error);
  }
}

function isNewer(node: Node, known: Node): boolean {
  return compareVersions(node.metadata.resourceVersion ?? '', known.metadata.resourceVersion ?? '') > 0;
}

/** All that a status says and that can change, times left out. */
function toldBy({ bootId }: Machine, { volumesInUse, overrides, isShuttingDown }: NodeState): string {
  return JSON.stringify([bootId, volumesInUse, overrides.size === 0 ? [] : [...overrides], isShuttingDown]);
}
