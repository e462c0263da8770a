/** Which pods and volumes of a node in trouble go, and how it comes back, from the case alone. */
import { belongsToNode, clockTime, identityOf, isOver, isUnderFence } from '../api/facts.ts';
import { MAX_STUCK } from '../api/fence-names.ts';
import type { ReleaseRecord, StuckPod, WayName } from '../api/node-fence.ts';
import { FORCE_EVICTION_KEY, QUARANTINE_KEY } from '../api/release-view.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { GroundedAct, Grounds, Step } from '../api/steps.ts';
import { repeatedTrouble } from '../judge/problems.ts';
import type { Assertion } from '../release/by-assertion.ts';
import { assertionOf, isEvictable } from '../release/by-assertion.ts';
import type { StuckReason } from '../release/checks.ts';
import { attachmentsHere, timeIsUp } from '../release/checks.ts';
import { powerFacts, powerQuestion } from '../release/device-question.ts';
import { endOfEviction } from '../release/end-of-eviction.ts';
import type { Hold } from '../release/hold.ts';
import { holdOf, isSpent } from '../release/hold.ts';
import { detachPatienceMs, endOfOutOfService } from '../release/out-of-service.ts';
import { detachByOurselvesAfterMs, planRelease, quarantineStep } from '../release/plan.ts';
import { withinRate } from '../release/rate.ts';
import { releaseNode, ways } from '../release/release-node.ts';
import type { Fate } from '../release/way.ts';
import type { ReturnDecision } from '../return/return-node.ts';
import { isQuarantined, returnNode } from '../return/return-node.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { alarmsFor, stayAwayMs } from './incident.ts';
import { seenPod } from './seen-pod.ts';
import { unheard } from './silence.ts';

/** What is wrong with a node. */
export interface Trouble {
  /** In a few words. */
  text: string;
  /** The type of the condition that it counts for; absent: it is no problem of the node, such as a fence that was asked for. */
  condition?: string;
}

export interface ReleaseDecision {
  fates: readonly Fate[];
  stuck: StuckPod[];
  /** Released volumes that their drivers do not detach, each with what the driver says. */
  refusals: { volume: string; message: string }[];
  records: ReleaseRecord[];
  /** What may be done now; empty where a hold stands in the way. */
  steps: Step[];
  back: ReturnDecision;
  hold: Pick<Hold, 'reason' | 'message' | 'untilMs'> | undefined;
  assertion: Assertion | undefined;
  /** The node needs attention; otherwise its incident is over. */
  trouble: Trouble | undefined;
  /** By the API server's clock; Infinity: nothing is due by itself. */
  recheckAtMs: number;
}

/** What a driver says may be long; here it is one of many. */
const maxRefusal = 200;
/** Nobody tells us when a replacement appears, or when a kubelet has been silent for long enough. */
const untoldMs = 2000;

