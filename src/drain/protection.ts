/**
 * The one question on which both blocking and evicting rest: is there, on another node, a copy of the volume that no
 * drain can take away?
 */
import type { BudgetFacts, CountedCopy, ReplicaFacts } from '../api/drain-view.ts';
import type { Known } from './known.ts';

/**
 * Which copies of a volume are counted. One that was asked to leave is not: the storage system lets it go as soon as it
 * has another one, which may be the very one that is given up for it.
 */
export type Count = 'all' | 'running';

/** The budget by which the pods of a node are kept: over each of them one, and none of it on its way out. */
export function standingBudget(facts: Known, node: string): BudgetFacts | undefined {
  const pods = facts.podsOf(node);
  const over = pods.map((pod) =>
    facts.budgetsOver(pod).ours.find((budget) => stands(facts, budget) && !isLeftOver(facts, budget)),
  );
  const [first] = over;
  return over.every((budget) => budget !== undefined) ? first : undefined;
}

export function stands(facts: Known, budget: BudgetFacts): boolean {
  return keeps(facts, budget) && !budget.withdrawing;
}

/** All of its owners are gone, so that Kubernetes takes it away any moment: others have come in their place since. */
function isLeftOver({ view }: Known, { owners }: BudgetFacts): boolean {
  return owners.length > 0 && !view.owners.some(({ uid }) => owners.includes(uid));
}

/** As we made it. Whom expressions leave out is not known: it may be the very pod. */
export function keeps(facts: Known, budget: BudgetFacts): boolean {
  const { ours, blocks, selector } = budget;
  return ours && blocks && selector?.hasExpressions === false && !facts.isAstray(budget);
}

/**
 * A copy is protected, and will still be there when another one goes, if it is known to be healthy and on a node whose
 * own budget stands; that budget is the answer. Under `allow-if-replica-is-stopped` it has to run as well, because it is
 * the running ones that are counted there.
 */
function protectionOf(facts: Known, replica: ReplicaFacts, count: Count): BudgetFacts | undefined {
  const { node, activity } = replica;
  if (node === undefined || !isSound(facts, replica)) return undefined;
  if (count === 'running' && activity !== 'running') return undefined;
  return standingBudget(facts, node);
}

function isSound(facts: Known, { node = '', copy, deleting }: ReplicaFacts): boolean {
  return copy === 'healthy' && !deleting && facts.nodes.get(node)?.storage?.ready === true;
}

/** The copy elsewhere that a node may count upon when it lets its own one go. */
export function protectedElsewhere(
  facts: Known,
  { volume, node }: ReplicaFacts,
  count: Count = 'all',
): CountedCopy | undefined {
  if (volume === undefined) return undefined;
  for (const replica of facts.replicasOf(volume)) {
    if (replica.node === undefined || replica.node === node || replica.evictionRequested) continue;
    const budget = protectionOf(facts, replica, count);
    if (budget === undefined) continue;
    return {
      volume,
      replica: { name: replica.name, uid: replica.uid },
      node: replica.node,
      budget: { name: budget.name, uid: budget.uid, selector: budget.selector?.matchLabels ?? {} },
      ...(count === 'running' ? { running: true } : {}),
    };
  }
  return undefined;
}

/**
 * Whether it need not move, because its volume has another copy that stays. One on a node that is to be drained as well is
 * no reason to, unless it leaves by our own wish from a node of a later name: of two that would else both move for the sake
 * of the other the first one need not. That one counts with or without a budget. It is let go because of just the copy that
 * stays, and if this were asked to leave the moment it is, each would take back what it did for the other, for ever.
 */
export function mayStay(facts: Known, { volume = '', node = '' }: ReplicaFacts): boolean {
  return facts.replicasOf(volume).some((other) => {
    const { node: at, evictionRequested, requestedFor } = other;
    if (at === undefined || at === node || !isSound(facts, other)) return false;
    if (evictionRequested) return requestedFor !== undefined && at > node;
    return facts.nodes.get(at)?.cordoned !== true && standingBudget(facts, at) !== undefined;
  });
}
