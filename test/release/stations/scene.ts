/** What the stations of the walk do to the cluster, and how they look at it. */
import assert from 'node:assert/strict';
import { realClock } from '../../../src/clock.ts';
import type { NodeFence } from '../../../src/api/node-fence.ts';
import { Longhorn } from '../../../src/world/longhorn/longhorn.ts';
import type { LonghornVolume } from '../../../src/world/longhorn/spec.ts';
import type { FleetCluster, RunningSet } from '../../support/fleet-cluster.ts';
import { waitFor } from '../../support/wait.ts';
import type { Newcomer } from '../newcomer.ts';
import type { Reader } from '../reader.ts';

export const patient = { timeoutMs: 120_000, intervalMs: 200 };

interface Condition {
  type: string;
  status: string;
  reason: string;
}

interface Policy {
  metadata: { generation: number };
  spec: { mode: string };
  status?: { observedGeneration?: number; nodes?: number; conditions?: Condition[] };
}

export class Scene {
  readonly cluster: FleetCluster;
  readonly reader: Reader;
  readonly #newcomer: Newcomer;
  readonly #ended = new AbortController();
  #storage: Promise<void> = Promise.resolve();

  constructor(newcomer: Newcomer) {
    this.#newcomer = newcomer;
    this.cluster = newcomer.cluster;
    this.reader = newcomer.reader;
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await this.#storage;
  }

  get machineOf(): (name: string) => ReturnType<Newcomer['fleet']['machine']> {
    return (name) => this.#newcomer.fleet.machine(name);
  }

  async get<T>(what: string): Promise<T> {
    return JSON.parse(await this.reader.type(`kubectl get ${what} -o json`)) as T;
  }

  /** The names of all that there is of it. */
  async names(what: string): Promise<string[]> {
    const { items } = await this.get<{ items: { metadata: { name: string } }[] }>(what);
    return items.map(({ metadata }) => metadata.name);
  }

  async runningOn(node: string, name: string, driver?: string): Promise<RunningSet> {
    const set = await this.cluster.statefulSet(name, { on: node, ...(driver === undefined ? {} : { driver }) });
    assert.equal(set.machine.name, node);
    return set;
  }

  async fence(node: string): Promise<NodeFence> {
    return this.get<NodeFence>(`nodefence node-fence-${node}`);
  }

  /** On what basis the pod of the set was let go, as the record of its node has it. */
  async basisOf({ pod, machine }: RunningSet): Promise<string | undefined> {
    const { releases } = (await this.fence(machine.name)).status;
    return releases.find(({ pods }) => pods.some(({ uid }) => uid === pod.metadata.uid))?.basis;
  }

  /** The pod of before is there, as it was. */
  async isStillThere({ pod }: RunningSet): Promise<void> {
    assert.equal((await this.cluster.pod(pod.metadata.name))?.metadata.uid, pod.metadata.uid);
  }

  /** The operator has looked at what was written last, takes it, and has it in force for so many nodes. */
  async inForce(policy: string, mode: string, nodes: number): Promise<void> {
    await waitFor(
      `policy ${policy} to be in force`,
      async () => {
        const { metadata, spec, status } = await this.get<Policy>(`remedypolicy ${policy}`);
        const valid = status?.conditions?.find(({ type }) => type === 'Valid');
        assert.deepEqual(
          [spec.mode, status?.observedGeneration, status?.nodes, valid?.status],
          [mode, metadata.generation, nodes, 'True'],
        );
        return true;
      },
      patient,
    );
  }

  async condition(policy: string, type: string): Promise<Condition | undefined> {
    const { status } = await this.get<Policy>(`remedypolicy ${policy}`);
    return status?.conditions?.find((one) => one.type === type);
  }

  async annotation(node: string, key: string): Promise<string | undefined> {
    return (await this.cluster.node(node)).metadata.annotations?.[key];
  }

  /** Replicated storage on some of the nodes, with these volumes. */
  async replicatedStorage(nodes: readonly string[], volumes: readonly LonghornVolume[]): Promise<Longhorn> {
    const { transport, fleet } = this.#newcomer;
    const longhorn = new Longhorn({
      clock: realClock,
      random: Math.random,
      transportFor: () => transport,
      machines: fleet.machines.filter(({ name }) => nodes.includes(name)),
      spec: { diskGiB: 100, rebuildMiBps: 70, softAntiAffinity: false, volumes },
    });
    this.#storage = longhorn.run(this.#ended.signal);
    const replicas = volumes.flatMap(({ replicas: places }) => places).length;
    const look = async (): Promise<boolean> =>
      (await this.names('replicas.longhorn.io -n longhorn-system')).length === replicas;
    await waitFor('the storage system', look, patient);
    return longhorn;
  }
}
