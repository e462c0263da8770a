/** Machines with their kubelets, and the attacher of their volumes, as clients of one API server. */
import type { Clock } from '../clock.ts';
import { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import type { ListWatchTimings } from '../kube/list-watch.ts';
import type { Transport } from '../kube/transport.ts';
import { ClusterFeed } from './kubelet/feed.ts';
import type { KubeletTimings, PodBehaviour } from './kubelet/kubelet.ts';
import { defaultKubeletTimings, Kubelet } from './kubelet/kubelet.ts';
import type { NodeSpec } from './kubelet/node-status.ts';
import { behaviourOf as ordinary } from './kubelet/pod-behaviour.ts';
import { Machine } from './machines/machine.ts';
import { LinkedTransport } from './network/linked-transport.ts';
import type { Pod } from './objects/pods.ts';
import type { AttacherOptions, AttacherTimings } from './storage/attacher.ts';
import { Attacher } from './storage/attacher.ts';

export type FleetNode = Pick<NodeSpec, 'name' | 'zone' | 'labels' | 'taints' | 'capacity' | 'systemUuid' | 'bootId'> & {
  /** Default: those of the fleet. */
  drivers?: readonly string[];
  kubeletPort?: number;
};

export interface FleetOptions {
  clock: Clock;
  random: () => number;
  /** The way to the API for a user; may be the same for all. Closed by its owner, after the fleet has stopped. */
  transportFor: (user: string) => Transport;
  nodes: readonly FleetNode[];
  /** CSI drivers, installed on every node and served by the attacher. */
  drivers?: readonly string[];
  bootTimeMs?: number;
  /** Where its kubelets say that they listen; default: nowhere, since nobody may knock at addresses that are not theirs. */
  kubeletPort?: number;
  /** The address of all of them, where somebody does knock; default: one for each, of a network that is not there. */
  kubeletAddress?: string;
  kubelet?: Partial<KubeletTimings>;
  attacher?: Partial<AttacherTimings>;
  /** How closely the fleet's own watches look after themselves; a server in the same process needs no questions. */
  watch?: Partial<ListWatchTimings>;
  behaviourOf?: (pod: Pod) => PodBehaviour;
  onStorage?: NonNullable<AttacherOptions['onStorage']>;
  /** Default: the storage attaches whatever it is asked to. */
  refuses?: NonNullable<AttacherOptions['refuses']>;
  /** What failed and will be tried again; `who` is a node or `fleet`. */
  onProblem?: (who: string, error: KubeError) => void;
}

export const defaultBootTimeMs = 90_000;

export class Fleet {
  readonly attacher: Attacher;
  readonly #options: FleetOptions;
  readonly #feed: ClusterFeed;
  readonly #kubelets = new Map<string, Kubelet>();
  readonly #ended = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: FleetOptions) {
    this.#options = options;
    const { clock, random, drivers = [], onStorage, refuses } = options;
    const onProblem = (error: KubeError): void => options.onProblem?.('fleet', error);
    const watch = options.watch ?? {};
    this.#feed = new ClusterFeed({ client: this.#client('fleet', clock), clock, random, onProblem, timings: watch });
    this.attacher = new Attacher({
      client: this.#client('external-attacher', clock),
      clock,
      random,
      drivers,
      onProblem,
      watch,
      ...(options.attacher === undefined ? {} : { timings: options.attacher }),
      ...(onStorage === undefined ? {} : { onStorage }),
      ...(refuses === undefined ? {} : { refuses }),
    });
    for (const node of options.nodes) this.add(node);
  }

  get kubelets(): ReadonlyMap<string, Kubelet> {
    return this.#kubelets;
  }

  get machines(): Machine[] {
    return [...this.#kubelets.values()].map(({ machine }) => machine);
  }

  machine(name: string): Machine {
    return this.kubelet(name).machine;
  }

  kubelet(name: string): Kubelet {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) throw new Error(`the fleet has no machine ${name}`);
    return kubelet;
  }

  /** A machine more, without power. */
  add(node: FleetNode): Machine {
    const { clock, random, bootTimeMs = defaultBootTimeMs, kubeletPort = 0, drivers = [] } = this.#options;
    const { behaviourOf } = this.#options;
    if (this.#kubelets.has(node.name)) throw new Error(`the fleet has a machine ${node.name} already`);
    const machine = new Machine({ name: node.name, clock, random, bootTimeMs });
    const index = this.#kubelets.size + 1;
    const bytes = `${Math.floor(index / 250)}.${(index % 250) + 1}`;
    const kubelet = new Kubelet({
      spec: {
        drivers,
        kubeletPort,
        ...node,
        address: this.#options.kubeletAddress ?? `10.10.${bytes}`,
        podNetwork: `10.${100 + Math.floor(index / 250)}.${index % 250}`,
      },
      machine,
      client: this.#client(`system:node:${node.name}`, machine.clock, machine),
      feed: this.#feed,
      random,
      timings: { ...defaultKubeletTimings, ...this.#options.kubelet },
      behaviourOf: behaviourOf ?? ordinary,
      onProblem: (error) => this.#options.onProblem?.(node.name, error),
    });
    this.#kubelets.set(node.name, kubelet);
    return machine;
  }

  /** Watches, and turns every machine on without the wait for its boot. */
  start(): void {
    const { signal } = this.#ended;
    this.#running = Promise.all([this.#feed.run(signal), this.attacher.run(signal)]);
    for (const machine of this.machines) machine.powerOn(0);
  }

  /** All power off, for good. Rejects with what broke the fleet itself, if anything did. */
  async stop(): Promise<void> {
    for (const machine of this.machines) machine.powerOff();
    this.#ended.abort();
    await this.#running;
  }

  #client(user: string, clock: Clock, machine?: Machine): KubeClient {
    const shared = this.#options.transportFor(user);
    return new KubeClient({
      transport: machine === undefined ? shared : new LinkedTransport(shared, machine),
      clock,
      userAgent: machine === undefined ? user : 'kubelet',
      fieldManager: machine === undefined ? user : 'kubelet',
    });
  }
}
