/**
 * What would happen if nodes were drained, asked of the same rules that guard drains (DRN-13). It supposes that every
 * node that is to have a budget of ours and is not cordoned has it, as it has a moment after the guard has seen it; where the
 * storage system keeps budgets by itself, those count that stand.
 */
import type {
  Block,
  BudgetFacts,
  DrainDecision,
  DrainNode,
  DrainPolicyName,
  DrainView,
  ReplicaFacts,
  StoragePodFacts,
} from '../api/drain-view.ts';
import { blockOf, rules } from '../drain/checks.ts';
import { decideDrain } from './decide-drain.ts';
import type { Known } from '../drain/known.ts';
import { known } from '../drain/known.ts';
import { exceedsAllRoom, leftWithoutRoom, placesFor } from '../drain/places.ts';
import { stands } from '../drain/protection.ts';

export interface PlannedMove {
  volume: string;
  replica: string;
  /** Absent: the volume does not say how large it is. */
  bytes?: number;
  /** Nodes that could take it. */
  to: readonly string[];
}

export interface NodePlan {
  /** In which turn it should be drained, from 1. */
  turn: number;
  node: string;
  cordoned: boolean;
  /** The DrainPolicy in force; absent: none, and nothing is guarded. */
  policy?: string;
  rule?: DrainPolicyName;
  /** Who holds the drain up where it has to wait: we, the storage system, or nobody. */
  enforcement: 'enforce' | 'storage' | 'observe' | 'none';
  /** Whether a drain of this node alone comes to its end by itself. */
  finishes: 'yes' | 'no' | 'unknown';
  blocks: readonly Block[];
  moves: readonly PlannedMove[];
  bytes: number;
  /** What waits beyond that if all the nodes were drained at the same time. */
  together: readonly Block[];
  /** What would be lost if the node did not come back. */
  warnings: readonly string[];
}

/** Nodes that are not there are left out. */
export function planDrain(view: DrainView, names: readonly string[]): NodePlan[] {
  const guarded = { ...view, budgets: withBudgets(view, willBeGuarded(view)) };
  const wanted = new Set(names);
  const kept = withBudgets(view, () => true);
  const all = cordoning(guarded, wanted);
  const atOnce = { view: all, decision: decideDrain(all), kept };
  const plans = view.nodes.filter(({ name }) => wanted.has(name)).map((node) => planNode(guarded, node, atOnce));
  return plans.sort(byEase).map((plan, index) => ({ ...plan, turn: index + 1 }));
}

/** Nodes that are cordoned, and what comes of it. */
interface Drained {
  view: DrainView;
  decision: DrainDecision;
  /** What keeps the copies that nobody drains, guarded or not. */
  kept: readonly BudgetFacts[];
}

function planNode(view: DrainView, node: DrainNode, atOnce: Drained): NodePlan {
  const { name, policy } = node;
  const drained = cordoning(view, new Set([name]));
  const decision = decideDrain(drained);
  const facts = known(drained);
  const told = [
    ...blocksOf(decision, name).filter(({ reason }) => reason !== 'WaitsForTurn'),
    ...underOthers(facts, node),
  ];
  // Where the storage system guards by itself, it is also the one that asks replicas to leave.
  const isItsOwn = policy.kind === 'one' && policy.enforcement === 'storage';
  const evicting = new Set(
    isItsOwn ? told.filter(({ reason }) => reason === 'EvictingReplicas').map(nameOfReplica) : [],
  );
  const asked = facts
    .replicasOn(name)
    .filter((replica) => leaves(replica, decision.actions) || (evicting.has(replica.name) && !replica.deleting));
  const blocks = [...told, ...roomless(facts, asked, told)];
  const moves = asked.map((replica): PlannedMove => {
    const { volume = 'unknown', name: of } = replica;
    const bytes = facts.volumes.get(volume)?.sizeBytes;
    return { volume, replica: of, ...(bytes === undefined ? {} : { bytes }), to: placesFor(facts, replica) };
  });
  const alone = new Set(blocks.map(keyOf));
  return {
    turn: 0,
    node: name,
    cordoned: node.cordoned === true,
    ...(policy.kind === 'one' ? { policy: policy.name, rule: policy.policy } : {}),
    enforcement: policy.kind === 'one' ? policy.enforcement : 'none',
    finishes: finishes(facts, blocks),
    blocks,
    moves,
    bytes: moves.reduce((sum, { bytes = 0 }) => sum + bytes, 0),
    together: blocksOf(atOnce.decision, name).filter((block) => !alone.has(keyOf(block))),
    warnings: warnings({ view: drained, decision, kept: atOnce.kept }, atOnce, node),
  };
}

