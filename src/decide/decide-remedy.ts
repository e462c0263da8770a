/** What ladder and fence come to in one pass, from the case alone. It is stored first, and what has to run begins then. */
import { fencesSilence, hasCut, isFromBefore, isUnderFence, phaseHasEnded, timeOf } from '../api/facts.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { isSilent, silentAfterMs } from '../api/life.ts';
import type { FenceRequest, RequestAnswer } from '../api/fence-request.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, NodeCase, PresentCase, Remediation, RemedyFacts } from '../api/release-view.ts';
import type { Cordon, LongAct } from '../api/steps.ts';
import { atRest } from '../fence/at-rest.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { fenceOutcome } from '../fence/decide-fence.ts';
import { holdOf, leavesAsItIs } from '../release/hold.ts';
import type { LadderState, RemedyOutcome } from '../remedy/ladder.ts';
import { afterFlaps, isTroubled, keyOf, nextDueMs } from '../remedy/ladder.ts';
import type { LaddersDecision } from '../remedy/ladders.ts';
import { climbAll } from '../remedy/ladders.ts';
import { isLostAgain } from './boot-of.ts';
import type { RemedyHold } from './brake-of.ts';
import { harshHold, isFoundOff, isHarshRung } from './brake-of.ts';
import type { Rung } from './fence-of.ts';
import { begunFor, fenceOf, fenceWithoutPolicy, methodRun, withoutEarlier } from './fence-of.ts';
import { isBack } from './is-back.ts';
import { goneRemedy } from './gone-remedy.ts';
import type { JobRecord, PlannedJob } from './jobs.ts';
import { endedJobs, isMade, orderOf, remediationOf, wasMade, withJob } from './jobs.ts';
import { ladderKey, remedyOf, taskOf } from './of-case.ts';
import { answerFor, decideRequest } from './request.ts';
import { isStuck } from './silence.ts';
import { ownOf } from '../api/own.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

/** What has to run, once the rest is stored. Which incident a Job belongs to is known when that is on record. */
export type PlannedRun =
  | Exclude<LongAct, { do: 'runJob' }>
  | { do: 'runJob'; key: string; job: PlannedJob; wasMade: boolean }
  | Cordon;

export interface RemedyDecision {
  ladders: readonly LadderState[];
  /** The one whose remedy runs, or has to. */
  ladder?: LadderState;
  fence?: Fence;
  hold?: RemedyHold;
  run?: PlannedRun;
  jobs: readonly JobRecord[];
  /** A person has asked for a fence, and that stands. */
  asked?: FenceRequest;
  /** What came of what a person has asked for, as it is stored. */
  request?: RequestAnswer;
  /** No fence is due yet, and its pods would be let go at once if its machine were off. */
  asksWhetherOff?: boolean;
  /** Which pod remedies the node just now. */
  remediation?: Remediation;
  /** When the fence takes its next step by itself. */
  fenceAtMs?: number;
  /** The ladder that begins next if its trouble goes on. */
  due?: Due;
  recheckAtMs?: number;
}

export interface Due {
  threshold: string;
  remedy: string;
  atMs: number;
}

export function decideRemedy(nodeCase: NodeCase): RemedyDecision {
  const request = decideRequest(nodeCase);
  const { asked } = request;
  const { isRequested, ...decided } = remedyFor(nodeCase, asked !== undefined);
  const answer = answerFor(nodeCase, request, isRequested === true);
  return {
    ...decided,
    ...(asked === undefined ? {} : { asked }),
    ...(answer === undefined ? {} : { request: answer }),
  };
}

interface Requestable extends RemedyDecision {
  /** What was decided about the fence is for whoever asked for it. */
  isRequested?: boolean;
}

function remedyFor(nodeCase: NodeCase, isAsked: boolean): Requestable {
  const { node, fence } = nodeCase;
  const held = holdOf(nodeCase);
  if (node === undefined) {
    const { fence: known, ...rest } = asItStands(nodeCase);
    return { ...rest, ...goneRemedy(nodeCase, { fence: known, ladders: rest.ladders }) };
  }
  if (held?.holds === 'everything' || held?.holds === 'remedies') {
    return leavesAsItIs(held.reason) ? stoppedRemedy(nodeCase) : pausedRemedy({ ...nodeCase, node });
  }
  if (remedyOf(nodeCase) === undefined && fence?.status.fence === undefined && !isAsked) {
    return withoutCordon(nodeCase, { ladders: [], jobs: fence?.status.jobs ?? [] });
  }
  return withoutCordon(nodeCase, nextRemedy({ ...nodeCase, node }, isAsked));
}