/** `remedy`: what was decided about ladder and fence, which is part of the case already. */
export function decideRelease(nodeCase: NodeCase, remedy: RemedyDecision, epoch: number): ReleaseDecision {
  const { allowance, fence } = nodeCase;
  const wanted = releaseNode(nodeCase);
  const fates = allowance === undefined ? wanted : withinRate(wanted, fence?.status.releases ?? [], allowance);
  const hold = holdOf(nodeCase);
  const mayRelease = hold === undefined || hold.holds === 'remedies';
  const plan = planRelease(nodeCase, mayRelease ? fates : undefined, epoch);
  // Of a machine that is gone nothing more can be remedied.
  const onLadder = nodeCase.node === undefined ? undefined : ladderTrouble(nodeCase, remedy);
  const trouble = troubleOf(nodeCase) ?? onLadder ?? fenceUnderWay(nodeCase, remedy.fence) ?? fenceRequested(remedy);
  const back = returnNode(nodeCase, plan.records);
  const eviction = endOfEviction(nodeCase, plan.records);
  // Whatever holds everything else back, and before anything that may fail: others let go on the strength of it.
  const unmark = unmarkSteps(
    nodeCase,
    endOfOutOfService(nodeCase, plan.records, mayRelease ? fates : undefined),
    epoch,
  );
  const isFree = hold?.holds !== 'everything';
  const isEndless = isSpent(nodeCase);
  const quarantine = isCutOff(nodeCase) ? quarantineStep(nodeCase) : undefined;
  const steps = isFree && !isEndless ? [...plan.steps, ...untaintSteps(nodeCase, eviction, epoch)] : [];
  if (isFree && quarantine !== undefined && plan.steps.length === 0) steps.unshift(quarantine);
  // A machine that is off, or about to be, may still read Ready: nothing about it counts as a return.
  const isReturning = isQuarantined(nodeCase) && steps.length === 0 && isFree && !isUnderFence(remedy.fence);
  if (isReturning) steps.push(...untaintSteps(nodeCase, back.act, epoch));
  if (isFree && !isEndless) steps.push(...cordonNotes(nodeCase, remedy), ...remediationNote(nodeCase, remedy));
  if (hold === undefined) steps.push(...removal(nodeCase, remedy, epoch));
  return {
    fates,
    // Of a node that is well its kubelet takes care.
    stuck: trouble === undefined ? [] : stuckPods(nodeCase, fates),
    refusals: refusalsOf(nodeCase, plan.records),
    records: plan.records,
    steps: [...unmark, ...steps],
    back,
    hold: hold ?? remedy.hold,
    assertion: assertionOf(nodeCase),
    trouble,
    recheckAtMs: Math.min(
      recheckAt(nodeCase, fates, plan.records, back),
      remedy.recheckAtMs ?? Infinity,
      hold?.untilMs ?? Infinity,
    ),
  };
}

type Untaint = Extract<GroundedAct, { do: 'untaint' }>;

/** A taint of ours goes, from the very node that was looked at. */
function untaintSteps(nodeCase: NodeCase, act: Untaint | undefined, epoch: number): Step[] {
  if (act === undefined) return [];
  const { policy, pods } = nodeCase;
  const grounds: Grounds = {
    basis: 'Return',
    isReady: act.key === QUARANTINE_KEY,
    pods: pods.map(seenPod),
    ...nodeGrounds(nodeCase, epoch),
    ...(policy.kind === 'one' ? { policy: identityOf(policy.policy) } : {}),
  };
  return [{ grounds, acts: [act] }];
}

/** The mark goes because of what is so, and not because anybody wants it: nothing is done to the machine by that. */
function unmarkSteps(nodeCase: NodeCase, act: Untaint | undefined, epoch: number): Step[] {
  return act === undefined ? [] : [{ grounds: { basis: 'Unmark', ...nodeGrounds(nodeCase, epoch) }, acts: [act] }];
}

function nodeGrounds(
  { node, name, pause }: NodeCase,
  epoch: number,
): Omit<Extract<Grounds, { basis: 'Unmark' }>, 'basis'> {
  const seen = node === undefined ? {} : { nodeUid: node.uid, bootId: node.bootId };
  return { node: name, ...seen, taints: [], freed: [], pause, epoch };
}

/** What was begun is brought to its end, whether or not Kubernetes has noticed and whoever still wants it. */
function fenceUnderWay({ node }: NodeCase, fence: RemedyDecision['fence']): Trouble | undefined {
  return node !== undefined && isUnderFence(fence) ? { text: 'being fenced' } : undefined;
}

/** The provider has removed the machine: once it is off and nothing is left there, its Node object goes too (FEN-11). */
function removal(nodeCase: NodeCase, { fence }: RemedyDecision, epoch: number): Step[] {
  const { node, policy, pause } = nodeCase;
  const isWanted = policy.kind === 'one' && policy.policy.remedy?.fence.machineRemoved === true;
  const isFenced = fence?.phase === 'finished' && powerFacts(nodeCase).length > 0;
  if (!isWanted || !isFenced || node === undefined || fence.bootId !== node.bootId) return [];
  const grounds: Grounds = {
    basis: 'PowerOff',
    question: powerQuestion(nodeCase),
    node: node.name,
    nodeUid: node.uid,
    bootId: node.bootId,
    taints: [],
    ...unheard(nodeCase),
    policy: identityOf(policy.policy),
    freed: [],
    pause,
    epoch,
  };
  return [{ acts: [{ do: 'deleteNode' }], grounds }];
}

