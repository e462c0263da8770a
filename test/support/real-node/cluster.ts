/**
 * A real cluster on one machine: a stock control plane, stock kubelets with containerd in namespaces, and block storage over a network
 * of its own. What begins first ends last, whatever happens in between; what a killed process left behind, the next one removes.
 */
import { randomBytes } from 'node:crypto';
import { ensureNodePrograms } from '../../../control-plane/build.ts';
import { realClock } from '../../../src/clock.ts';
import type { KubeClient, KubeObject } from '../../../src/kube/client.ts';
import { nodes as nodeResource } from '../../../src/kube/resources.ts';
import type { VolumeAttachment } from '../../../src/world/objects/volumes.ts';
import { Attacher } from '../../../src/world/storage/attacher.ts';
import { clientFor } from '../client.ts';
import { startControlPlane, type ControlPlane, type ControlPlaneOptions } from '../control-plane.ts';
import { waitFor } from '../wait.ts';
import { BlockController } from './block-controller.ts';
import { BlockServer } from './block-server.ts';
import type { KubeletTimes } from './config.ts';
import { NodeNetwork } from './network.ts';
import type { ClusterNode } from './node.ts';
import { RealNode } from './real-node.ts';
import { VirtualNode } from './virtual-node.ts';

/** Its volumes are attached to one node at a time by the API, and by nothing else: who is connected can write. */
export const diskDriver = 'disk.fenceline.test';
/** The same volumes, which need no attaching: nothing but the life of a pod keeps a second one from them. */
export const directDriver = 'direct.fenceline.test';
/** The same volumes, which the server gives to one node at a time, whatever the API says. */
export const safeDriver = 'safe.fenceline.test';

export interface NodePlan {
  name: string;
  labels?: Readonly<Record<string, string>>;
  images?: readonly string[];
  /** A machine with a kernel of its own; in namespaces of this one, if not said. */
  isVirtual?: boolean;
}

export interface RealClusterOptions {
  /** Names the directory of the logs. */
  name: string;
  nodes: readonly NodePlan[];
  times?: Partial<KubeletTimes>;
  controllerManager?: Exclude<ControlPlaneOptions['controllerManager'], boolean>;
  unreachableTolerationSeconds?: number;
  /** Of the plugins on its nodes; two of them, if not given. */
  drivers?: readonly string[];
}

export class RealCluster {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly storage: BlockServer;
  /** Of the safe driver. */
  readonly controller: BlockController;
  /** Of this machine, as the nodes see it. */
  readonly address: string;
  readonly #nodes: ReadonlyMap<string, ClusterNode>;
  readonly #undo: Undo;

  private constructor(parts: Parts, nodes: readonly ClusterNode[], undo: Undo) {
    this.controlPlane = parts.controlPlane;
    this.client = parts.client;
    this.storage = parts.storage;
    this.controller = parts.controller;
    this.address = parts.network.address;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#undo = undo;
  }

  /** With all nodes Ready. */
  static async start(options: RealClusterOptions): Promise<RealCluster> {
    const undo = new Undo();
    try {
      const parts = await begin(options, undo);
      const begun = await Promise.allSettled(options.nodes.map((plan) => startNode(plan, options, parts)));
      // Not before all have come to something: one that is still beginning when the rest is undone would stay.
      const nodes = begun.map((one) => {
        if (one.status === 'rejected') throw one.reason;
        return one.value;
      });
      const cluster = new RealCluster(parts, nodes, undo);
      await Promise.all(nodes.map(({ name }) => cluster.untilReady(name)));
      return cluster;
    } catch (error) {
      await undo.all(true);
      throw error;
    }
  }

