/** A real API server with a cluster's worth of objects in it, whose heartbeats go on for as long as it lives. */
import { join } from 'node:path';
import { type ControlPlane, type EtcdEntry, startControlPlane } from '../../test/support/control-plane.ts';
import { clientFor } from '../../test/support/client.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { collectionPath, leases, nodes, pods, withQuery, type Resource } from '../../src/kube/resources.ts';
import { leaseNamespace, nodeEntries } from './node-objects.ts';
import { podEntries } from './objects.ts';
import { Child } from './process.ts';
import { root, say } from './report.ts';

export class Cluster implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly nodes: number;
  #renewer: Child | undefined;
  readonly #client: KubeClient;

  private constructor(controlPlane: ControlPlane, nodeCount: number) {
    this.controlPlane = controlPlane;
    this.nodes = nodeCount;
    this.#client = clientFor(controlPlane);
  }

  static async start(nodeCount: number): Promise<Cluster> {
    const cluster = new Cluster(await startControlPlane({ name: 'bench' }), nodeCount);
    try {
      await cluster.#seed();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Renewals so far, up to a second ago. */
  readonly renewed = (): number => Number(this.#renewer?.latest.match(/^renewed (\d+)$/)?.[1] ?? 0);

  async seedPods(count: number): Promise<void> {
    if (count > 0) await this.seed('pods', count, podEntries(count, this.nodes));
  }

  /** Every other node falls silent. */
  silence(): void {
    this.#renewer?.signal('SIGUSR2');
  }

  /** Those nodes come back, each when its next renewal is due; resolves when all have. */
  async back(): Promise<void> {
    const back = this.#renewer?.line('back', (line) => line === 'back' || undefined, 120_000);
    this.#renewer?.signal('SIGUSR2');
    await back;
  }

  /** With so many pods among them. */
  async seed(what: string, podCount: number, entries: Iterable<EtcdEntry>): Promise<void> {
    const startedAt = performance.now();
    await this.controlPlane.etcdPut(entries);
    await this.#check(pods, 'workloads', podCount);
    say(`${what} with ${podCount} pods seeded in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#renewer?.[Symbol.asyncDispose]();
    this.#client.close();
    await this.controlPlane.stop();
  }

  async #seed(): Promise<void> {
    const startedAt = performance.now();
    await this.controlPlane.etcdPut(nodeEntries(this.nodes));
    await this.#check(nodes, undefined, this.nodes);
    await this.#check(leases, leaseNamespace, this.nodes);
    say(`${this.nodes} nodes seeded in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    this.#renewer = new Child('the renewer', {
      file: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        join(root, 'bench', 'lease-renewer.ts'),
        this.controlPlane.kubeconfigPath,
        this.controlPlane.etcdUrl,
        String(this.nodes),
      ],
    });
    await this.#renewer.line('running', (line) => line === 'running' || undefined, 120_000);
  }

  /** What was put straight into etcd, the API server has to read before it can serve all pages of a list from its memory. */
  async #isKnown(resource: Resource, resourceVersion: string): Promise<boolean> {
    const query = { limit: '1', resourceVersion, resourceVersionMatch: 'NotOlderThan' };
    const { code } = await this.controlPlane.kubectl(['get', '--raw', withQuery(collectionPath(resource), query)]);
    return code === 0;
  }

  /** Through the API, as clients will see it: all there, and of the size that was meant. */
  async #check(resource: Resource, namespace: string | undefined, count: number): Promise<void> {
    const sample = await waitFor(
      `${count} ${resource.plural} to be listed`,
      async () => {
        const query = { limit: 20, ...(namespace !== undefined && { namespace }) };
        const listed = await this.#client.list(resource, query);
        if (!listed.ok) throw new Error(listed.error.message);
        const { metadata, items } = listed.value;
        const rest = (metadata as { remainingItemCount?: number }).remainingItemCount ?? 0;
        return items.length + rest === count && (await this.#isKnown(resource, metadata.resourceVersion)) && items;
      },
      { timeoutMs: 300_000, intervalMs: 500 },
    );
    const kilobytes = sample.reduce((sum, item) => sum + JSON.stringify(item).length, 0) / sample.length / 1000;
    say(`${count} ${resource.plural} of ${kilobytes.toFixed(1)} kB each`);
  }
}
