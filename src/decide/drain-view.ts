/** What a decision about drains rests on, from what was watched or read. */
import type {
  BudgetFacts,
  CordonFacts,
  DrainNode,
  DrainPolicyFacts,
  DrainPolicyMatch,
  DrainPolicyName,
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
  const { nodes: storageNodes, pods, volumes, replicas, softAntiAffinity, ownPolicy } = storage;
  const byName = new Map(storageNodes.map((node) => [node.name, node]));
  const matchOf = (labels: CordonFacts['labels']): DrainPolicyMatch => {
    const match = matchPolicy(policies, labels);
    if (match.kind === 'none') return match;
    // Under a policy for another installation nothing of this one is guarded.
    if (match.policy.namespace !== namespace) return { kind: 'none' };
    return { ...inForce(match.policy, ownPolicy), over: match.over };
  };
  const known = nodes.map(({ labels, ...cordon }): DrainNode => {
    const own = byName.get(cordon.name);
    return { ...cordon, policy: matchOf(labels), ...(own === undefined ? {} : { storage: own }) };
  });
  const names = new Set(nodes.map(({ name }) => name));
  // Whose Node is gone has no labels left to be selected by: it stays with whoever is in force for everybody else.
  const strangers = storageNodes
    .filter(({ name }) => !names.has(name))
    .map((own): DrainNode => ({
      name: own.name,
      policy: strangersPolicy(policies, namespace, ownPolicy),
      storage: own,
    }));
  const owners = policies.filter((policy) => policy.namespace === namespace).map(({ name, uid }) => ({ name, uid }));
  return { namespace, nodes: [...known, ...strangers], pods, volumes, replicas, budgets, owners, softAntiAffinity };
}

function strangersPolicy(
  policies: readonly DrainPolicyFacts[],
  namespace: string,
  ownPolicy: StorageFacts['ownPolicy'],
): DrainPolicyMatch {
  const first = policies.find((policy) => policy.namespace === namespace);
  if (first === undefined) return { kind: 'none' };
  return inForce(first, ownPolicy);
}

/** How much each of them holds up; of equal ones the one is as good as the other. */
const strength: Record<DrainPolicyName, number> = {
  'always-allow': 0,
  'allow-if-replica-is-stopped': 1,
  'block-if-contains-last-replica': 2,
  'block-for-eviction-if-contains-last-replica': 2,
  'block-for-eviction': 3,
};

/** Where the storage system keeps the budgets, drains wait by its own policy and by no other: nobody counts on ours. */
function inForce(
  { name, policy, enforcement }: DrainPolicyFacts,
  own: StorageFacts['ownPolicy'],
): Extract<DrainPolicyMatch, { kind: 'one' }> {
  const effective = enforcementOf(enforcement, own !== undefined);
  if (effective !== 'storage' || own === undefined) return { kind: 'one', name, policy, enforcement: effective };
  // What nobody can read may let everything go.
  const stands = own === 'unknown' ? 'always-allow' : own;
  const isEnough = own !== 'unknown' && strength[stands] >= strength[policy];
  const lacks = isEnough ? {} : { lacks: { wanted: policy, own } };
  return { kind: 'one', name, policy: stands, enforcement: effective, ...lacks };
}