  get nodes(): ClusterNode[] {
    return [...this.#nodes.values()];
  }

  node(name: string): ClusterNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  /** What is to end before the cluster does. */
  onStop(undo: (failed: boolean) => unknown): void {
    this.#undo.add(undo);
  }

  async untilReady(name: string): Promise<void> {
    await waitFor(`node ${name} to be Ready`, async () => isReady(await this.#read(name)), { timeoutMs: 180_000 });
  }

  /** The logs are kept where it failed. */
  async stop(failed: boolean): Promise<void> {
    await this.#undo.all(failed);
    if (failed) console.log(`# logs are in ${this.controlPlane.logs}`);
  }

  async #read(name: string): Promise<KubeObject> {
    const answer = await this.client.get({ resource: nodeResource, name });
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.value;
  }
}

interface Parts {
  network: NodeNetwork;
  storageNetwork: NodeNetwork;
  storage: BlockServer;
  controller: BlockController;
  /** In the network of the storage, by the names of nodes. */
  addresses: Map<string, string>;
  controlPlane: ControlPlane;
  client: KubeClient;
  tokens: ReadonlyMap<string, string>;
  undo: Undo;
}

/** What has to be undone, the last first. One that fails does not keep the others from it. */
class Undo {
  readonly #steps: ((failed: boolean) => unknown)[] = [];

  add(step: (failed: boolean) => unknown): void {
    this.#steps.push(step);
  }

  async all(failed: boolean): Promise<void> {
    const problems: unknown[] = [];
    for (const step of this.#steps.splice(0).toReversed()) {
      await Promise.resolve(step(failed)).catch((error: unknown) => problems.push(error));
    }
    if (problems.length > 0) throw new AggregateError(problems, `not all was removed: ${problems.join('; ')}`);
  }
}

async function begin(options: RealClusterOptions, undo: Undo): Promise<Parts> {
  await NodeNetwork.removeAbandoned();
  const network = await NodeNetwork.make();
  undo.add(() => network.remove());
  const storageNetwork = await NodeNetwork.make('storage');
  undo.add(() => storageNetwork.remove());
  const storage = await BlockServer.start(storageNetwork.address);
  undo.add(() => storage.stop());
  const tokens = new Map(options.nodes.map(({ name }) => [name, randomBytes(16).toString('hex')]));
  const tolerated = options.unreachableTolerationSeconds;
  const controlPlane = await startControlPlane({
    name: options.name,
    users: [...tokens].map(([name, token]) => ({ name: `system:node:${name}`, groups: ['system:nodes'], token })),
    apiserver: {
      serviceAccounts: true,
      flags: ['--bind-address=0.0.0.0', '--authorization-mode=Node', '--enable-admission-plugins=NodeRestriction'],
      ...(tolerated !== undefined && { unreachableTolerationSeconds: tolerated, notReadyTolerationSeconds: tolerated }),
    },
    controllerManager: options.controllerManager ?? true,
    scheduler: true,
  });
  undo.add((failed) => controlPlane.stop({ keepLogs: failed }));
  const client = clientFor(controlPlane);
  undo.add(() => client.close());
  const addresses = new Map<string, string>();
  const controller = new BlockController(storage, (node) => addresses.get(node));
  attach(client, controller, undo);
  return { network, storageNetwork, storage, controller, addresses, controlPlane, client, tokens, undo };
}

/** For the drivers that attach: one of them only says so, the other one asks the storage. */
function attach(client: KubeClient, controller: BlockController, undo: Undo): void {
  const isSafe = ({ spec }: VolumeAttachment): boolean => spec.attacher === safeDriver;
  const attacher = new Attacher({
    client,
    clock: realClock,
    random: Math.random,
    drivers: [diskDriver, safeDriver],
    onProblem: () => {},
    refuses: (attachment) => (isSafe(attachment) ? controller.publish(attachment) : undefined),
    refusesDetach: (attachment) => (isSafe(attachment) ? controller.unpublish(attachment) : undefined),
  });
  const ended = new AbortController();
  const attaching = attacher.run(ended.signal);
  undo.add(() => {
    ended.abort();
    return attaching;
  });
}

async function startNode(plan: NodePlan, options: RealClusterOptions, parts: Parts): Promise<ClusterNode> {
  const { network, storageNetwork, storage, addresses, controlPlane, tokens, undo } = parts;
  const { times = {}, drivers = [diskDriver, directDriver] } = options;
  const kind = plan.isVirtual === true ? VirtualNode : RealNode;
  const node = await kind.start({
    name: plan.name,
    binaries: await ensureNodePrograms(),
    network,
    api: { port: controlPlane.port, caPem: controlPlane.caCert, token: tokens.get(plan.name) ?? '' },
    logDir: controlPlane.logs,
    labels: { 'kubernetes.io/hostname': plan.name, ...plan.labels },
    images: plan.images ?? [],
    apiService: '10.96.0.1',
    drivers,
    storage: { network: storageNetwork, port: storage.port },
    times,
  });
  undo.add(() => node.remove());
  addresses.set(plan.name, node.storageAddress);
  return node;
}

function isReady(node: KubeObject): boolean {
  const { status } = node as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.some(({ type, status: said }) => type === 'Ready' && said === 'True') ?? false;
}