/** What somebody else's budget does nobody knows, and ours is withheld beside it. */
function underOthers(facts: Known, { name, policy }: DrainNode): Block[] {
  if (policy.kind === 'none' || policy.enforcement !== 'enforce' || policy.policy === 'always-allow') return [];
  return facts.podsOf(name).flatMap((pod): Block[] => {
    const [other] = facts.budgetsOver(pod).foreign;
    if (other === undefined) return [];
    const message = `pod ${pod.name} has the budget ${other.name} of somebody else, beside which ours is withheld: whether a drain waits is up to that one`;
    return [{ reason: 'StateUnknown', message }];
  });
}

function nameOfReplica({ replica }: Block): string | undefined {
  return replica;
}

/**
 * Each has a place of its own, and all together have not: a drain that waits for them never ends by itself. Where only our way
 * of placing them does not work out, nobody knows before.
 */
function roomless(facts: Known, asked: readonly ReplicaFacts[], told: readonly Block[]): Block[] {
  const lost = new Set(told.filter(({ reason }) => reason === 'NowhereToRebuild').map(nameOfReplica));
  // Where one was asked before, its place may have been found already.
  const moving = asked.filter(({ name, evictionRequested }) => !lost.has(name) && !evictionRequested);
  const isImpossible = exceedsAllRoom(facts, moving);
  return leftWithoutRoom(facts, moving).map(({ name, volume = 'unknown' }) => ({
    reason: isImpossible ? 'NowhereToRebuild' : 'StateUnknown',
    message: `what else has to leave ${isImpossible ? 'takes' : 'may take'} the room for the replica of volume ${volume}: make room first`,
    replica: name,
    volume,
  }));
}

function blocksOf({ nodes }: DrainDecision, name: string): readonly Block[] {
  return nodes.find(({ node }) => node === name)?.blocks ?? [];
}

/** Whatever has been asked already moves as well. */
function leaves(replica: ReplicaFacts, actions: ReturnType<typeof decideDrain>['actions']): boolean {
  if (replica.deleting) return false;
  return actions.some((action) => action.do === 'requestEviction' && action.replica.uid === replica.uid)
    ? true
    : replica.evictionRequested;
}

function asDrained(node: DrainNode): DrainNode {
  return { ...node, cordoned: true, isOnlyOurs: false };
}

function cordoning(view: DrainView, names: ReadonlySet<string>): DrainView {
  return { ...view, nodes: view.nodes.map((node) => (names.has(node.name) ? asDrained(node) : node)) };
}

/** Whether we are to keep a budget over this pod. */
function willBeGuarded(view: DrainView): (pod: StoragePodFacts) => boolean {
  const facts = known(view);
  return (pod) => {
    const policy = facts.nodes.get(pod.node)?.policy;
    if (policy?.kind !== 'one' || policy.enforcement === 'storage' || policy.policy === 'always-allow') return false;
    return facts.budgetsOver(pod).foreign.length === 0;
  };
}

