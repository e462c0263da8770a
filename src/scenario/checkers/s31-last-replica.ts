/**
 * S31: except under always-allow, the healthy replicas of a volume never all stand without a budget, and the last healthy
 * one never goes. Which replicas are healthy is known from the disks. It is the operator's doing when it took the budget
 * away that stood last, when the last one that a budget kept left because it was asked to, or when it deleted the replica.
 */
import type { ReplicaObject } from '../../world/longhorn/objects.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { PodDisruptionBudget } from '../../world/objects/workloads.ts';
import type { CheckContext, Checker, Exemption, Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';

export const s31: Invariant = { id: 'S31', check: (context) => new LastReplica(context) };

class LastReplica implements Checker {
  readonly #context: CheckContext;
  /** Replicas that an operator has asked to leave, as `volume node`. */
  readonly #asked = new Set<string>();
  readonly #healthyOn = new Map<string, readonly string[]>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: Write): void {
    if (!succeeded(write) || write.before === undefined) return;
    if (write.resource === 'replicas.longhorn.io') this.#replicaWritten(write);
    if (write.resource !== 'poddisruptionbudgets') return;
    const before = write.before as PodDisruptionBudget;
    const after = write.after as PodDisruptionBudget | undefined;
    if (blocks(before) && (write.verb === 'delete' || !blocks(after))) this.#withdrew(before);
  }

  onReplicas(): void {
    for (const { volume, healthyOn, replicasOn } of this.#context.volumes()) {
      const before = this.#healthyOn.get(volume) ?? [];
      this.#healthyOn.set(volume, healthyOn);
      const left = before.find((node) => !replicasOn.includes(node) && this.#asked.delete(`${volume} ${node}`));
      if (left === undefined || healthyOn.some((node) => this.#isKept(node))) continue;
      const excuses = healthyOn.map((node) => this.#givenUpBy(node));
      this.#tell(
        `no budget keeps a healthy replica of volume ${volume} since that on ${left} left, as it was asked to`,
        excuses.includes(undefined) ? undefined : excuses[0],
      );
    }
  }

  #withdrew(budget: PodDisruptionBudget): void {
    for (const node of this.#nodesOf(budget)) {
      const policy = this.#policyOf(node);
      for (const { volume, healthyOn, attached } of this.#context.volumes()) {
        if (!healthyOn.includes(node) || (policy === 'allow-if-replica-is-stopped' && !attached)) continue;
        if (healthyOn.some((other) => this.#isKept(other))) continue;
        this.#tell(
          `no budget keeps a healthy replica of volume ${volume} since that of ${node} was taken away`,
          this.#givenUpBy(node),
        );
      }
    }
  }

  #replicaWritten(write: Write): void {
    const { verb, before } = write;
    const after: ReplicaObject | undefined = write.after;
    if (verb === 'delete' && before !== undefined) return this.#replicaDeleted(before);
    const { volumeName = '', nodeID = '', evictionRequested = false } = after?.spec ?? {};
    if (evictionRequested) this.#asked.add(`${volumeName} ${nodeID}`);
    else this.#asked.delete(`${volumeName} ${nodeID}`);
  }

  /** A policy that keeps nothing, or a person who has taken the policy away. */
  #givenUpBy(node: string): Exemption | undefined {
    const policy = this.#policyOf(node);
    if (policy === undefined) return 'PersonsAct';
    return policy === 'always-allow' ? 'AlwaysAllow' : undefined;
  }

  #tell(what: string, excuse: Exemption | undefined): void {
    const { violated, exempt } = this.#context;
    if (excuse === undefined) violated(what);
    else exempt(excuse, what);
  }

  #replicaDeleted({ spec }: ReplicaObject): void {
    const { volumes, violated } = this.#context;
    const { volumeName = '', nodeID = '' } = spec ?? {};
    const known = volumes().find(({ volume }) => volume === volumeName);
    if (known?.healthyOn.join() === nodeID) violated(`the last healthy replica of volume ${volumeName} was deleted`);
  }

  #isKept(node: string): boolean {
    return [...this.#context.state.budgets.values()].some(
      (budget) => blocks(budget) && this.#nodesOf(budget).includes(node),
    );
  }

  #nodesOf(budget: PodDisruptionBudget): string[] {
    const selected = [...this.#context.state.pods.values()].filter((pod) => covers(budget, pod));
    return selected.flatMap(({ spec }) => spec.nodeName ?? []);
  }

  /** The one with the highest priority; then the one that asks for the most labels; then the oldest. */
  #policyOf(node: string): string | undefined {
    const { drainPolicies, nodes } = this.#context.state;
    const labels = nodes.get(node)?.metadata.labels ?? {};
    const matching = [...drainPolicies.values()]
      .map(({ metadata, spec }) => ({
        policy: spec?.policy,
        priority: spec?.priority ?? 0,
        wanted: Object.entries(spec?.selector?.matchLabels ?? {}),
        age: `${metadata.creationTimestamp} ${metadata.name}`,
      }))
      .filter(({ wanted }) => wanted.every(([key, value]) => labels[key] === value));
    return matching.sort(
      (a, b) => b.priority - a.priority || b.wanted.length - a.wanted.length || (a.age < b.age ? -1 : 1),
    )[0]?.policy;
  }
}

function blocks(object: PodDisruptionBudget | undefined): boolean {
  const { minAvailable } = object?.spec ?? {};
  return typeof minAvailable === 'number' && minAvailable >= 1;
}

function covers({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  if (pod.metadata.namespace !== metadata.namespace || spec?.selector === undefined) return false;
  const { matchLabels = {} } = spec.selector;
  return Object.entries(matchLabels).every(([key, value]) => pod.metadata.labels?.[key] === value);
}
