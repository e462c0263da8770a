/**
 * One life of a kubelet process, from its start to its end. It holds nothing that must survive it: what runs and what is
 * mounted is the machine's, what is wanted comes from the API.
 */
import type { KubeClient } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { Machine, MachineEvent, MountedVolume } from '../machines/machine.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { mirrorAnnotation } from '../objects/pods.ts';
import type { Refusal } from './admission.ts';
import { refusalOf } from './admission.ts';
import type { ClusterFeed, FeedListener } from './feed.ts';
import type { ReporterTimings } from './node-reporter.ts';
import { NodeReporter } from './node-reporter.ts';
import type { ConditionOverride, NodeSpec } from './node-status.ts';
import type { PodAddresses } from './pod-status.ts';
import type { PodBehaviour, PodHost } from './pod-worker.ts';
import { PodWorker } from './pod-worker.ts';
import type { StaticManifest } from './static-pods.ts';
import { StaticPods } from './static-pods.ts';

export interface KubeletTimings extends ReporterTimings {
  /** From the return of the link until the kubelet's connections are up again. */
  reconnectMs: number;
}

export interface KubeletOptions {
  spec: NodeSpec;
  machine: Machine;
  /** Over a LinkedTransport of this machine, with the machine's clock. */
  client: KubeClient;
  feed: ClusterFeed;
  random: () => number;
  timings: KubeletTimings;
  behaviourOf: (pod: Pod) => PodBehaviour;
  onProblem: (error: KubeError) => void;
}

/** What the disk of the machine keeps for the next kubelet. */
export interface KubeletDisk {
  overrides: Map<string, ConditionOverride>;
  /** By the hash that marks a static pod's copy in the API. */
  manifests: Map<string, StaticManifest>;
}

export class KubeletRun implements PodHost, FeedListener {
  readonly nodeName: string;
  readonly machine: Machine;
  readonly client: KubeClient;
  readonly retryMs: number;
  readonly #options: KubeletOptions;
  readonly #ended = new AbortController();
  readonly #reporter: NodeReporter;
  readonly #statics: StaticPods;
  readonly #workers = new Map<string, PodWorker>();
  readonly #claims = new Map<string, readonly MountedVolume[]>();
  readonly #addresses = new Map<string, PodAddresses>();
  readonly #unsubscribe: (() => void)[];
  #lastSeenAttached = '';
  /** No connection: since the link went down, and for a while after it came back. */
  #offline: boolean;
  #listed = false;
  #looking = false;
  #isShuttingDown = false;