/**
 * Our own cordon goes when all is over, also where no ladder says so (RET-2). Of trouble that goes on there may be no ladder yet,
 * where the record was lost: it is seen for as long as its threshold wants first.
 */
function withoutCordon(nodeCase: NodeCase, decided: Requestable): Requestable {
  const { ladders, run, fence } = decided;
  const { incident } = nodeCase.fence?.status ?? {};
  const isTroubledStill = remedyOf(nodeCase)?.thresholds.some((one) => isTroubled(one, nodeCase.trouble)) ?? false;
  const isOver = ladders.length === 0 && run === undefined && !isUnderFence(fence) && !isTroubledStill;
  if (!isOver || incident === undefined || !nodeCase.node?.isOurCordon || !isBack(nodeCase)) return decided;
  return { ...decided, run: { do: 'uncordon', key: `cordon of ${incident.id}` } };
}

/** Nothing moves. */
export function asItStands(nodeCase: NodeCase): RemedyDecision {
  const status = ofThisNode(nodeCase);
  const { fence, jobs } = status;
  return { jobs, ladders: status.ladders, ...(fence === undefined ? {} : { fence }) };
}

/** What its device was told before shows all the same. */
function stoppedRemedy(nodeCase: NodeCase): RemedyDecision {
  const stands = asItStands(nodeCase);
  return { ...stands, ...restOf(nodeCase, stands) };
}

/** Of a fence that is held, by whatever it is. */
function restOf(
  { serverNowMs, task }: NodeCase,
  { fence }: Pick<FenceDecision, 'fence'>,
): Partial<ReturnType<typeof atRest>> {
  return fence === undefined ? {} : atRest(fence, { nowMs: serverNowMs, isRunning: task?.outcome === 'running' });
}

/** The policy does not act any more, or not yet: what a fence has switched off by then is switched on, and no more (SAF-12). */
function pausedRemedy(nodeCase: PresentCase): RemedyDecision {
  const { fence, ...rest } = asItStands(nodeCase);
  // One that has touched nothing begins anew when the policy acts, with a new look at everything (SAF-7).
  if (fence === undefined || !(isUnderFence(fence) || phaseHasEnded(fence.phase))) return rest;
  if (fence.phase === 'finished') return { ...rest, fence };
  const status = ofThisNode(nodeCase);
  const ladder = callingForFence(nodeCase, status.ladders);
  const decision = fenceOf(nodeCase, { status, ladder, isWanted: true, isPaused: true });
  const run = runOf(nodeCase, decision, { ladder: undefined, status, order: undefined, kind: undefined });
  const { recheckAtMs: fenceAtMs } = decision;
  const held = restOf(nodeCase, decision);
  const recheckAtMs = Math.min(fenceAtMs ?? Infinity, held.recheckAtMs ?? Infinity);
  return {
    ...rest,
    ...held,
    ...(run === undefined ? {} : { run }),
    ...(recheckAtMs === Infinity ? {} : { recheckAtMs }),
    ...(fenceAtMs === undefined ? {} : { fenceAtMs }),
  };
}

