/** Real nodes as the simulated Longhorn sees machines: it serves replicas where the container of an instance manager really runs. */
import { setTimeout as delay } from 'node:timers/promises';
import { pods } from '../../../src/kube/resources.ts';
import { instanceManagerName, longhornNamespace } from '../../../src/world/longhorn/objects.ts';
import type { StorageMachine } from '../../../src/world/longhorn/spec.ts';
import type { MachineEvent, Process } from '../../../src/world/machines/machine.ts';
import type { RealCluster } from './cluster.ts';
import type { ClusterNode } from './node.ts';

/** The kernel does not tell when a container begins or ends. */
const lookEveryMs = 200;

class RealStorageMachine implements StorageMachine {
  readonly processes = new Map<string, Process>();
  readonly #node: ClusterNode;
  readonly #listeners = new Set<(event: MachineEvent) => void>();

  constructor(node: ClusterNode) {
    this.#node = node;
  }

  get name(): string {
    return this.#node.name;
  }

  get alive(): boolean {
    return this.#node.isOn;
  }

  on(listener: (event: MachineEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What runs now of the instance managers that there are, by their UIDs; and of those that ran before. */
  async look(uids: readonly string[]): Promise<void> {
    for (const podUid of new Set([...uids, ...this.processes.keys()])) {
      const [id] = await this.#node.containersOf(podUid);
      const known = this.processes.get(podUid);
      if (known?.id === id) continue;
      this.processes.delete(podUid);
      if (known !== undefined) this.#tell({ type: 'processStopped', process: known });
      if (id === undefined) continue;
      const podName = instanceManagerName(this.name);
      const process = {
        id,
        podUid,
        namespace: longhornNamespace,
        podName,
        bootId: '',
        startedAt: Date.now(),
        volumes: [],
      };
      this.processes.set(podUid, process);
      this.#tell({ type: 'processStarted', process });
    }
  }

  #tell(event: MachineEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** They are looked at until the cluster stops. */
export function storageMachines(cluster: RealCluster): StorageMachine[] {
  const machines = cluster.nodes.map((node) => new RealStorageMachine(node));
  const ended = new AbortController();
  const looking = (async () => {
    while (!ended.signal.aborted) {
      const found = await cluster.client.list(pods, { namespace: longhornNamespace });
      for (const machine of found.ok ? machines : []) {
        const own = found.ok
          ? found.value.items.filter(({ metadata }) => metadata.name === instanceManagerName(machine.name))
          : [];
        await machine.look(own.map(({ metadata }) => metadata.uid ?? ''));
      }
      await delay(lookEveryMs, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  cluster.onStop(() => {
    ended.abort();
    return looking;
  });
  return machines;
}