  constructor(options: KubeletOptions, disk: KubeletDisk) {
    this.#options = options;
    this.nodeName = options.spec.name;
    this.machine = options.machine;
    this.client = options.client;
    this.retryMs = options.timings.retryMs;
    this.#offline = !this.machine.connected;
    for (const [uid, volumes] of this.machine.mounts) this.#claims.set(uid, volumes);
    this.#statics = new StaticPods(this, disk.manifests);
    this.#reporter = new NodeReporter({
      ...options,
      signal: this.#ended.signal,
      overrides: disk.overrides,
      isShuttingDown: () => this.#isShuttingDown,
      volumesInUse: () => (this.#listed ? this.#volumesInUse() : undefined),
      onNode: (node) => this.#onNode(node),
    });
    this.#unsubscribe = [options.feed.listen(this.nodeName, this), this.machine.on((event) => this.#onMachine(event))];
    this.#reporter.start();
    this.#look();
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The process ends; what it started goes on. */
  end(): void {
    this.#ended.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#reporter.stop();
    this.#statics.stop();
    for (const worker of this.#workers.values()) worker.stop();
  }

  heartbeat(): void {
    this.#reporter.heartbeat();
  }

  keepLease(isKept: boolean): void {
    this.#reporter.keepLease(isKept);
  }

  /** Something that the node reports was changed from outside. */
  reportChanged(): void {
    this.#reporter.changed();
  }

  manifestsChanged(): void {
    this.#statics.kick();
  }

  /** Its machine goes down in good order: it says so, takes no pods any more and ends those that it has. */
  shutDown(): void {
    this.#isShuttingDown = true;
    this.#reporter.changed();
    for (const worker of this.#workers.values()) worker.kick();
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  // What the workers ask for.

  random(): number {
    return this.#options.random();
  }

  node(): Node | undefined {
    return this.#reporter.node;
  }

  behaviourOf(pod: Pod): PodBehaviour {
    return this.#options.behaviourOf(pod);
  }

  refusalOf(pod: Pod, node: Node): Refusal | undefined {
    const others = [...this.#workers.values()].flatMap(({ active }) => {
      return active === undefined || active.metadata.uid === pod.metadata.uid ? [] : [active];
    });
    return refusalOf(pod, node, others);
  }

  addressesOf(podUid: string): PodAddresses {
    const { address, podNetwork } = this.#options.spec;
    let addresses = this.#addresses.get(podUid);
    if (addresses === undefined) {
      const taken = new Set([...this.#addresses.values()].map(({ pod }) => pod));
      let last = 2;
      while (taken.has(`${podNetwork}.${last}`)) last += 1;
      addresses = { host: address, pod: `${podNetwork}.${last}` };
      this.#addresses.set(podUid, addresses);
    }
    return addresses;
  }

  claim(podUid: string, volumes: readonly MountedVolume[]): void {
    const before = this.#volumesInUse().join();
    if (volumes.length === 0) this.#claims.delete(podUid);
    else this.#claims.set(podUid, volumes);
    if (this.#volumesInUse().join() !== before) this.#reporter.changed();
  }

  claimsReported(volumes: readonly MountedVolume[]): boolean {
    // Where there is no Node there is nothing to report to; the stock kubelet lets its pods go then, too.
    if (this.node() === undefined) return this.#reporter.nodeGone;
    const reported = new Set(this.node()?.status?.volumesInUse);
    const wanted = new Set(this.#volumesInUse());
    const agrees = volumes.every(
      ({ attachName }) => attachName === undefined || reported.has(attachName) === wanted.has(attachName),
    );
    if (!agrees) this.#reporter.changed();
    return agrees;
  }

  finished(podUid: string): void {
    this.#workers.get(podUid)?.stop();
    this.#workers.delete(podUid);
    this.#addresses.delete(podUid);
  }

  onProblem(error: KubeError): void {
    this.#options.onProblem(error);
  }

  // What the feed tells. Only a kubelet that is connected hears it, and acts when its machine gets round to it.

  podChanged(_pod: Pod): void {
    this.#look();
  }

  podGone(pod: Pod): void {
    if (!this.#offline) this.#workers.get(pod.metadata.uid ?? '')?.notice(pod);
    this.#look();
  }

  nodeChanged(_node: Node): void {
    this.#look();
  }

  synced(): void {
    this.#look();
  }

  #onMachine(event: MachineEvent): void {
    switch (event.type) {
      case 'linkDown':
        this.#offline = true;
        break;
      case 'linkUp':
        this.machine.clock.after(this.#options.timings.reconnectMs * (0.5 + this.random()), () => this.#reconnected());
        break;
      case 'processStarted':
      case 'processStopped':
        this.machine.clock.after(0, () => this.#kick(event.process.podUid));
        break;
      default:
    }
  }

  #reconnected(): void {
    if (this.signal.aborted || !this.machine.connected) return;
    this.#offline = false;
    this.#reporter.reconnected();
    for (const worker of this.#workers.values()) worker.kick();
    this.#look();
  }

  #kick(podUid: string): void {
    if (this.signal.aborted) return;
    this.#workers.get(podUid)?.kick();
    this.#statics.kick();
  }

  /** Once for however many changes; on the machine's clock, so that a hung machine looks when it resumes. */
  #look(): void {
    if (this.#looking || this.#offline) return;
    this.#looking = true;
    this.machine.clock.after(0, () => {
      this.#looking = false;
      if (!this.signal.aborted && !this.#offline && this.#options.feed.synced) this.#takeOver();
    });
  }

  #takeOver(): void {
    const { feed } = this.#options;
    const node = feed.nodeOf(this.nodeName);
    if (node !== undefined) this.#reporter.seen(node);
    const bound = feed.podsOf(this.nodeName);
    for (const [uid, pod] of bound) {
      if (pod.metadata.annotations?.[mirrorAnnotation] === undefined) this.#workerOf(uid, pod).update(pod);
    }
    for (const [uid, worker] of this.#workers) {
      if (!bound.has(uid)) worker.vanish();
    }
    for (const uid of [...this.machine.processes.keys(), ...this.machine.mounts.keys()]) {
      if (!bound.has(uid) && !this.#statics.owns(uid)) this.#workerOf(uid, undefined);
    }
    this.#statics.look([...bound.values()]);
    if (this.#listed) return;
    this.#listed = true;
    this.#reporter.changed();
  }

  #workerOf(uid: string, pod: Pod | undefined): PodWorker {
    let worker = this.#workers.get(uid);
    if (worker === undefined) {
      worker = new PodWorker(this, uid, pod);
      this.#workers.set(uid, worker);
      worker.kick();
    }
    return worker;
  }

  #onNode(node: Node | undefined): void {
    const { volumesAttached, volumesInUse } = node?.status ?? {};
    const attached = JSON.stringify([node?.metadata.uid, volumesAttached, volumesInUse]);
    if (attached === this.#lastSeenAttached) return;
    this.#lastSeenAttached = attached;
    for (const worker of this.#workers.values()) worker.kick();
  }

  #volumesInUse(): string[] {
    const names = new Set<string>();
    for (const volumes of this.#claims.values()) {
      for (const { attachName } of volumes) if (attachName !== undefined) names.add(attachName);
    }
    return [...names].sort();
  }
}