function nextRemedy(nodeCase: PresentCase, isAsked: boolean): Requestable {
  const { trouble, serverNowMs: nowMs } = nodeCase;
  const remedy = remedyOf(nodeCase);
  const status = ofThisTrouble(nodeCase);
  const before = status.ladders;
  const thresholds = afterFlaps(remedy?.thresholds ?? [], flapsOf(status.incident));
  const calling = callingForFence(nodeCase, before);
  // Whatever ladder has come to its end, or still waits: a person who asks for a fence gets one (SAF-11).
  const isRequested = isAsked && before.every((one) => one.phase !== 'running' || one === calling);
  let decision = isRequested
    ? fenceOf(nodeCase, { ...withoutEarlier(nodeCase, status), ladder: undefined, isWanted: true, isRequested })
    : fenceOf(nodeCase, { status, ladder: calling, isWanted: calling !== undefined });
  // The machine is silent because it is being fenced: that is not trouble of its own.
  const climbed: LaddersDecision = isRequested
    ? { ladders: before }
    : climbAll(
        before,
        thresholds,
        { ...trouble, nowMs },
        {
          outcomeOf: (one) => outcomeOf(nodeCase, one, decision),
          kindOf: (name) => kindOf(remedy, name),
          isFenced: isUnderFence(decision.fence) && decision.fence?.isForGood !== true,
          isFoundOff: isFoundOff(nodeCase),
        },
      );
  const { ladders, on: ladder } = climbed;
  const ended = endedJobs(
    status.jobs,
    nodeCase,
    before.find((one) => taskOf(nodeCase, ladderKey(one)) !== undefined),
  );
  const isNewRung = ladder !== undefined && before.every((one) => keyOf(one) !== keyOf(ladder));
  const kind = kindOf(remedy, ladder?.remedy);
  if (isNewRung && kind === 'fence') {
    decision = fenceOf(nodeCase, { ...begunFor(nodeCase, status, decision.fence), ladder, isWanted: true });
  }
  const unmet = thresholds.filter(({ key }) => ladders.every(({ threshold }) => threshold !== key));
  const due = firstDue(unmet, nodeCase);
  const heldBack = harshHold(nodeCase, ladder, kind);
  const hold = decision.hold ?? heldBack;
  const isHeld = decision.hold !== undefined || holdOf(nodeCase) !== undefined;
  const rest = isHeld ? restOf(nodeCase, decision) : {};
  const times = [decision.recheckAtMs, climbed.recheckAtMs, due?.atMs, hold?.recheckAtMs, rest.recheckAtMs].filter(
    (time) => time !== undefined,
  );
  const order =
    kind === 'podTemplate' && ladder !== undefined && heldBack === undefined ? orderOf(nodeCase, ladder) : undefined;
  const jobs = order === undefined ? ended : withJob(ended, order, nodeCase);
  // A rung that is held back does not hold back what a fence still has to do: the machine that it has cut goes on.
  const turn = heldBack === undefined ? ladder : undefined;
  const run = runOf(nodeCase, decision, { ladder: turn, status, order, kind });
  const remediation = order === undefined ? undefined : remediationOf(nodeCase, order, jobs);
  return {
    jobs,
    isRequested,
    ladders: withSlot(ladders, isHarshRung(ladder, kind) && heldBack === undefined ? ladder : undefined, nowMs),
    ...(remediation === undefined ? {} : { remediation }),
    ...(ladder === undefined ? {} : { ladder }),
    ...(decision.fence === undefined ? {} : { fence: rest.fence ?? decision.fence }),
    ...(isNone(decision.fence) && mayBeOff(nodeCase) ? { asksWhetherOff: true } : {}),
    ...(hold === undefined ? {} : { hold: { ...hold, reason: hold.reason as RemedyHold['reason'] } }),
    ...(run === undefined ? {} : { run }),
    ...(decision.recheckAtMs === undefined ? {} : { fenceAtMs: decision.recheckAtMs }),
    ...(due === undefined ? {} : { due }),
    ...(times.length === 0 ? {} : { recheckAtMs: Math.min(...times) }),
  };
}

/** One that has finished was for earlier trouble: of what has come since nobody has asked its device yet. */
function isNone(fence: Fence | undefined): boolean {
  return fence === undefined || fence.phase === 'finished';
}

/**
 * Its kubelet is suspected, and a fence would be for that: whether it is off already is asked before any ladder is due (EVD-2). A report
 * after the last renewal makes ladders wait, because a machine that reports is alive; it may have lost its power right after it.
 */
function mayBeOff(nodeCase: PresentCase): boolean {
  const { node, trouble, lease, view } = nodeCase;
  const { leaseSilentMs = 0, leaseDurationMs: durationMs } = trouble;
  const isOverdue = lease !== undefined && isSilent(lease);
  const isLost = isOverdue || (view.lease !== undefined && isStuck(view.lease));
  const isMissed = node.ready === 'Unknown' || leaseSilentMs >= silentAfterMs({ durationMs }) || isLost;
  const remedy = remedyOf(nodeCase);
  return isMissed && remedy !== undefined && fencesSilence(remedy);
}

/** Of several the one that is met first, if nothing changes. */
export function firstDue(
  unmet: readonly LadderThreshold[],
  { trouble, serverNowMs: nowMs }: Pick<NodeCase, 'trouble' | 'serverNowMs'>,
): Due | undefined {
  const all = unmet.flatMap((one): Due[] => {
    const inMs = nextDueMs([one], trouble);
    return inMs === undefined ? [] : [{ threshold: one.key, remedy: one.remedies[0]?.name ?? '', atMs: nowMs + inMs }];
  });
  return all.toSorted((one, other) => one.atMs - other.atMs)[0];
}

/** The remedy of one of them has a slot from here until it ends; what is held back or not due has none. */
function withSlot(ladders: readonly LadderState[], begun: LadderState | undefined, nowMs: number): LadderState[] {
  return ladders.map(({ begunAt = timeOf(nowMs), ...ladder }) =>
    begun !== undefined && keyOf(begun) === keyOf(ladder) ? { ...ladder, begunAt } : ladder,
  );
}

