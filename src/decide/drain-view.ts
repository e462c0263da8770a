/** What a decision about drains rests on, from what was watched or read. */
import type {
  BudgetFacts,
  CordonFacts,
  DrainNode,
  DrainPolicyFacts,
  DrainPolicyMatch,
  DrainView,
  StorageFacts,
} from '../api/drain-view.ts';
import { enforcementOf } from './decide-drain.ts';
import { matchPolicy } from '../judge/match-policy.ts';

export interface DrainSources {
  namespace: string;
  policies: readonly DrainPolicyFacts[];
  nodes: readonly CordonFacts[];
  storage: StorageFacts;
  budgets: readonly BudgetFacts[];
}

export function drainViewOf({ namespace, policies, nodes, storage, budgets }: DrainSources): DrainView {
  const { nodes: storageNodes, pods, volumes, replicas, softAntiAffinity, enforces } = storage;
  const byName = new Map(storageNodes.map((node) => [node.name, node]));
  const matchOf = (labels: CordonFacts['labels']): DrainPolicyMatch => {
    const match = matchPolicy(policies, labels);
    if (match.kind === 'none') return match;
    // Under a policy for another installation nothing of this one is guarded.
    if (match.policy.namespace !== namespace) return { kind: 'none' };
    const { name, policy, enforcement } = match.policy;
    return { kind: 'one', name, policy, enforcement: enforcementOf(enforcement, enforces), over: match.over };
  };
  const known = nodes.map(({ name, cordoned, labels }): DrainNode => {
    const own = byName.get(name);
    return { name, cordoned, policy: matchOf(labels), ...(own === undefined ? {} : { storage: own }) };
  });
  const names = new Set(nodes.map(({ name }) => name));
  // Whose Node is gone has no labels left to be selected by: it stays with whoever is in force for everybody else.
  const strangers = storageNodes
    .filter(({ name }) => !names.has(name))
    .map((own): DrainNode => ({
      name: own.name,
      policy: strangersPolicy(policies, namespace, enforces),
      storage: own,
    }));
  return { namespace, nodes: [...known, ...strangers], pods, volumes, replicas, budgets, softAntiAffinity };
}

function strangersPolicy(
  policies: readonly DrainPolicyFacts[],
  namespace: string,
  storageEnforces: boolean,
): DrainPolicyMatch {
  const first = policies.find((policy) => policy.namespace === namespace);
  if (first === undefined) return { kind: 'none' };
  const { name, policy, enforcement } = first;
  return { kind: 'one', name, policy, enforcement: enforcementOf(enforcement, storageEnforces) };
}
