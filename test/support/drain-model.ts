/**
 * A small world for the drain guard, in which everything that can happen next is enumerated: people, drains, a storage
 * system that rebuilds, and the operator, stopped after each of its writes. What is on a node that was drained counts as
 * lost, as if its machine were taken away the moment the drain ends.
 */
import type { DrainAction, DrainPolicyName, DrainView } from '../../src/api/drain-view.ts';
import { decideDrain } from '../../src/decide/decide-drain.ts';
import { budget, drainView, node, policy, replica, storageNode, volume } from './drain-case.ts';

export const modelNodes = ['a', 'b', 'c', 'd'] as const;
type ModelNode = (typeof modelNodes)[number];

export interface ModelReplica {
  node: ModelNode;
  copy: 'healthy' | 'rebuilding' | 'failed';
  requested: boolean;
}

export type UserAct = { cordon: ModelNode } | { uncordon: ModelNode } | { policy: DrainPolicyName };

export interface Model {
  policy: DrainPolicyName;
  /** Every policy that was ever in force. */
  policies: DrainPolicyName[];
  attached: boolean;
  wanted: number;
  replicas: ModelReplica[];
  cordoned: ModelNode[];
  pods: ModelNode[];
  budgets: { node: ModelNode; version: number; announced: boolean }[];
  autoEvicting: ModelNode[];
  /** What people are still going to do, in this order. */
  script: UserAct[];
}

export interface Step {
  what: string;
  next: Model;
}

export function viewOf(model: Model): DrainView {
  return drainView({
    nodes: modelNodes.map((name) =>
      node(name, {
        cordoned: model.cordoned.includes(name),
        policy: policy(model.policy),
        storage: storageNode(name, { autoEvicting: model.autoEvicting.includes(name) }),
      }),
    ),
    volumes: [volume('v', { wantedReplicas: model.wanted, attachment: model.attached ? 'attached' : 'detached' })],
    replicas: model.replicas.map(({ node: at, copy, requested }) =>
      replica('v', at, {
        copy,
        activity: model.attached ? 'running' : 'stopped',
        evictionRequested: requested,
        ...(requested ? { requestedFor: 'default' } : {}),
      }),
    ),
    budgets: model.budgets.map(({ node: at, version, announced }) =>
      budget(at, { resourceVersion: String(version), withdrawing: announced }),
    ),
  });
}

export function healthy({ replicas }: Model): number {
  return replicas.filter(({ copy }) => copy === 'healthy').length;
}

export function worldSteps(model: Model): Step[] {
  return [...userSteps(model), ...drainSteps(model), ...storageSteps(model)];
}

export function operatorSteps(model: Model): Step[] {
  return decideDrain(viewOf(model)).actions.map((action) => ({
    what: `operator: ${action.do} ${action.node}`,
    next: perform(model, action),
  }));
}

function userSteps(model: Model): Step[] {
  const [act, ...script] = model.script;
  if (act === undefined) return [];
  const next = { ...model, script };
  if ('cordon' in act) return [{ what: 'cordon', next: { ...next, cordoned: [...next.cordoned, act.cordon].sort() } }];
  if ('uncordon' in act) {
    return [{ what: 'uncordon', next: { ...next, cordoned: next.cordoned.filter((one) => one !== act.uncordon) } }];
  }
  const policies = [...new Set([...next.policies, act.policy])].sort();
  return [{ what: `policy ${act.policy}`, next: { ...next, policy: act.policy, policies } }];
}

/** A drain takes the pod of any cordoned node that no budget keeps, announced to go or not. */
function drainSteps(model: Model): Step[] {
  const { pods, cordoned, budgets, replicas } = model;
  const free = pods.filter((one) => cordoned.includes(one) && budgets.every(({ node: kept }) => kept !== one));
  const drained = free.map((one) => ({
    what: `drained ${one}`,
    next: {
      ...model,
      pods: pods.filter((pod) => pod !== one),
      replicas: replicas.filter(({ node: at }) => at !== one),
    },
  }));
  const back = modelNodes.filter((one) => !pods.includes(one) && !cordoned.includes(one));
  return [
    ...drained,
    ...back.map((one) => ({ what: `pod of ${one}`, next: { ...model, pods: [...pods, one].sort() } })),
  ];
}