/** The ladder that calls for a fence; of several, one whose trouble goes on. */
function callingForFence(nodeCase: PresentCase, ladders: readonly LadderState[]): LadderState | undefined {
  const remedy = remedyOf(nodeCase);
  const calling = ladders.filter(({ phase, remedy: name }) => phase === 'running' && kindOf(remedy, name) === 'fence');
  const goesOn = calling.find(({ threshold: of }) =>
    remedy?.thresholds.some((one) => one.key === of && isTroubled(one, nodeCase.trouble)),
  );
  return goesOn ?? calling[0];
}

/** How the remedy of a ladder is doing. A Job that was made runs on, and its end has to be found out. */
function outcomeOf(nodeCase: PresentCase, ladder: LadderState, decision: FenceDecision): RemedyOutcome {
  const remedy = remedyOf(nodeCase);
  if (ladder.phase === 'running' && kindOf(remedy, ladder.remedy) === 'fence') {
    const isUntouched = ladder.isFoundOff === true && decision.fence?.phase === 'waiting';
    return isUntouched ? 'revocable' : fenceOutcome(decision, remedy?.fence ?? fenceWithoutPolicy);
  }
  const task = taskOf(nodeCase, ladderKey(ladder));
  if (task === undefined || task.outcome === 'running') return isMade(nodeCase, ladder) ? 'running' : 'revocable';
  return task.outcome === 'unknown' ? 'failed' : task.outcome;
}

interface Wanted extends Pick<Rung, 'ladder' | 'status'> {
  order: PlannedJob | undefined;
  kind: string | undefined;
}

function runOf(
  nodeCase: PresentCase,
  { run, isQuestion, fence }: FenceDecision,
  { ladder, status, order, kind }: Wanted,
): PlannedRun | undefined {
  if (ladder !== undefined && kind !== undefined && kind !== 'fence') {
    const key = ladderKey(ladder);
    if (order !== undefined) return { do: 'runJob', key, job: order, wasMade: wasMade(nodeCase, ladder) };
    if (kind === 'deleteMachine') return { do: 'deleteMachine', key, wasOff: wasOff(status, nodeCase.node) };
    if (kind === 'drain' || kind === 'cordon' || kind === 'uncordon') return { do: kind, key };
  }
  return run === undefined || fence === undefined ? undefined : methodRun(nodeCase, fence, { method: run, isQuestion });
}

/** One that is cleared and has come back will count as one more. */
function flapsOf(incident: NodeFenceStatus['incident']): number {
  return incident === undefined ? 0 : incident.flaps + (incident.clearedAt === undefined ? 0 : 1);
}

/** Its power was off in this incident and boot, as a device has confirmed: nothing of before runs there any more. */
function wasOff({ incident }: NodeFenceStatus, { bootId }: { bootId: string }): boolean {
  const { poweredOff } = incident ?? {};
  return poweredOff !== undefined && poweredOff.bootId === bootId && poweredOff.wasAlive !== true;
}

/** Of trouble that is over no ladder is left: what calls for a fence now begins anew. */
function ofThisTrouble(nodeCase: PresentCase): NodeFenceStatus {
  const status = ofThisNode(nodeCase);
  if (!isLostAgain(nodeCase, status)) return status;
  const remedy = remedyOf(nodeCase);
  return { ...status, ladders: status.ladders.filter((one) => kindOf(remedy, one.remedy) !== 'fence') };
}

/**
 * A newcomer of the same name has nothing to do with what was begun about its predecessor, but for what was cut: that is a fact, and that
 * its device is not configured any more does not tell another machine (SAF-5). What had failed by then is its predecessor's failure. And
 * what began before there was this record was restored from a backup, or copied: nobody has begun it here.
 */
function ofThisNode({ fence, node }: NodeCase): NodeFenceStatus {
  const status = fence?.status ?? EMPTY_STATUS;
  const { nodeUid = '' } = status.incident ?? {};
  const isOther = node !== undefined && nodeUid !== '' && nodeUid !== node.uid;
  const isRestored = fence !== undefined && status.fence !== undefined && !wasBegunIn(fence, status.fence);
  if (!isOther && !isRestored) return status;
  const { fence: known, ...rest } = status;
  if (isRestored || known === undefined || !hasCut(known)) return { ...rest, ladders: [] };
  return { ...rest, ladders: [], fence: known.phase === 'failed' ? { ...known, isForGood: true } : known };
}

/** By its UID; of what an earlier version has begun only times tell, which the clocks of two API servers can turn round. */
function wasBegunIn(record: NodeFence, { recordUid, startedAt }: Pick<Fence, 'recordUid' | 'startedAt'>): boolean {
  return recordUid === undefined ? !isFromBefore(startedAt, record) : recordUid === record.metadata.uid;
}

function kindOf(remedy: RemedyFacts | undefined, name: string | undefined): string | undefined {
  return name === undefined ? undefined : ownOf(remedy?.kinds ?? {}, name);
}
