/**
 * Which budgets stand, come and go. A budget is withdrawn in two steps, announced and then deleted, and one node after
 * the other: of two operators that withdraw two budgets at the same time, each sees the announcement of the other one
 * before it deletes, so that two nodes never both go because each counts on the other (DRN-3).
 */
import type {
  BudgetFacts,
  CountedCopy,
  DrainAction,
  DrainNode,
  GuardingReason,
  ObjectVersion,
  StoragePodFacts,
} from '../api/drain-view.ts';
import type { Rule } from './checks.ts';
import type { Known } from './known.ts';
import { keeps, protectedElsewhere, stands } from './protection.ts';

/** `release`: the drain may begin, in its turn. `drop`: nothing is guarded here by us. `leave`: nobody can say. */
export type Wish = 'stand' | 'release' | 'drop' | 'leave';

export interface BudgetPlan {
  actions: readonly DrainAction[];
  guarding: GuardingReason;
  message: string;
}

export function budgetWish({ policy, cordoned }: DrainNode, blocked: boolean): Wish {
  if (policy.kind === 'none' || policy.enforcement !== 'enforce' || policy.policy === 'always-allow') return 'drop';
  if (cordoned === undefined) return 'leave';
  return cordoned && !blocked ? 'release' : 'stand';
}

/** Ours that are about a node, by what they select or by what they say. */
export function budgetsOf(facts: Known, node: string): BudgetFacts[] {
  const over = facts.podsOf(node).flatMap((pod) => facts.budgetsOver(pod).ours);
  return [...new Set(over)];
}

/** Each pod gets one budget that blocks, unless somebody else has one over it: two make every eviction fail. */
export function keep(facts: Known, node: string): BudgetPlan {
  const pods = facts.podsOf(node);
  if (pods.length === 0 && facts.replicasOn(node).length > 0) {
    const message = `no storage pod of ${node} is known, so that no budget can hold up a drain of it`;
    return { actions: [], guarding: 'StorageNotFound', message };
  }
  const actions: DrainAction[] = [];
  let foreign: string | undefined;
  for (const pod of pods) {
    const { ours, foreign: others } = facts.budgetsOver(pod);
    const [other] = others;
    if (other !== undefined) foreign ??= `pod ${pod.name} of ${node} has the budget ${other.name} of somebody else`;
    if (ours.some((budget) => stands(facts, budget))) continue;
    const namesake = facts.view.budgets.find(({ name }) => name === budgetName(pod));
    if (namesake?.ours === false) {
      foreign ??= `the budget ${namesake.name} is not ours and does not keep pod ${pod.name} of ${node}: delete it`;
    }
    actions.push(...keepOne(facts, pod, { namesake, mayCreate: other === undefined }));
  }
  if (foreign !== undefined) return { actions, guarding: 'ForeignBudget', message: foreign };
  return { actions, guarding: 'Guarding', message: `drains of ${node} wait where they have to` };
}

function keepOne(
  facts: Known,
  pod: StoragePodFacts,
  { namesake, mayCreate }: { namesake: BudgetFacts | undefined; mayCreate: boolean },
): DrainAction[] {
  const { node, labels: selector } = pod;
  const { owners } = facts.view;
  const announced = facts.budgetsOver(pod).ours.find((budget) => budget.withdrawing && keeps(facts, budget));
  if (announced !== undefined) return [{ do: 'keepBudget', node, budget: versionOf(announced) }];
  // One of that name that does not keep the pod is one that somebody edited.
  if (namesake?.ours === true && !namesake.deleting) {
    return [{ do: 'repairBudget', node, budget: versionOf(namesake), selector, owners }];
  }
  if (namesake !== undefined || !mayCreate) return [];
  return [{ do: 'createBudget', node, name: budgetName(pod), selector, owners }];
}

/** What is not guarded by us needs no budget of ours, and nobody's turn. */
export function drop(facts: Known, node: string): DrainAction[] {
  return budgetsOf(facts, node).map((budget) => deletion(node, budget, []));
}

/** The node whose turn it is: one that has announced it already, else the first that may go. */
export function turnOf(facts: Known, candidates: readonly string[]): string | undefined {
  const waiting = candidates.filter((node) => budgetsOf(facts, node).length > 0).sort();
  return waiting.find((node) => budgetsOf(facts, node).some(({ withdrawing }) => withdrawing)) ?? waiting[0];
}

export function release(facts: Known, node: string, rule: Rule): DrainAction[] {
  const budgets = budgetsOf(facts, node);
  const silent = budgets.filter(({ withdrawing }) => !withdrawing);
  if (silent.length > 0) {
    return silent.map((budget) => ({ do: 'announceWithdrawal', node, budget: versionOf(budget) }));
  }
  const counts = countedBy(facts, node, rule);
  return budgets.map((budget) => deletion(node, budget, counts));
}

/** Those of pods that are no more, of a node whose pods are known or which is no more itself. */
export function forgotten(facts: Known): DrainAction[] {
  const covered = new Set(facts.view.pods.flatMap((pod) => facts.budgetsOver(pod).ours));
  return facts.view.budgets.flatMap((budget) => {
    const { ours, deleting, node = '' } = budget;
    if (!ours || deleting || covered.has(budget) || node === '') return [];
    const named = facts.podsOf(node).some((pod) => budgetName(pod) === budget.name);
    const gone = facts.nodes.get(node)?.storage === undefined;
    return !named && (gone || facts.podsOf(node).length > 0) ? [deletion(node, budget, [])] : [];
  });
}

/**
 * Those of ours that other policies own than there are, whatever is wished for their nodes: from before budgets had owners, or since
 * another policy came or went. What is done about one of them anyway comes first; it is looked at again after that. Where there is no
 * policy they are left to Kubernetes, which takes away what has lost its owners and nothing that never had any.
 */
export function misowned({ view }: Known, actions: readonly DrainAction[]): DrainAction[] {
  const { owners, budgets } = view;
  if (owners.length === 0) return [];
  const isOwned = (budget: BudgetFacts): boolean =>
    budget.owners.length === owners.length && owners.every(({ uid }) => budget.owners.includes(uid));
  const busy = new Set(actions.flatMap((action) => ('budget' in action ? [action.budget.uid] : [])));
  return budgets
    .filter((budget) => budget.ours && !budget.deleting && !busy.has(budget.uid) && !isOwned(budget))
    .map((budget) => ({ do: 'repairBudget', node: budget.node ?? '', budget: versionOf(budget), owners }));
}

function countedBy(facts: Known, node: string, rule: Rule): CountedCopy[] {
  return facts.replicasOn(node).flatMap((replica) => {
    const count = rule.counts(replica);
    return count === undefined ? [] : (protectedElsewhere(facts, replica, count) ?? []);
  });
}

function deletion(node: string, budget: BudgetFacts, counts: readonly CountedCopy[]): DrainAction {
  return { do: 'deleteBudget', node, budget: versionOf(budget), counts };
}

export function budgetName({ name }: StoragePodFacts): string {
  return `fenceline-${name}`;
}

function versionOf({ name, uid, resourceVersion }: ObjectVersion): ObjectVersion {
  return { name, uid, resourceVersion };
}