/**
 * What is left of a cordon that somebody has taken away must not make the next one ours (S8). And whoever guards the storage on the
 * node takes a cordon of ours for a drain while it is one (DRN-4).
 */
function cordonNotes({ node }: NodeCase, { run }: RemedyDecision): Step[] {
  if (node?.hasOldCordonNote === true) return [{ free: [{ do: 'forgetCordon' }] }];
  const isDraining = run?.do === 'drain';
  if (node?.isOurCordon !== true || (node.isDrainCordon === true) === isDraining) return [];
  return [{ free: [{ do: 'noteDrain', isDraining }] }];
}

/** Which pod remedies the node is noted there, for as long as it does (REM-5). */
function remediationNote({ node }: NodeCase, { remediation }: RemedyDecision): Step[] {
  const noted = node?.remediation;
  const isSame = noted?.pod === remediation?.pod && noted?.since === remediation?.since;
  if (node === undefined || isSame) return [];
  return [{ free: [{ do: 'noteRemediation', ...(remediation === undefined ? {} : { remediation }) }] }];
}

/** By us: no pod may come to a node that cannot reach its storage. */
function isCutOff({ fence }: NodeCase): boolean {
  const switched = fence?.status.fence?.switched ?? [];
  if (!isUnderFence(fence?.status.fence)) return false;
  return switched.some(({ step, device, commandSentAt }) => step === 'isolation' && !!device && !!commandSentAt);
}

/** A person has asked for a fence, which has not ended. */
function fenceRequested({ asked }: RemedyDecision): Trouble | undefined {
  return asked && { text: `a fence was asked for by ${asked.by}` };
}

function hasForceEviction({ node }: NodeCase): boolean {
  return node?.taints.some(({ key }) => key === FORCE_EVICTION_KEY) ?? false;
}

/** What a ladder has met. A silent Lease is what Ready says a moment later: whoever counts one of them means both. */
function ladderTrouble({ policy }: NodeCase, { ladder: on, ladders }: RemedyDecision): Trouble | undefined {
  const ladder = on ?? ladders[0];
  if (ladder === undefined) return undefined;
  const thresholds = policy.kind === 'one' ? (policy.policy.remedy?.thresholds ?? []) : [];
  const met = thresholds.find(({ key }) => key === ladder.threshold);
  return { text: ladder.threshold, ...(met === undefined ? {} : { condition: met.condition?.type ?? 'Ready' }) };
}

/** Undefined: nothing that concerns us. */
function troubleOf(nodeCase: NodeCase): Trouble | undefined {
  const { node, pods, attachments, name } = nodeCase;
  if (node === undefined) {
    const hasLeft = pods.length > 0 || attachments.some((attachment) => attachment.node === name);
    return hasLeft ? { text: 'there is no Node object' } : undefined;
  }
  if (node.ready !== 'True') return { text: `Ready=${node.ready ?? 'not reported'}`, condition: 'Ready' };
  if (isQuarantined(nodeCase)) return { text: 'in quarantine' };
  if (assertionOf(nodeCase) !== undefined) return { text: 'asserted to be dead' };
  if (node.isOurCordon) return { text: 'cordoned by us' };
  return isHalfEvicted(nodeCase) ? { text: 'its eviction is not finished' } : undefined;
}

/** The gate was switched off meanwhile: the taint goes only when what is on record is gone (S7). */
function isHalfEvicted(nodeCase: NodeCase): boolean {
  const records = nodeCase.fence?.status.releases ?? [];
  return (
    hasForceEviction(nodeCase) && records.some(({ basis, endedAt }) => basis === 'Asserted' && endedAt === undefined)
  );
}

/** What keeps a pod that is proven to have stopped: somebody waits for it, whether or not it is terminating. */
const heldUp: ReadonlySet<StuckReason> = new Set(['BudgetExhausted', 'ReleaseRate', 'OthersUnheard']);