function withBudgets(view: DrainView, isWanted: (pod: StoragePodFacts) => boolean): BudgetFacts[] {
  const facts = known(view);
  const isCordoned = new Set(view.nodes.flatMap(({ name, cordoned }) => (cordoned === true ? [name] : [])));
  const missing = view.pods.filter(
    (pod) =>
      !isCordoned.has(pod.node) &&
      isWanted(pod) &&
      !facts.budgetsOver(pod).ours.some((budget) => stands(facts, budget)),
  );
  const supposed = missing.map(({ name, node, labels }): BudgetFacts => ({
    name: `supposed-${name}`,
    uid: `supposed-${name}`,
    resourceVersion: '0',
    ours: true,
    node,
    withdrawing: false,
    deleting: false,
    blocks: true,
    owners: view.owners.map(({ uid }) => uid),
    selector: { matchLabels: labels, hasExpressions: false },
  }));
  return [...view.budgets, ...supposed];
}

/** A volume with fewer copies than it wants gets another one by itself, if its node comes back or another has room. */
function finishes(facts: Known, blocks: readonly Block[]): NodePlan['finishes'] {
  const lasting = blocks.filter(({ reason }) => reason === 'LastReplica' || reason === 'LastRunningReplica');
  const isMissing = ({ volume = '' }: Block): boolean => {
    const healthy = facts.replicasOf(volume).filter(({ copy, deleting }) => copy === 'healthy' && !deleting);
    return healthy.length < (facts.volumes.get(volume)?.wantedReplicas ?? 0);
  };
  const reasons = new Set(blocks.map(({ reason }) => reason));
  if (reasons.has('NowhereToRebuild') || !lasting.every(isMissing)) return 'no';
  return reasons.has('StateUnknown') || lasting.length > 0 ? 'unknown' : 'yes';
}

/** Whoever is cordoned and may go does so any moment: the budget that still stands there keeps nobody's copy. */
function withoutGoing({ view, decision, kept }: Drained): DrainView {
  const going = new Set(
    decision.nodes
      .filter(({ cordoned, blocks }) => cordoned === true && !blocks.some(isLasting))
      .map(({ node }) => node),
  );
  return { ...view, budgets: kept.filter(({ node = '' }) => !going.has(node)) };
}

/** Turns come, and users of a volume leave with the drain. */
function isLasting({ reason }: Block): boolean {
  return reason !== 'WaitsForTurn' && reason !== 'VolumeInUse';
}

function warnings(alone: Drained, atOnce: Drained, node: DrainNode): string[] {
  const { policy, name } = node;
  const who = policy.kind === 'one' ? `DrainPolicy ${policy.name} lets it go` : 'no DrainPolicy guards it';
  const own = lastCopies(alone, node);
  const shared = lastCopies(atOnce, node).filter((volume) => !own.includes(volume));
  return [
    ...own.map((volume) => `the last healthy replica of volume ${volume} is on ${name}, and ${who}`),
    ...shared.map(
      (volume) => `with all of these nodes drained no healthy replica of volume ${volume} is left, and ${who}`,
    ),
  ];
}

/** The volumes whose last copies go under a policy that lets them, or none. */
function lastCopies(drained: Drained, { name, policy }: DrainNode): string[] {
  const isEnforced = policy.kind === 'one' && policy.enforcement !== 'observe';
  const isHeld = blocksOf(drained.decision, name).some(isLasting);
  const isOurs = isEnforced && policy.enforcement === 'enforce' && policy.policy.startsWith('block');
  if (isEnforced && (isHeld || isOurs)) return [];
  const facts = known(withoutGoing(drained));
  const strict = rules['block-if-contains-last-replica'];
  return facts
    .replicasOn(name)
    .filter((replica) => blockOf(strict, facts, replica) !== undefined)
    .map(({ volume = 'unknown' }) => volume);
}

function keyOf({ reason, replica = '', volume = '' }: Block): string {
  return `${reason} ${volume} ${replica}`;
}

/** First what ends by itself, of that what moves least: a node that is empty may take what others have. */
function byEase(one: NodePlan, other: NodePlan): number {
  const rank = { yes: 0, unknown: 1, no: 2 };
  return (
    rank[one.finishes] - rank[other.finishes] ||
    one.bytes - other.bytes ||
    one.node.localeCompare(other.node, 'en', { numeric: true })
  );
}
