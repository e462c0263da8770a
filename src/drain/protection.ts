/**
 * The one question on which both blocking and evicting rest: is there, on another node, a copy of the volume that no
 * drain can take away?
 */
import type { BudgetFacts, CountedCopy, ReplicaFacts } from '../api/drain-view.ts';
import type { Known } from './known.ts';

/**
 * Which copies of a volume are counted. One that was asked to leave is not: the storage system lets it go as soon as it
 * has another one, which may be the very one that is given up for it. `beforeEviction` also counts those that leave by
 * our own wish on nodes of a later name, because of two that would else both move for the sake of the other the first
 * one need not.
 */
export type Count = 'all' | 'running' | 'beforeEviction';

/** The budget by which the pods of a node are kept: over each of them one, and none of it on its way out. */
export function standingBudget(facts: Known, node: string): BudgetFacts | undefined {
  const pods = facts.podsOf(node);
  const over = pods.map((pod) => facts.budgetsOver(pod).ours.find(stands));
  const [first] = over;
  return over.every((budget) => budget !== undefined) ? first : undefined;
}

export function stands({ ours, withdrawing, blocks }: BudgetFacts): boolean {
  return ours && blocks && !withdrawing;
}

/**
 * A copy is protected, and will still be there when another one goes, if it is known to be healthy and on a node whose
 * own budget stands; that budget is the answer. Under `allow-if-replica-is-stopped` it has to run as well, because it is
 * the running ones that are counted there.
 */
function protectionOf(facts: Known, replica: ReplicaFacts, count: Count): BudgetFacts | undefined {
  const { node, copy, deleting, activity } = replica;
  if (node === undefined || copy !== 'healthy' || deleting) return undefined;
  if (count === 'running' && activity !== 'running') return undefined;
  if (facts.nodes.get(node)?.storage?.ready !== true) return undefined;
  return standingBudget(facts, node);
}

/** The copy elsewhere that a node may count upon when it lets its own one go. */
export function protectedElsewhere(
  facts: Known,
  { volume, node }: ReplicaFacts,
  count: Count = 'all',
): CountedCopy | undefined {
  if (volume === undefined) return undefined;
  for (const replica of facts.replicasOf(volume)) {
    if (replica.node === undefined || replica.node === node) continue;
    if (replica.evictionRequested && !(count === 'beforeEviction' && mayStillStay(replica, node))) continue;
    const budget = protectionOf(facts, replica, count);
    if (budget === undefined) continue;
    return {
      volume,
      replica: { name: replica.name, uid: replica.uid },
      node: replica.node,
      budget: { name: budget.name, uid: budget.uid },
      ...(count === 'running' ? { running: true } : {}),
    };
  }
  return undefined;
}

function mayStillStay({ requestedFor, node: at = '' }: ReplicaFacts, node = ''): boolean {
  return requestedFor !== undefined && at > node;
}
