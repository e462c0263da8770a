/** A real cluster with the product on it: a node that the operator runs on, and workers whose BMCs own them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '../wait.ts';
import { RealCluster } from './cluster.ts';
import { infra, operatorImage, Product, workers } from './product.ts';

/** As kubelets and controllers have them where nobody has changed anything. */
const stock = {
  times: { leaseDurationSeconds: 40, statusEveryMs: 10_000 },
  controllerManager: { nodeMonitorPeriodSeconds: 5, nodeMonitorGraceSeconds: 50 },
  unreachableTolerationSeconds: 300,
};

interface NodeObject {
  spec: { taints?: unknown[]; unschedulable?: boolean };
  status: { conditions: { type: string; status: string }[] };
}

export interface MachinesPlan {
  /** Of the directory of the logs. */
  name: string;
  workers: readonly string[];
  operators?: readonly string[];
  /** Workers that are machines of their own. */
  virtual?: readonly string[];
  /** Nodes with a BMC: the workers, if not given. */
  owned?: readonly string[];
  policy?: object;
}

export class Machines {
  readonly cluster: RealCluster;
  readonly product: Product;
  readonly #removeImage: () => Promise<void>;

  private constructor(cluster: RealCluster, product: Product, removeImage: () => Promise<void>) {
    this.cluster = cluster;
    this.product = product;
    this.#removeImage = removeImage;
  }

  /** With as many replicas of the operator as there are nodes for it. */
  static async start(plan: MachinesPlan): Promise<Machines> {
    const { name, workers: names, operators = ['infra-1'], virtual = [], owned = names, policy = {} } = plan;
    const image = await operatorImage();
    let cluster: RealCluster | undefined;
    try {
      const nodes = names.map((worker) => ({
        name: worker,
        labels: workers,
        isVirtual: virtual.includes(worker),
      }));
      cluster = await RealCluster.start({
        ...stock,
        name,
        nodes: [...operators.map((one) => ({ name: one, labels: infra, images: [image.path] })), ...nodes],
      });
      const product = await Product.install(cluster, { names: owned, policy, replicas: operators.length });
      return new Machines(cluster, product, image.remove);
    } catch (error) {
      await cluster?.stop(true);
      await image.remove();
      throw error;
    }
  }

  /**
   * What is restarted wherever it runs as a pod: a stock scheduler ends itself when it finds a pod on another node than it remembers,
   * as it may after an API server that was away.
   */
  async revive(): Promise<void> {
    const { controlPlane } = this.cluster;
    for (const component of ['kube-scheduler', 'kube-controller-manager'] as const) {
      if (controlPlane.pids()[component] === undefined) await controlPlane.restart(component);
    }
  }

  async stop(failed: boolean): Promise<void> {
    try {
      if (failed) await this.#keepWords();
      await this.cluster.stop(failed);
    } finally {
      await this.#removeImage();
    }
  }

  /** What pods said, the operator's among them, and what was on record in the end, beside the other logs: nodes take theirs with them. */
  async #keepWords(): Promise<void> {
    const { logs } = this.cluster.controlPlane;
    for (const node of this.cluster.nodes) await node.keepLogs(join(logs, `${node.name}-pods`));
    const kinds = ['nodefences', 'fencedevices', 'remedypolicies', 'nodes', 'leases', 'pods', 'volumeattachments'];
    for (const kind of kinds) {
      const text = await this.product.type(`kubectl get ${kind} -A -o yaml`).catch(String);
      await writeFile(join(logs, `${kind}.yaml`), text);
    }
  }

  /** Ready, and everybody may use it. */
  async inService(name: string, timeoutMs = 180_000): Promise<void> {
    await waitFor(
      `${name} to be in service`,
      async () => {
        const { spec, status } = JSON.parse(await this.product.type(`kubectl get node ${name} -o json`)) as NodeObject;
        const isReady = status.conditions.some((one) => one.type === 'Ready' && one.status === 'True');
        return isReady && spec.taints === undefined && spec.unschedulable !== true;
      },
      { timeoutMs, intervalMs: 500 },
    );
  }

  /** What the product thinks of a node. */
  async verdict(name: string, wanted: string): Promise<void> {
    await waitFor(
      `${name} to be ${wanted}`,
      async () => new RegExp(`^${name} +${wanted} `, 'm').test(await this.product.type('bin/fenceline status')),
      { timeoutMs: 120_000, intervalMs: 1000 },
    );
  }

  /** The node of the replica that leads. */
  async leader(): Promise<string> {
    const holder = await this.product.type(
      `kubectl get lease fenceline -n fenceline -o 'jsonpath={.spec.holderIdentity}'`,
    );
    // In the network of its node an operator is called as the machine is.
    const found = this.cluster.nodes.find(({ name }) => holder.startsWith(`${name}_`));
    if (found === undefined) throw new Error(`${holder} leads, and is on no node`);
    return found.name;
  }

  /** On what basis pods went from a node in its incident. */
  async basesOf(name: string): Promise<string[]> {
    const record = await this.product.record(name);
    return [...new Set((record?.status?.releases ?? []).map(({ basis }) => basis))];
  }
}
