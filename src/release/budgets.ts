/**
 * Disruption budgets (STM-5). A pod of a dead node runs no more, so that letting it go disrupts nothing; it goes whatever its
 * budget says, and the record names that budget, unless the policy wants it respected. One that is terminating already was
 * sent away by somebody else, and nobody asks about it again.
 */
import type { BudgetedPod } from '../api/budgets.ts';
import { spentOver } from '../api/budgets.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { Objection } from './checks.ts';
import { objection } from './checks.ts';
import type { Fate } from './way.ts';

/** As `namespace/name`. */
export function budgetsAgainst({ budgets = [] }: NodeCase, pod: PodFacts): string[] {
  return pod.deletionAtMs === undefined ? spentOver(budgets, pod) : [];
}

/** Of these pods the ones whose budgets are respected: whether those still allow it is read again right before they go. */
export function budgeted({ policy }: NodeCase, pods: readonly PodFacts[]): BudgetedPod[] {
  if (policy.kind !== 'one' || policy.policy.budgets !== 'Respect') return [];
  return pods
    .filter(({ deletionAtMs }) => deletionAtMs === undefined)
    .map(({ namespace, name, labels }) => ({ namespace, name, labels }));
}

function whyItWaits(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  const { policy, budgets } = nodeCase;
  if (policy.kind !== 'one' || policy.policy.budgets !== 'Respect' || pod.deletionAtMs !== undefined) return undefined;
  if (budgets === undefined) return objection('BudgetExhausted', 'its disruption budgets cannot be read');
  const [first] = budgetsAgainst(nodeCase, pod);
  if (first === undefined) return undefined;
  return objection(
    'BudgetExhausted',
    `budget ${first} allows no disruption, and policy ${policy.policy.name} respects it`,
  );
}

export function withinBudgets(nodeCase: NodeCase, fates: readonly Fate[]): Fate[] {
  return fates.map((fate) => {
    if (!fate.goes) return fate;
    const { pod, way } = fate;
    const against = whyItWaits(nodeCase, pod);
    return against === undefined ? fate : { pod, goes: false, objections: [{ way, objection: against }] };
  });
}
