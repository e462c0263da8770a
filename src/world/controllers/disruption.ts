/** Disruption budgets: says in their status how many of their pods may go. */
import type { Condition } from '../objects/meta.ts';
import { controllerOf, isReady, isTerminating, keyOf } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import type { Deployment, PodDisruptionBudget, ReplicaSet, StatefulSet } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer, Informers } from './informer.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { scaled } from './quantities.ts';
import { deployments, podDisruptionBudgets, pods, replicaSets, statefulSets } from './resources.ts';
import { matchesLabels } from './selectors.ts';

const who = 'disruption-controller';

interface Count {
  expected: number;
  desired: number;
}

export class DisruptionController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #podsByNamespace: Index<Pod>;
  readonly #scales: Scales;

  constructor(host: ControllerHost, { podsByNamespace }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#budgets = host.informers.of(podDisruptionBudgets);
    this.#podsByNamespace = podsByNamespace;
    this.#scales = new Scales(host.informers);
    const byNamespace = this.#budgets.indexBy(({ metadata }) => [metadata.namespace ?? '']);
    const queue = host.queue(who, (key) => this.#sync(key));
    this.#budgets.on(({ key }) => queue.add(key));
    const wake = (namespace: string, isMeant: (budget: PodDisruptionBudget) => boolean): void => {
      for (const [key, budget] of byNamespace.of(namespace)) if (isMeant(budget)) queue.add(key);
    };
    host.informers.of<Pod>(pods).on(({ object, previous }) => {
      const namespace = (object ?? previous)?.metadata.namespace ?? '';
      wake(namespace, (budget) => [object, previous].some((pod) => pod !== undefined && isOf(budget, pod)));
    });
    this.#scales.onChange((namespace) => wake(namespace, () => true));
  }

  async #sync(key: string): Promise<number | undefined> {
    const budget = this.#budgets.get(key);
    if (budget === undefined) return undefined;
    const own = [...this.#podsByNamespace.of(budget.metadata.namespace ?? '').values()].filter((pod) =>
      isOf(budget, pod),
    );
    const { disrupted, recheckMs } = this.#disrupted(budget, own);
    const count = this.#count(budget, own);
    const healthy = own.filter(
      (pod) => !isTerminating(pod) && disrupted[pod.metadata.name] === undefined && isReady(pod),
    );
    if (typeof count === 'string') await this.#failSafe(budget, count);
    else await this.#write(budget, { ...count, healthy: healthy.length, disrupted });
    return recheckMs;
  }

  /** Those whose eviction was granted and who have not begun to go, unless that was too long ago. */
  #disrupted(
    budget: PodDisruptionBudget,
    own: readonly Pod[],
  ): { disrupted: Record<string, string>; recheckMs?: number } {
    const known = budget.status?.disruptedPods ?? {};
    const { clock, timings } = this.#host;
    const disrupted: Record<string, string> = {};
    let recheckMs = Infinity;
    for (const pod of own) {
      const since = known[pod.metadata.name];
      if (since === undefined || isTerminating(pod)) continue;
      const leftMs = Date.parse(since) + timings.disruptionTimeoutMs - clock.now();
      if (leftMs < 0) continue;
      disrupted[pod.metadata.name] = since;
      recheckMs = Math.min(recheckMs, leftMs + 1);
    }
    return recheckMs === Infinity ? { disrupted } : { disrupted, recheckMs };
  }

  #count({ spec }: PodDisruptionBudget, own: readonly Pod[]): Count | string {
    if (spec.maxUnavailable === undefined && typeof spec.minAvailable === 'number') {
      return { expected: own.length, desired: spec.minAvailable };
    }
    const expected = this.#scales.sumOf(own);
    if (typeof expected === 'string') return expected;
    if (spec.maxUnavailable !== undefined) {
      return { expected, desired: Math.max(0, expected - scaled(spec.maxUnavailable, expected, 'up')) };
    }
    return { expected, desired: scaled(spec.minAvailable ?? 0, expected, 'up') };
  }

  async #write(
    budget: PodDisruptionBudget,
    { expected, desired, healthy, disrupted }: Count & { healthy: number; disrupted: Record<string, string> },
  ): Promise<void> {
    const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
    const reason = allowed > 0 ? 'SufficientPods' : 'InsufficientPods';
    await this.#update(budget, this.#condition(budget, allowed > 0 ? 'True' : 'False', reason), {
      currentHealthy: healthy,
      desiredHealthy: desired,
      expectedPods: expected,
      disruptionsAllowed: allowed,
      observedGeneration: budget.metadata.generation,
      disruptedPods: Object.keys(disrupted).length === 0 ? undefined : disrupted,
    });
  }

  /** Who cannot count must not let anybody go. */
  async #failSafe(budget: PodDisruptionBudget, message: string): Promise<void> {
    const condition = { ...this.#condition(budget, 'False', 'SyncFailed'), message };
    await this.#update(budget, condition, { disruptionsAllowed: 0 });
  }

  #condition({ metadata }: PodDisruptionBudget, status: string, reason: string): Condition {
    const lastTransitionTime = apiTime(this.#host.clock.now());
    const observedGeneration = metadata.generation ?? 0;
    return { type: 'DisruptionAllowed', status, reason, message: '', observedGeneration, lastTransitionTime };
  }

  /** Exactly as it was read: an eviction may have taken its share meanwhile. */
  async #update(budget: PodDisruptionBudget, condition: Condition, fields: Record<string, unknown>): Promise<void> {
    const before = budget.status ?? {};
    const [known] = before.conditions ?? [];
    const kept = known?.status === condition.status ? { lastTransitionTime: known.lastTransitionTime ?? '' } : {};
    const after = { ...before, ...fields, conditions: [{ ...condition, ...kept }] };
    if (canonical(before) === canonical(after)) return;
    const operations = [{ op: 'add' as const, path: '/status', value: after }];
    await this.#api.patch(podDisruptionBudgets, budget, operations, { subresource: 'status', exact: true });
  }
}