function isHeldUp(fate: Fate): boolean {
  return !fate.goes && fate.objections.some(({ objection }) => heldUp.has(objection.reason));
}

/** Terminating beyond its time, meant by an assertion, or held up: a pod that somebody misses. */
function stuckPods(nodeCase: NodeCase, fates: readonly Fate[]): StuckPod[] {
  const isAsserted = assertionOf(nodeCase) !== undefined;
  return fates
    .filter((fate) => {
      const { pod } = fate;
      if (isOver(pod) || belongsToNode(pod)) return false;
      if (isHeldUp(fate)) return true;
      return isAsserted
        ? isEvictable(nodeCase, pod)
        : pod.deletionAtMs !== undefined && timeIsUp(nodeCase, pod) === undefined;
    })
    .flatMap((fate) => (fate.goes ? [] : [stuckPod(fate)]))
    .slice(0, MAX_STUCK);
}

/** A driver that is not sure is respected, and tries again by itself; whoever waits for the volume wants to know. */
function refusalsOf(nodeCase: NodeCase, records: readonly ReleaseRecord[]): ReleaseDecision['refusals'] {
  const open = new Set(records.flatMap(({ endedAt, attachments }) => (endedAt === undefined ? attachments : [])));
  return attachmentsHere(nodeCase).flatMap(({ name, volume, detachError }) =>
    detachError === undefined || !open.has(name) ? [] : [{ volume, message: detachError.slice(0, maxRefusal) }],
  );
}

/** Ways that nobody has opened explain nothing, unless there is no other. */
function stuckPod({ pod, objections }: Extract<Fate, { goes: false }>): StuckPod {
  const open = objections.filter(({ way, objection: { reason } }) => !isUnopened(way, reason));
  const told = open.length > 0 ? open : objections.filter(({ way }) => way === 'policy');
  const [first] = told;
  const untilMs = Math.min(...objections.flatMap(({ objection }) => objection.untilMs ?? []));
  return {
    namespace: pod.namespace,
    name: pod.name,
    reason: first?.objection.reason ?? 'NoPolicy',
    message: told
      .map(({ way, objection }) => `${way}: ${objection.message}`)
      .join('; ')
      .slice(0, 512),
    ...(Number.isFinite(untilMs) ? { until: clockTime(untilMs) } : {}),
  };
}

function isUnopened(way: WayName, reason: StuckReason): boolean {
  return ways.some(({ name, unopened }) => name === way && unopened.includes(reason));
}

function recheckAt(
  nodeCase: NodeCase,
  fates: readonly Fate[],
  records: readonly ReleaseRecord[],
  back: ReturnDecision,
): number {
  const { serverNowMs } = nodeCase;
  const times: number[] = [];
  const clearedAt = nodeCase.fence?.status.incident?.clearedAt;
  if (clearedAt !== undefined) times.push(Date.parse(clearedAt) + stayAwayMs(nodeCase));
  for (const fate of fates) {
    // What is over waits for nothing: its object may stay for as long as the node is away.
    if (fate.goes || isOver(fate.pod)) continue;
    for (const { objection } of fate.objections) {
      if (objection.untilMs !== undefined) times.push(objection.untilMs);
      if (objection.reason === 'NoReplacement' || objection.reason === 'KubeletAlive')
        times.push(serverNowMs + untoldMs);
    }
  }
  for (const { podsGoneAt, endedAt } of records) {
    if (podsGoneAt === undefined || endedAt !== undefined) continue;
    for (const waitMs of [detachByOurselvesAfterMs, detachPatienceMs]) times.push(Date.parse(podsGoneAt) + waitMs);
  }
  if (back.soakUntilMs !== undefined) times.push(back.soakUntilMs);
  const alarm = repeatedTrouble(nodeCase.fence?.status.problems ?? [], alarmsFor(nodeCase), serverNowMs);
  if (alarm !== undefined) times.push(alarm.untilMs);
  return Math.min(...times.filter((time) => time > serverNowMs));
}
