/**
 * A cluster put together: the API server, the controllers and the scheduler of Kubernetes, machines with their kubelets,
 * the storage behind their volumes, and a power device for each. In virtual time it is the simulator, in real time the
 * cluster that people play with. It knows nothing of the product that is tested in it.
 */
import type { Clock } from '../clock.ts';
import { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import type { Transport } from '../kube/transport.ts';
import type { ApiObject } from './api-server/object.ts';
import { ApiServer } from './api-server/server.ts';
import type { BystanderGroup } from './bystanders.ts';
import { Bystanders } from './bystanders.ts';
import { ControllerManager } from './controllers/controller-manager.ts';
import { Scheduler } from './controllers/scheduler.ts';
import type { ControllerTimings } from './controllers/timings.ts';
import type { FleetOptions } from './fleet.ts';
import { Fleet } from './fleet.ts';
import type { PortState } from './kubelet/kubelet.ts';
import { defaultKubeletTimings } from './kubelet/kubelet.ts';
import type { LonghornOptions } from './longhorn/longhorn.ts';
import { Longhorn } from './longhorn/longhorn.ts';
import type { LonghornSpec } from './longhorn/spec.ts';
import type { BmcAction } from './machines/bmc.ts';
import { Bmc } from './machines/bmc.ts';
import type { Feed } from './machines/feeds.ts';
import { deviceKey, feedsOf } from './machines/feeds.ts';
import type { Process } from './machines/machine.ts';
import type { Lease, Taint } from './objects/nodes.ts';
import type { Random } from './random.ts';
import type { WriterChange } from './storage/ledger.ts';
import { Storage } from './storage/storage.ts';

export interface WorldNode {
  name: string;
  zone?: string;
  labels?: Record<string, string>;
  taints?: readonly Taint[];
  capacity?: Record<string, string>;
  bootId?: string;
  /** Default: it has one. */
  bmc?: boolean;
  /** Whether its power device can say whose power it is; default: yes. */
  identity?: boolean;
  /** Its supplies, each with a device of its own; default: one supply, which has no name. */
  feeds?: readonly string[];
  /** Its ways to the storage, each with a port of its own; default: one, which has no name. */
  ports?: readonly string[];
}

export interface WorldOptions {
  clock: Clock;
  random: Random;
  nodes: readonly WorldNode[];
  /** Nodes that only count. */
  others?: readonly BystanderGroup[];
  /** CSI drivers: installed on every node, attached by the attacher, provisioned where a StorageClass names them. */
  drivers?: readonly string[];
  /** A storage system with replicas on the disks of the nodes; absent: there is none. */
  longhorn?: LonghornSpec;
  bootTimeMs?: number;
  timings?: Partial<ControllerTimings>;
  /** False: nobody keeps book of who set which field, which is a quarter of what the API server does. `nodes`: of Nodes alone. */
  fieldOwnership?: boolean | 'nodes';
  /** Makes it an error to change what the server holds, which everybody in the world shares: for tests. */
  freezes?: boolean;
  fleet?: Partial<Pick<FleetOptions, 'kubelet' | 'attacher' | 'behaviourOf'>>;
  /** What lies between a user of the API and the server; the kubelet of a node is `system:node:` and its name. */
  wire?: (user: string, inner: Transport) => Transport;
  onWriter?: (change: WriterChange) => void;
  /** Something about the replicas of volumes is different now. */
  onReplicas?: () => void;
  onDevice?: (node: string, action: BmcAction) => void;
  /** A message of a crashed kernel; `forged`: the machine runs. */
  onKdump?: (node: string, forged: boolean) => void;
  /** What failed and will be tried again. */
  onProblem?: (who: string, error: KubeError) => void;
}

/** As the stock kubelet: with a Lease to show that it lives, a status without news is written seldom. */
const defaultReportEveryMs = 300_000;
/** Watches inside one process do not lag, and asking whether they do is a tenth of all requests. */
const unasked = { probeEveryMs: 2 ** 31 - 1, reopenAfterMs: 2 ** 31 - 1, trustPageMs: Infinity };
const kdumpEveryMs = 10_000;
/** `shutdownGracePeriod` of the kubelet: what pods have to end in. */
const shutdownGraceMs = 30_000;
/** Detaching with a driver that says this takes the node's access away. */
const safeDetachAnnotation = 'fenceline.dev/safe-detach';
/** It does so, although nobody says it on the driver. */
const detachesSafelyAnnotation = 'simulation.fenceline.dev/detaches-safely';

export class World {
  readonly server: ApiServer;
  readonly fleet: Fleet;
  readonly storage: Storage;
  readonly longhorn: Longhorn | undefined;
  /** By the name of the node; by `node/feed` where it has several supplies. */
  readonly bmcs: ReadonlyMap<string, Bmc>;
  readonly #options: WorldOptions;
  readonly #controllers: ControllerManager;
  readonly #scheduler: Scheduler;
  readonly #bystanders: Bystanders;
  readonly #ended = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: WorldOptions) {
    this.#options = options;
    const { clock, random, drivers = [] } = options;
    this.server = new ApiServer({
      clock,
      random: random.stream('api-server'),
      without: options.fieldOwnership === false ? ['managedFields'] : [],
      ...(options.fieldOwnership === 'nodes' ? { ownersOf: ['/nodes'] } : {}),
      freezes: options.freezes ?? false,
    });
    const wire = options.wire ?? ((_user, inner) => inner);
    const transportFor = (user: string): Transport => wire(user, this.server.transport(user, { shares: true }));
    const shared = { clock, transportFor };
    const onProblem = (who: string, error: KubeError): void => options.onProblem?.(who, error);
    this.storage = new Storage({
      clock,
      isShared: (volume) => this.#isShared(volume),
      isSafeDetach: (driver) => this.#isSafeDetach(driver),
      blindPorts: options.nodes.flatMap(({ name, identity = true }) => (identity ? [] : [name])),
      ways: new Map(options.nodes.map(({ name, ports = [] }) => [name, ports])),
      ...(options.onWriter === undefined ? {} : { onWriter: options.onWriter }),
    });
    this.fleet = new Fleet({
      ...shared,
      kubeletPort: 10_250,
      ...options.fleet,
      kubelet: { reportEveryMs: defaultReportEveryMs, ...options.fleet?.kubelet },
      random: random.stream('fleet'),
      nodes: options.nodes.map(({ bmc: _bmc, identity: _identity, feeds: _feeds, ports: _ports, ...node }) => node),
      drivers,
      watch: unasked,
      onProblem,
      onStorage: (change) => this.storage.attachmentChanged(change),
      refuses: (attachment) => this.storage.refusalOf(attachment),
      ...(options.bootTimeMs === undefined ? {} : { bootTimeMs: options.bootTimeMs }),
    });
    for (const machine of this.fleet.machines) this.storage.watch(machine);
    this.#controllers = new ControllerManager({
      ...shared,
      random: random.stream('controllers'),
      provisioners: drivers,
      onProblem,
      ...(options.timings === undefined ? {} : { timings: options.timings }),
    });
    const { informers, indexes } = this.#controllers;
    this.#scheduler = new Scheduler({ ...shared, random: random.stream('scheduler'), informers, indexes, onProblem });
    this.longhorn = this.#longhorn(shared);
    this.#bystanders = new Bystanders({
      clock,
      client: new KubeClient({
        transport: transportFor('bystanders'),
        clock,
        userAgent: 'kubelet',
        fieldManager: 'kubelet',
      }),
      random: random.stream('bystanders'),
      groups: options.others ?? [],
      ...(options.wire === undefined ? { amend: (name, change) => this.#amendLease(name, change) } : {}),
      leaseDurationSeconds: options.fleet?.kubelet?.leaseDurationSeconds ?? defaultKubeletTimings.leaseDurationSeconds,
    });
    this.bmcs = this.#wire();
  }

  start(): void {
    const { signal } = this.#ended;
    this.#running = Promise.all([
      this.#bystanders.start(),
      this.#controllers.run(signal),
      this.#scheduler.run(signal),
      this.longhorn?.run(signal),
    ]);
    // Whoever stops the world hears of it.
    this.#running.catch(() => {});
    this.fleet.start();
  }

  /** Rejects with what broke the world itself, if anything did. */
  async stop(): Promise<void> {
    this.#bystanders.stop();
    await this.fleet.stop();
    this.#ended.abort();
    await this.#running;
  }

  /** Those that only count included. */
  get nodeCount(): number {
    return this.fleet.kubelets.size + this.#bystanders.count;
  }

  feedsOf(node: string): readonly string[] {
    return this.#options.nodes.find(({ name }) => name === node)?.feeds ?? [];
  }

  /** Whether the device of one feed has cut what is plugged into it. */
  isFeedOff(node: string, feed: string): boolean {
    return this.bmcs.get(deviceKey(node, feed))?.machine.power === 'off';
  }

  nodesOf(zone: string): string[] {
    return this.#options.nodes.filter((node) => node.zone === zone).map(({ name }) => name);
  }

  /** The plugs of two machines, or of two of their feeds, change places: the device of each switches the other from now on. */
  swapDevices(one: string, other: string): void {
    const [first, second] = [this.bmcs.get(one), this.bmcs.get(other)];
    if (first === undefined || second === undefined) return;
    const { machine } = first;
    first.plugIn(second.machine);
    second.plugIn(machine);
  }

  /** Every node that can renews its Lease and status now. */
  heartbeat(): void {
    for (const kubelet of this.fleet.kubelets.values()) kubelet.heartbeat();
  }

  /** Whether a process does anything at this moment: it can write to a volume of its, or it has none and runs. */
  isActive(machine: string, process: Process): boolean {
    return process.volumes.length === 0 ? this.fleet.machine(machine).alive : this.storage.canWrite(machine, process);
  }

  /** Nothing of the machine runs any more; it says so, writes its memory down, and boots by itself. */
  kernelCrash(node: string, dumpMs: number): void {
    const machine = this.fleet.machine(node);
    if (machine.power === 'off') return;
    machine.powerOff();
    machine.powerOn(dumpMs + machine.bootTimeMs);
    // fence_kdump_send repeats itself until the dump is written.
    for (let ms = 0; ms < dumpMs; ms += kdumpEveryMs) {
      this.#options.clock.after(ms, () => this.#options.onKdump?.(node, false));
    }
  }

  /** The machine goes down in good order, as after `systemctl poweroff` or `reboot`: its kubelet says so first. */
  shutDown(node: string, { boots }: { boots: boolean }): void {
    const { machine, running } = this.fleet.kubelet(node);
    if (!machine.alive) return;
    this.fleet.kubelet(node).shutDown();
    machine.clock.after(running ? shutdownGraceMs : 0, () => {
      machine.powerOff();
      if (boots) machine.powerOn();
    });
  }

  /** What somebody finds who connects to this address: nobody answers where there is no such machine. */
  portAt(address: string): PortState {
    return [...this.fleet.kubelets.values()].find(({ spec }) => spec.address === address)?.port ?? 'silent';
  }

  /** A message of a crashed kernel comes from the address of the node, whatever its machine does. */
  sendKdump(node: string): void {
    this.#options.onKdump?.(node, this.fleet.machine(node).power === 'on');
  }

  #longhorn(shared: Pick<LonghornOptions, 'clock' | 'transportFor'>): Longhorn | undefined {
    const { longhorn: spec, random, onReplicas, onProblem } = this.#options;
    if (spec === undefined) return undefined;
    return new Longhorn({
      ...shared,
      random: random.stream('longhorn'),
      machines: this.fleet.machines,
      spec,
      ...(onReplicas === undefined ? {} : { onChange: onReplicas }),
      ...(onProblem === undefined ? {} : { onProblem }),
    });
  }

  #wire(): Map<string, Bmc> {
    const { nodes, clock, onDevice } = this.#options;
    const feeds = new Map(nodes.map(({ name, feeds: names = [] }) => [name, feedsOf(this.fleet.machine(name), names)]));
    return new Map(
      nodes.flatMap(({ name, bmc: isWired = true, identity = true }, index): [string, Bmc][] => {
        if (!isWired) return [];
        const other = nodes[(index + 1) % nodes.length]?.name ?? name;
        const named: [string | undefined, Feed?][] = [...(feeds.get(name) ?? [])];
        return (named.length === 0 ? [[undefined] as const] : named).map(([feed, supply]) => {
          const bmc = new Bmc({
            machine: supply ?? this.fleet.machine(name),
            clock,
            hasIdentity: identity,
            other: () => feeds.get(other)?.get(feed ?? '') ?? this.fleet.machine(other),
            onRequest: (action) => onDevice?.(deviceKey(name, feed), action),
          });
          return [deviceKey(name, feed), bmc];
        });
      }),
    );
  }

  #amendLease(name: string, change: (live: Lease) => Lease): boolean {
    const key = `kube-node-lease/${name}`;
    return this.server.amend('coordination.k8s.io', 'leases', key, (live) => change(live as Lease) as ApiObject);
  }

  #isShared(volume: string): boolean {
    const modes = (this.server.peek('', 'persistentvolumes', volume)?.spec as { accessModes?: string[] } | undefined)
      ?.accessModes;
    return modes?.includes('ReadWriteMany') ?? false;
  }

  #isSafeDetach(driver: string): boolean {
    const { annotations = {} } = this.server.peek('storage.k8s.io', 'csidrivers', driver)?.metadata ?? {};
    return annotations[safeDetachAnnotation] === 'true' || annotations[detachesSafelyAnnotation] === 'true';
  }
}