/** Rebuilds what is missing or has to move, one at a time, and lets go what has moved. */
function storageSteps(model: Model): Step[] {
  const { replicas, wanted, cordoned, pods } = model;
  const steps: Step[] = [];
  const rebuilding = replicas.filter(({ copy }) => copy === 'rebuilding');
  for (const one of rebuilding) {
    const rest = replicas.filter((other) => other !== one);
    if (healthy(model) > 0) {
      steps.push({
        what: `rebuilt on ${one.node}`,
        next: { ...model, replicas: sorted([...rest, { ...one, copy: 'healthy' }]) },
      });
    }
  }
  const staying = replicas.filter(({ copy, requested }) => copy === 'healthy' && !requested).length;
  if (staying + rebuilding.length < wanted && healthy(model) > 0) {
    const places = modelNodes.filter(
      (one) => !cordoned.includes(one) && pods.includes(one) && replicas.every(({ node: at }) => at !== one),
    );
    for (const one of places) {
      const fresh: ModelReplica = { node: one, copy: 'rebuilding', requested: false };
      steps.push({ what: `rebuild to ${one}`, next: { ...model, replicas: sorted([...replicas, fresh]) } });
    }
  }
  for (const one of replicas) {
    const useless = one.requested && (one.copy === 'healthy' ? healthy(model) > wanted : staying >= wanted);
    if (useless) {
      steps.push({ what: `left ${one.node}`, next: { ...model, replicas: replicas.filter((other) => other !== one) } });
    }
  }
  return steps;
}

export function perform(model: Model, action: DrainAction): Model {
  const at = action.node as ModelNode;
  const others = model.budgets.filter(({ node: kept }) => kept !== at);
  const own = model.budgets.find(({ node: kept }) => kept === at);
  const asked = (requested: boolean): Model => ({
    ...model,
    replicas: model.replicas.map((one) => (one.node === at ? { ...one, requested } : one)),
  });
  const changed = (announced: boolean): Model => ({
    ...model,
    budgets: inOrder([...others, { node: at, version: Math.min((own?.version ?? 0) + 1, 3), announced }]),
  });
  switch (action.do) {
    case 'createBudget':
    case 'repairBudget':
      return { ...model, budgets: inOrder([...others, { node: at, version: 1, announced: false }]) };
    case 'announceWithdrawal':
      return changed(true);
    case 'keepBudget':
      return changed(false);
    case 'deleteBudget':
      return { ...model, budgets: others };
    case 'requestEviction':
      return asked(true);
    case 'withdrawEviction':
      return asked(false);
    case 'setAutoEvicting': {
      const rest = model.autoEvicting.filter((one) => one !== at);
      return { ...model, autoEvicting: action.value ? [...rest, at].sort() : rest };
    }
  }
}

/** Every state that can be reached; `look` is called once for each, with the way that led there. */
export function explore<T>(
  start: T,
  stepsOf: (state: T) => { what: string; next: T }[],
  look: (state: T, way: string[], isEnd: boolean) => void,
): number {
  const seen = new Set([JSON.stringify(start)]);
  const queue: { state: T; way: string[] }[] = [{ state: start, way: [] }];
  for (const { state, way } of queue) {
    const steps = stepsOf(state);
    look(state, way, steps.length === 0);
    for (const { what, next } of steps) {
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push({ state: next, way: [...way, what] });
    }
  }
  return seen.size;
}

function sorted(replicas: ModelReplica[]): ModelReplica[] {
  return replicas.sort((one, other) => (one.node < other.node ? -1 : 1));
}

function inOrder(budgets: Model['budgets']): Model['budgets'] {
  return budgets.sort((one, other) => (one.node < other.node ? -1 : 1));
}
