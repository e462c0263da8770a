/** ReplicaSets: so many pods of a kind. One that is being deleted no longer counts and is replaced at once. */
import { isReady, isTerminating } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import type { ReplicaSet } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { availableInMs, generatedName, isActive, podFrom } from './pod-factory.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { adoptOrphans, queueOwnersOfPods } from './pod-indexes.ts';
import { pods, replicaSets } from './resources.ts';

const who = 'replicaset-controller';
/** At most so many at a time. */
const burst = 500;

export class ReplicaSetController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #sets: Informer<ReplicaSet>;
  readonly #podsByController: Index<Pod>;
  readonly #orphans: Index<Pod>;

  constructor(host: ControllerHost, { podsByController, orphansByNamespace }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#sets = host.informers.of(replicaSets);
    this.#podsByController = podsByController;
    this.#orphans = orphansByNamespace;
    const queue = host.queue(who, (key) => this.#sync(key));
    this.#sets.on(({ key }) => queue.add(key));
    queueOwnersOfPods(host, 'ReplicaSet', queue);
  }

  async #sync(key: string): Promise<number | undefined> {
    const set = this.#sets.get(key);
    if (set === undefined) return undefined;
    await adoptOrphans({ api: this.#api, orphans: this.#orphans, resource: replicaSets }, set);
    if (!isTerminating(set)) await this.#scale(set);
    const fresh = this.#sets.get(key);
    return fresh === undefined ? undefined : this.#report(fresh);
  }

  #active(set: ReplicaSet): Pod[] {
    return [...this.#podsByController.of(set.metadata.uid ?? '').values()].filter(isActive);
  }

  async #scale(set: ReplicaSet): Promise<void> {
    const active = this.#active(set);
    const missing = (set.spec.replicas ?? 1) - active.length;
    for (let made = 0; made < Math.min(missing, burst); made += 1) {
      const name = this.#freeName(set);
      await this.#api.create<Pod>(pods, podFrom(set.spec.template, set, replicaSets, { name }));
    }
    if (missing >= 0) return;
    for (const pod of active.sort(leastWorthFirst).slice(0, -missing)) await this.#api.delete(pods, pod);
  }

  /** One that nobody has: the API server makes another one where it did. */
  #freeName({ metadata: { name, namespace = '' } }: ReplicaSet): string {
    const known = this.#host.informers.of<Pod>(pods);
    for (;;) {
      const free = generatedName(name, this.#host.random);
      if (known.get(`${namespace}/${free}`) === undefined) return free;
    }
  }

  async #report(set: ReplicaSet): Promise<number | undefined> {
    const active = this.#active(set);
    const now = this.#host.clock.now();
    const waits = active.filter(isReady).map((pod) => availableInMs(pod, set.spec.minReadySeconds, now));
    await this.#api.counters(replicaSets, set, {
      observedGeneration: set.metadata.generation,
      replicas: active.length,
      fullyLabeledReplicas: active.length,
      readyReplicas: waits.length,
      availableReplicas: waits.filter((wait) => wait === 0).length,
    });
    const later = waits.filter((wait) => wait > 0);
    return later.length === 0 ? undefined : Math.min(...later) + 1;
  }
}

/** Not on a node before those that are, then pending, then not ready, then the youngest. */
function leastWorthFirst(a: Pod, b: Pod): number {
  const rank = (pod: Pod): number[] => [
    pod.spec.nodeName === undefined ? 0 : 1,
    pod.status?.phase === 'Pending' ? 0 : 1,
    isReady(pod) ? 1 : 0,
    -Date.parse(pod.metadata.creationTimestamp ?? ''),
  ];
  const [left, right] = [rank(a), rank(b)];
  for (const [at, value] of left.entries()) {
    const other = right[at] ?? 0;
    if (value !== other) return value - other;
  }
  return 0;
}
