/** Disruption budgets of pods, read the same way by whoever decides and right before the act. */
import { selects } from './label-selector.ts';
import type { PodFacts } from './release-view.ts';
import type { SpentBudget } from './spent-budget.ts';

export interface WireBudget {
  metadata: { namespace?: string; name: string };
  spec?: { selector?: { matchLabels?: Record<string, string>; matchExpressions?: WireExpression[] } };
  status?: { disruptionsAllowed?: number };
}

interface WireExpression {
  key?: string;
  operator?: string;
  values?: string[];
}

/** Without a selector it is about no pod; what nobody has counted yet allows nothing. */
export function spentBudget({ metadata, spec, status }: WireBudget): SpentBudget[] {
  const { matchLabels = {}, matchExpressions = [] } = spec?.selector ?? {};
  if (spec?.selector === undefined || (status?.disruptionsAllowed ?? 0) > 0) return [];
  const expressions = matchExpressions.map(({ key = '', operator = '', values = [] }) => ({ key, operator, values }));
  const selector = { matchLabels, matchExpressions: expressions };
  return [{ namespace: metadata.namespace ?? '', name: metadata.name, selector }];
}

export type BudgetedPod = Pick<PodFacts, 'namespace' | 'name' | 'labels'>;

/** Those that allow no disruption and are about this pod, as `namespace/name`. */
export function spentOver(budgets: readonly SpentBudget[], { namespace, labels }: BudgetedPod): string[] {
  return budgets
    .filter((budget) => budget.namespace === namespace && selects(budget.selector, labels))
    .map((budget) => `${budget.namespace}/${budget.name}`);
}