/** Absent and zero are the same to the API. */
function canonical(status: Record<string, unknown>): string {
  const entries = Object.entries(status).filter(([, value]) => value !== undefined && value !== 0);
  return JSON.stringify(
    entries.sort(([left], [right]) => (left < right ? -1 : 1)),
    (_key, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
        : value,
  );
}

function isOf({ spec }: PodDisruptionBudget, pod: Pod): boolean {
  return matchesLabels(spec.selector, pod.metadata.labels);
}

/** How many pods the controllers of some pods want to have. */
class Scales {
  readonly #deployments: Informer<Deployment>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #statefulSets: Informer<StatefulSet>;

  constructor(informers: Informers) {
    this.#deployments = informers.of(deployments);
    this.#replicaSets = informers.of(replicaSets);
    this.#statefulSets = informers.of(statefulSets);
  }

  onChange(wake: (namespace: string) => void): void {
    const listen = <T extends Deployment | StatefulSet | ReplicaSet>(informer: Informer<T>): void =>
      informer.on(({ object, previous }) => {
        const scale = object?.spec.replicas;
        if (object !== undefined && scale !== previous?.spec.replicas) wake(object.metadata.namespace ?? '');
      });
    listen(this.#deployments);
    listen(this.#statefulSets);
    listen(this.#replicaSets);
  }

  /** A sentence when one of them is not known. */
  sumOf(own: readonly Pod[]): number | string {
    const byUid = new Map<string, number>();
    for (const pod of own) {
      const owner = controllerOf(pod);
      // Pods without a controller are left out of the sum.
      if (owner === undefined) continue;
      const found = this.#find(owner.kind, `${pod.metadata.namespace ?? ''}/${owner.name}`, owner.uid);
      if (found === undefined) return `found no controllers for pod "${pod.metadata.name}"`;
      byUid.set(found.uid, found.scale);
    }
    return [...byUid.values()].reduce((sum, scale) => sum + scale, 0);
  }

  #find(kind: string, key: string, uid: string): { uid: string; scale: number } | undefined {
    const object = kind === 'StatefulSet' ? this.#statefulSets.get(key) : this.#replicaSets.get(key);
    if (object === undefined || object.metadata.uid !== uid || !['StatefulSet', 'ReplicaSet'].includes(kind)) {
      return undefined;
    }
    const above = controllerOf(object);
    const deployment =
      above?.kind === 'Deployment'
        ? this.#deployments.get(keyOf({ metadata: { ...object.metadata, name: above.name } }))
        : undefined;
    const scaledBy = deployment ?? object;
    return { uid: scaledBy.metadata.uid ?? '', scale: scaledBy.spec.replicas ?? 1 };
  }
}
