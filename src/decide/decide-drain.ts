/** The drain guard: for every node whether a drain of it has to wait and for what, and what is to be done about it. */
import type {
  Block,
  DrainAction,
  DrainDecision,
  DrainNode,
  DrainView,
  EffectiveEnforcement,
  GuardingReason,
  NodeDrainDecision,
} from '../api/drain-view.ts';
import type { ENFORCEMENTS } from '../api/policy-defaults.ts';
import { budgetsOf, budgetWish, drop, forgotten, keep, misowned, release, turnOf } from '../drain/budgets.ts';
import type { Wish } from '../drain/budgets.ts';
import type { Rule } from '../drain/checks.ts';
import { blockOf, rules } from '../drain/checks.ts';
import { ownBlocks, unguardedPods } from '../drain/own-guard.ts';
import { evictions } from '../drain/evictions.ts';
import type { Known, Memory } from '../drain/known.ts';
import { known } from '../drain/known.ts';

interface Judged {
  node: DrainNode;
  rule: Rule | undefined;
  blocks: readonly Block[];
  wish: Wish;
}

export interface DecideOptions {
  memory?: Memory;
  /** Of which nodes that are not cordoned is asked what a drain would wait for; their budgets stand anyway. All: absent. */
  alsoJudge?: ReadonlySet<string>;
}

export function decideDrain(view: DrainView, { memory, alsoJudge }: DecideOptions = {}): DrainDecision {
  const facts = known(view, memory);
  const judged = view.nodes.map((node) =>
    judge(facts, node, node.cordoned === false && !node.isOnlyOurs && alsoJudge?.has(node.name) === false),
  );
  const candidates = judged.filter(({ wish }) => wish === 'release').map(({ node }) => node.name);
  const turn = turnOf(facts, candidates);
  const actions: DrainAction[] = [];
  const nodes = judged.map((one) => {
    const decided = decideNode(facts, one, turn);
    actions.push(...decided.actions);
    return decided.decision;
  });
  actions.push(...forgotten(facts));
  actions.push(...misowned(facts, actions));
  return { nodes, actions: actions.toSorted(byHaste), ...(turn === undefined ? {} : { withdrawing: turn }) };
}

/** `Auto` only watches where the storage system keeps budgets by itself: two over one pod make every eviction fail. */
export function enforcementOf(wanted: (typeof ENFORCEMENTS)[number], storageEnforces: boolean): EffectiveEnforcement {
  switch (wanted) {
    case 'Enforce':
      return 'enforce';
    case 'Observe':
      return 'observe';
    case 'Auto':
      return storageEnforces ? 'storage' : 'enforce';
  }
}

function judge(facts: Known, node: DrainNode, isLeftOut: boolean): Judged {
  const rule = node.policy.kind === 'one' ? rules[node.policy.policy] : undefined;
  const blocks = rule === undefined || isLeftOut ? [] : waitsFor(facts, node, rule);
  return { node, rule, blocks, wish: budgetWish(node, blocks.length > 0) };
}

/** Where the storage system keeps the budgets, its own guard is the one that a drain meets. */
function waitsFor(facts: Known, node: DrainNode, rule: Rule): Block[] {
  const { policy, name } = node;
  if (policy.kind === 'one' && policy.enforcement === 'storage') return ownBlocks(facts, node, policy.policy);
  return facts.replicasOn(name).flatMap((replica) => blockOf(rule, facts, replica) ?? []);
}

