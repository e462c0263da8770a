/**
 * The least that can carry out what the drain guard decides, in the operator's place: it looks every second, decides,
 * and does one thing after the other. It shows that the rules, the facts and the simulated Longhorn fit together.
 */
import type { DrainPolicyInput } from '../../../src/api/drain-policy.ts';
import { DrainPolicySchema } from '../../../src/api/drain-policy.ts';
import type { DrainAction, DrainNode, DrainView } from '../../../src/api/drain-view.ts';
import type { Clock } from '../../../src/clock.ts';
import { sleep } from '../../../src/clock.ts';
import { decideDrain, enforcementOf } from '../../../src/drain/decide-drain.ts';
import type { KubeObject } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import type { Result } from '../../../src/kube/errors.ts';
import { eventObject } from '../../../src/kube/event-object.ts';
import { events, nodes } from '../../../src/kube/resources.ts';
import type { Resource } from '../../../src/kube/resources.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { BudgetObject } from '../../../src/storage/budgets.ts';
import { budgetFacts, guardBudget, podDisruptionBudgets, withdrawalMark } from '../../../src/storage/budgets.ts';
import { longhorn } from '../../../src/storage/longhorn.ts';
import type { StoragePatch } from '../../../src/storage/storage.ts';
import type { Node } from '../../../src/world/objects.ts';

const namespace = 'longhorn-system';
const everyMs = 1000;
const drainPolicies: Resource = {
  group: 'fenceline.dev',
  version: 'v1alpha1',
  plural: 'drainpolicies',
  kind: 'DrainPolicy',
  namespaced: false,
};

export interface GuardOptions {
  decide?: typeof decideDrain;
}

export function drainGuard({ decide = decideDrain }: GuardOptions = {}): NonNullable<RunOptions['program']> {
  return ({ transport, clock }) => {
    const client = new KubeClient({ transport, clock, userAgent: 'fenceline', fieldManager: 'fenceline' });
    const guard = new Guard(client, clock, decide);
    return {
      async run() {
        for (;;) {
          await guard.pass();
          await sleep(clock, everyMs);
        }
      },
    };
  };
}

class Guard {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #decide: typeof decideDrain;
  #events = 0;

  constructor(client: KubeClient, clock: Clock, decide: typeof decideDrain) {
    this.#client = client;
    this.#clock = clock;
    this.#decide = decide;
  }

  async pass(): Promise<void> {
    const view = await this.#read();
    if (view === undefined) return;
    for (const action of this.#decide(view).actions) {
      if (!(await this.#perform(action))) return;
    }
  }

  async #read(): Promise<DrainView | undefined> {
    const cluster = await Promise.all([
      this.#client.list<Node>(nodes),
      this.#client.list<KubeObject>(drainPolicies),
      this.#client.list<BudgetObject>(podDisruptionBudgets, { namespace }),
    ]);
    const lists = await Promise.all(
      longhorn.resources.map(async (resource) => [resource, await this.#client.list(resource, { namespace })] as const),
    );
    const [kubeNodes, policies, budgets] = cluster;
    // What cannot be read is not decided about.
    if (!kubeNodes.ok || !policies.ok || !budgets.ok || lists.some(([, list]) => !list.ok)) return undefined;
    const objects = new Map<Resource, KubeObject[]>(
      lists.map(([resource, list]) => [resource, list.ok ? list.value.items : []]),
    );
    const {
      enforces,
      nodes: storage,
      ...facts
    } = longhorn.facts((resource) => (objects.get(resource) ?? []).map(longhorn.slim));
    const [written] = policies.value.items;
    const policy: DrainNode['policy'] =
      written === undefined ? { kind: 'none' } : policyOf(written as unknown as DrainPolicyInput, enforces);
    const known = new Map(storage.map((one) => [one.name, one]));
    return {
      ...facts,
      namespace,
      nodes: kubeNodes.value.items.map(({ metadata: { name }, spec }): DrainNode => {
        const own = known.get(name);
        return { name, cordoned: spec?.unschedulable === true, policy, ...(own === undefined ? {} : { storage: own }) };
      }),
      budgets: budgets.value.items.map(budgetFacts),
    };
  }

  async #perform(action: DrainAction): Promise<boolean> {
    switch (action.do) {
      case 'createBudget':
        return (await this.#client.create(podDisruptionBudgets, guardBudget(namespace, action))).ok;
      case 'announceWithdrawal':
      case 'keepBudget': {
        const { name, uid, resourceVersion } = action.budget;
        const ref = { resource: podDisruptionBudgets, namespace, name };
        const operations = withdrawalMark(action.do === 'announceWithdrawal');
        return (await this.#client.patch(ref, { uid, resourceVersion }, operations)).ok;
      }
      case 'deleteBudget': {
        const { name, uid, resourceVersion } = action.budget;
        const counts = await Promise.all(action.counts.map(({ budget }) => this.#stands(budget)));
        if (!counts.every(Boolean)) return false;
        return (
          await this.#client.delete({ resource: podDisruptionBudgets, namespace, name }, { uid, resourceVersion })
        ).ok;
      }
      case 'requestEviction':
      case 'withdrawEviction': {
        const wanted = action.do === 'requestEviction' ? action.policy : undefined;
        const patched = await this.#patch(longhorn.eviction(namespace, action.replica, wanted));
        if (patched.ok) await this.#report(action);
        return patched.ok;
      }
      case 'setAutoEvicting':
        return (await this.#patch(longhorn.autoEvicting(namespace, action.storage, action.value))).ok;
    }
  }

  async #stands({ name, uid }: { name: string; uid: string }): Promise<boolean> {
    const read = await this.#client.get<BudgetObject>({ resource: podDisruptionBudgets, namespace, name });
    return read.ok && read.value.metadata.uid === uid && !budgetFacts(read.value).withdrawing;
  }

  #patch({ ref, only, operations, subresource }: StoragePatch): Promise<Result<KubeObject>> {
    return this.#client.patch(ref, only, operations, subresource === undefined ? {} : { subresource });
  }

  async #report(action: Extract<DrainAction, { event: string }>): Promise<void> {
    this.#events += 1;
    const { name, uid } = action.replica;
    const regarding = { apiVersion: 'longhorn.io/v1beta2', kind: 'Replica', namespace, name, uid };
    const input = { regarding, type: 'Normal' as const, reason: action.event, action: 'Evict', note: action.message };
    const reporter = { reportingController: 'fenceline.dev/operator', reportingInstance: 'test' };
    await this.#client.create(events, eventObject(input, reporter, this.#clock.now(), this.#events));
  }
}

function policyOf(written: DrainPolicyInput, storageEnforces: boolean): DrainNode['policy'] {
  const { metadata, spec } = DrainPolicySchema.parse(written);
  const enforcement = enforcementOf(spec.enforcement, storageEnforces);
  return { kind: 'one', name: metadata.name, policy: spec.policy, enforcement };
}