function decideNode(
  facts: Known,
  judged: Judged,
  turn: string | undefined,
): { decision: NodeDrainDecision; actions: DrainAction[] } {
  const { node, rule, wish } = judged;
  const evicting = evictions(facts, node);
  const kept = wish === 'stand' ? keep(facts, node.name) : undefined;
  const actions: DrainAction[] = [...(kept?.actions ?? []), ...evicting.actions];
  if (wish === 'drop') actions.push(...drop(facts, node.name));
  if (wish === 'release' && rule !== undefined && node.name === turn) actions.push(...release(facts, node.name, rule));
  const blocks = blocksOf(facts, judged, turn);
  const [first] = blocks;
  const decision: NodeDrainDecision = {
    node: node.name,
    policy: node.policy,
    cordoned: node.cordoned,
    blocked: blocks.length > 0,
    autoEvicting: evicting.autoEvicting,
    reason: first?.reason ?? 'Allowed',
    message: first?.message ?? whyAllowed(node),
    blocks,
    ...guardingOf(facts, node, kept),
  };
  return { decision, actions };
}

/** What others let go, or a policy that does not mind, may well be lost. */
function whyAllowed({ name, policy }: DrainNode): string {
  const isKept = policy.kind === 'one' && policy.enforcement !== 'storage' && policy.policy.startsWith('block');
  return isKept ? `nothing is lost with ${name}` : `nothing holds up a drain of ${name}`;
}

function blocksOf(facts: Known, { node, blocks, wish }: Judged, turn: string | undefined): readonly Block[] {
  if (wish === 'leave' && node.cordoned === undefined) {
    return [{ reason: 'StateUnknown', message: `there is no Node ${node.name}: what it holds is guarded` }, ...blocks];
  }
  if (wish === 'stand' && node.isOnlyOurs === true) return [ownCordon(node), ...blocks];
  if (wish !== 'release' || node.name === turn || budgetsOf(facts, node.name).length === 0) return blocks;
  return [{ reason: 'WaitsForTurn', message: `${turn} is being let go; ${node.name} comes after it` }];
}

/** Whoever drains it all the same cannot be told from nobody: their drain waits, and they are told what makes it one. */
function ownCordon({ name }: DrainNode): Block {
  const message = `${name} is cordoned by a fence or a remedy, which is no drain, and what it holds stays: to drain it, uncordon it first`;
  return { reason: 'OwnCordon', message };
}

function guardingOf(
  facts: Known,
  { name, policy, cordoned }: DrainNode,
  kept: { guarding: GuardingReason; message: string } | undefined,
): Pick<NodeDrainDecision, 'guarding' | 'guardingMessage'> {
  if (policy.kind === 'none' || policy.enforcement === 'observe') {
    return { guarding: 'Observing', guardingMessage: `nothing holds up a drain of ${name}` };
  }
  if (policy.enforcement === 'storage' && policy.lacks !== undefined) {
    const { wanted, own } = policy.lacks;
    const guardingMessage = `the storage system keeps budgets by itself, its own setting is ${own}, and ${wanted} is not guarded: change that setting`;
    return { guarding: 'StorageAllows', guardingMessage };
  }
  const [unguarded] = policy.enforcement === 'storage' && cordoned === false ? unguardedPods(facts, name) : [];
  if (unguarded !== undefined) {
    const guardingMessage = `the storage system is to keep budgets by itself, and has none over pod ${unguarded.name} of ${name}: a drain of it does not wait`;
    return { guarding: 'StorageAllows', guardingMessage };
  }
  if (policy.enforcement === 'storage') {
    return { guarding: 'StorageEnforces', guardingMessage: 'the storage system keeps budgets by itself' };
  }
  return { guarding: kept?.guarding ?? 'Guarding', guardingMessage: kept?.message ?? `${name} is looked after` };
}

/** What protects comes first, what lets go last: whoever is stopped half-way has protected too much, never too little. */
const haste: Record<DrainAction['do'], number> = {
  createBudget: 0,
  keepBudget: 0,
  repairBudget: 0,
  setAutoEvicting: 1,
  requestEviction: 2,
  withdrawEviction: 3,
  announceWithdrawal: 4,
  deleteBudget: 5,
};

function byHaste(a: DrainAction, b: DrainAction): number {
  return haste[a.do] - haste[b.do];
}
