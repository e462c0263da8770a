/** What ladder and fence come to in one pass, from the case alone. It is stored first, and what has to run begins then. */
import { belongsToNode, isOver, isUnderFence } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { isTakenUp, requestOf } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { DEFAULT_FENCE, DEFAULT_STORM } from '../api/policy-facts.ts';
import type { HELD } from '../api/reasons.ts';
import type { NodeCase, PresentCase, Remediation, RemedyFacts, TaskOutcome } from '../api/release-view.ts';
import type { Cordon, LongAct } from '../api/steps.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { decideFence, fenceOutcome } from '../fence/decide-fence.ts';
import { brakeFor, skipFor } from '../judge/storm.ts';
import { holdOf } from '../release/hold.ts';
import { jobName } from '../remedy/job.ts';
import type { LadderState, RemedyOutcome } from '../remedy/ladder.ts';
import { afterFlaps, climb, isTroubled, nextDueMs } from '../remedy/ladder.ts';
import { returnNode } from '../return/return-node.ts';
import type { JobRecord, PlannedJob } from './jobs.ts';
import { endedJobs, orderOf, remediationOf, wasMade, withJob } from './jobs.ts';

type HoldReason = keyof (typeof HELD)['reason'];
type Fence = NonNullable<NodeFenceStatus['fence']>;

/** What has to run, once the rest is stored. Which incident a Job belongs to is known when that is on record. */
export type PlannedRun =
  | Exclude<LongAct, { do: 'runJob' }>
  | { do: 'runJob'; key: string; job: PlannedJob; wasMade: boolean }
  | Cordon;

export interface RemedyDecision {
  ladder?: LadderState;
  fence?: Fence;
  hold?: { reason: HoldReason; message: string };
  run?: PlannedRun;
  jobs: readonly JobRecord[];
  /** Which pod remedies the node just now. */
  remediation?: Remediation;
  recheckAtMs?: number;
}

/** Where there is no policy any more that could say: what was begun is brought to its end, and nothing else begins. */
const withoutPolicy: Pick<RemedyFacts, 'fence' | 'storm'> = {
  fence: { ...DEFAULT_FENCE, restarts: 0 },
  storm: { ...DEFAULT_STORM, maxUnresponsive: 0 },
};
/** Somebody wants it now, and all of it; the brake of a policy holds all the same, or this one where there is none. */
const atOnce = { isolateAfterMs: 0, powerManagementAfterMs: 0 };
const kubeletRenewsWithinMs = 12_000;
/** On waits for the detach as well, but not for ever. */
const detachPatienceMs = 60_000;

function remedyOf({ policy }: NodeCase): RemedyFacts | undefined {
  return policy.kind === 'one' ? policy.policy.remedy : undefined;
}

export function decideRemedy(nodeCase: NodeCase): RemedyDecision {
  const { node, fence } = nodeCase;
  const held = holdOf(nodeCase)?.holds;
  if (node === undefined || held === 'everything' || held === 'remedies') return asItStands(nodeCase);
  const isAsked = fence !== undefined && requestOf(fence) !== undefined;
  if (remedyOf(nodeCase) === undefined && fence?.status.fence === undefined && !isAsked) {
    return { jobs: fence?.status.jobs ?? [] };
  }
  return nextRemedy({ ...nodeCase, node });
}

/** Nothing moves. */
export function asItStands(nodeCase: NodeCase): RemedyDecision {
  const { ladder, fence, jobs } = ofThisNode(nodeCase);
  return { jobs, ...(ladder === undefined ? {} : { ladder }), ...(fence === undefined ? {} : { fence }) };
}

function nextRemedy(nodeCase: PresentCase): RemedyDecision {
  const { trouble, serverNowMs: nowMs } = nodeCase;
  const remedy = remedyOf(nodeCase);
  const status = ofThisNode(nodeCase);
  const thresholds = afterFlaps(remedy?.thresholds ?? [], flapsOf(status.incident));
  const before = status.ladder;
  const wasFence = before?.phase === 'running' && kindOf(remedy, before.remedy) === 'fence';
  const isRequested = before === undefined && isAskedFor(nodeCase, status);
  let decision = isRequested
    ? fenceOf(nodeCase, { status: withoutEarlier(nodeCase, status), ladder: undefined, isWanted: true, isRequested })
    : fenceOf(nodeCase, { status, ladder: before, isWanted: wasFence });
  const task = before === undefined ? undefined : taskOf(nodeCase, ladderKey(before));
  const outcome = wasFence ? fenceOutcome(decision, (remedy ?? withoutPolicy).fence) : outcomeOf(task?.outcome);
  const ended = endedJobs(
    status.jobs,
    before === undefined ? undefined : jobName(before, nodeCase.node.uid),
    task,
    nowMs,
  );
  // The machine is silent because it is being fenced: that is not trouble of its own.
  const due = climb(before, isRequested ? [] : thresholds, { ...trouble, nowMs, outcome });
  const isNewRung = due.ladder !== undefined && keyOf(due.ladder) !== (before && keyOf(before));
  // A fence that was begun by a ladder that is no more is brought to its end before another remedy begins.
  const isTooEarly = isNewRung && isUnderFence(decision.fence) && kindOf(remedy, due.remedy) !== 'fence';
  const climbed = isTooEarly ? {} : due;
  const { ladder } = climbed;
  const kind = kindOf(remedy, climbed.remedy);
  if (isNewRung && kind === 'fence') {
    // What was begun is brought to its end, also where another ladder calls for it now (S20).
    const { fence: _, ...fresh } = status;
    const base = isUnderFence(status.fence) ? status : fresh;
    decision = fenceOf(nodeCase, { status: base, ladder, isWanted: true });
  }
  const dueMs = ladder === undefined ? nextDueMs(thresholds, trouble) : undefined;
  const dueAtMs = dueMs === undefined ? undefined : nowMs + dueMs;
  const times = [decision.recheckAtMs, climbed.recheckAtMs, dueAtMs].filter((time) => time !== undefined);
  const heldBack = harshHold(nodeCase, ladder, kind);
  const hold = decision.hold ?? heldBack;
  const order =
    kind === 'podTemplate' && ladder !== undefined && heldBack === undefined ? orderOf(nodeCase, ladder) : undefined;
  const jobs = order === undefined ? ended : withJob(ended, order, nodeCase);
  const run = heldBack !== undefined ? undefined : runOf(nodeCase, decision, { ladder, status, order, kind });
  const remediation = order === undefined ? undefined : remediationOf(nodeCase, order, jobs);
  return {
    jobs,
    ...(remediation === undefined ? {} : { remediation }),
    ...(ladder === undefined ? {} : { ladder }),
    ...(decision.fence === undefined ? {} : { fence: decision.fence }),
    ...(hold === undefined ? {} : { hold: { ...hold, reason: hold.reason as HoldReason } }),
    ...(run === undefined ? {} : { run }),
    ...(times.length === 0 ? {} : { recheckAtMs: Math.min(...times) }),
  };
}

/** How the try of this key is doing; undefined: this process has not begun it. */
function taskOf({ task }: NodeCase, key: string): { outcome: TaskOutcome; message?: string } | undefined {
  return task?.key === key ? task : undefined;
}

interface Rung {
  status: NodeFenceStatus;
  ladder: LadderState | undefined;
  isWanted: boolean;
  /** By a person, not by a ladder. */
  isRequested?: boolean;
}

function isAskedFor({ fence }: NodeCase, status: NodeFenceStatus): boolean {
  return fence !== undefined && requestOf({ spec: fence.spec, status }) !== undefined;
}

/** A fence that had ended before somebody asked for one is not the one that was asked for. */
function withoutEarlier({ fence }: NodeCase, status: NodeFenceStatus): NodeFenceStatus {
  if (fence === undefined || isTakenUp({ spec: fence.spec, status }) || isUnderFence(status.fence)) return status;
  const { fence: _, ...rest } = status;
  return rest;
}

function fenceOf(nodeCase: PresentCase, { status, ladder, isWanted, isRequested = false }: Rung): FenceDecision {
  const { node, config } = nodeCase;
  const remedy = remedyOf(nodeCase);
  const threshold = remedy?.thresholds.find(({ key }) => key === ladder?.threshold);
  const { fence } = status;
  const task = fence === undefined ? undefined : taskOf(nodeCase, taskKey(fence));
  const brake = brakeOf(nodeCase, remedy, isRequested);
  const limits = (remedy ?? withoutPolicy).fence;
  const isStillTroubled = threshold !== undefined && isTroubled(threshold, nodeCase.trouble);
  return decideFence({
    nowMs: nodeCase.serverNowMs,
    status,
    isWanted,
    cleanResources: threshold?.remedies[ladder?.position ?? 0]?.cleanResources ?? isRequested,
    bootId: node.bootId,
    config,
    limits: isRequested ? { ...limits, ...atOnce } : limits,
    ...(task === undefined ? {} : { task }),
    // While nothing is being switched, a node that is Ready and has the trouble that its fence is for is not back.
    isBack:
      isBack(nodeCase) &&
      isHarmlessBack(nodeCase) &&
      !(waitsForItsTime(fence) && isStillTroubled) &&
      // Asked for by a person, it is about a node that may well be Ready, until its power is off.
      !(isRequested && beforeOff.has(fence?.phase)),
    onAgain: onAgainIn(nodeCase, fence),
    dumpUntilMs: dumpUntilMs(nodeCase),
    isReleased: isReleased(nodeCase),
    isStopped: nodeCase.fence?.spec.stop === true,
    ...(brake === undefined ? {} : { brake }),
  });
}

/** What its devices said counts for the phase that they were asked in. */
function onAgainIn({ onAgain }: NodeCase, fence: Fence | undefined): string | undefined {
  return onAgain !== undefined && fence?.phase === 'off' && onAgain.since === fence.stepStartedAt
    ? onAgain.message
    : undefined;
}

const beforeOff: ReadonlySet<string | undefined> = new Set([
  undefined,
  'waiting',
  'isolating',
  'isolated',
  'poweringOff',
]);

function brakeOf(nodeCase: NodeCase, remedy: RemedyFacts | undefined, isRequested: boolean): RemedyDecision['hold'] {
  const { policy, fence, trouble, count } = nodeCase;
  if (policy.kind === 'one' && policy.policy.mode === 'Approve') {
    const { approval, incident } = fence?.status ?? {};
    if (approval === undefined || approval.incident !== incident?.id) {
      const message = `policy ${policy.policy.name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message };
    }
  }
  const { storm } = remedy ?? (isRequested ? { storm: DEFAULT_STORM } : withoutPolicy);
  return skipFor(nodeCase.name, storm.skipWhen ?? [], trouble.conditions) ?? brakeFor(storm, count);
}

/** What cannot be taken back: it waits for a person, and for a storm to pass, as a fence does. */
const harsh: ReadonlySet<string> = new Set(['podTemplate', 'drain', 'deleteMachine']);

/** Why such a remedy does not begin just now; one that was begun goes on, and so does what brings a node back. */
function harshHold(
  nodeCase: PresentCase,
  ladder: LadderState | undefined,
  kind: string | undefined,
): RemedyDecision['hold'] {
  if (ladder?.phase !== 'running' || !harsh.has(kind ?? '')) return undefined;
  const isBegun = taskOf(nodeCase, ladderKey(ladder)) !== undefined || wasMade(nodeCase, ladder);
  const brake = isBegun ? undefined : brakeOf(nodeCase, remedyOf(nodeCase), false);
  // That one fence is under way elsewhere is no reason to leave this node alone.
  return brake?.reason === 'ConcurrencyLimit' ? undefined : brake;
}

/** How a remedy is doing that is not a fence. Of one that nobody has begun here it has to be found out. */
function outcomeOf(task: TaskOutcome = 'running'): RemedyOutcome {
  return task === 'unknown' ? 'failed' : task;
}

interface Wanted extends Pick<Rung, 'ladder' | 'status'> {
  order: PlannedJob | undefined;
  kind: string | undefined;
}

function runOf(
  nodeCase: PresentCase,
  { run, fence }: FenceDecision,
  { ladder, status, order, kind }: Wanted,
): PlannedRun | undefined {
  if (ladder !== undefined && kind !== undefined && kind !== 'fence') {
    const key = ladderKey(ladder);
    if (order !== undefined) return { do: 'runJob', key, job: order, wasMade: wasMade(nodeCase, ladder) };
    if (kind === 'deleteMachine') return { do: 'deleteMachine', key, wasOff: wasOff(status, nodeCase.node) };
    if (kind === 'drain' || kind === 'cordon' || kind === 'uncordon') return { do: kind, key };
  }
  return run === undefined || fence === undefined ? undefined : methodRun(taskKey(fence), run);
}

function methodRun(key: string, method: Method): PlannedRun {
  const { action } = method;
  return action === 'cordon' || action === 'uncordon' ? { do: action, key } : { do: 'switch', key, method };
}

/** One that is cleared and has come back will count as one more. */
function flapsOf(incident: NodeFenceStatus['incident']): number {
  return incident === undefined ? 0 : incident.flaps + (incident.clearedAt === undefined ? 0 : 1);
}

/** Its power was off in this incident and boot, as a device has confirmed: nothing of before runs there any more. */
function wasOff({ incident }: NodeFenceStatus, { bootId }: { bootId: string }): boolean {
  return incident?.poweredOff !== undefined && incident.poweredOff.bootId === bootId;
}

/** A newcomer of the same name has nothing to do with what was begun about its predecessor. */
function ofThisNode({ fence, node }: NodeCase): NodeFenceStatus {
  const status = fence?.status ?? EMPTY_STATUS;
  const { nodeUid = '' } = status.incident ?? {};
  if (node === undefined || nodeUid === '' || nodeUid === node.uid) return status;
  const { ladder: _, fence: __, ...rest } = status;
  return rest;
}

function kindOf(remedy: RemedyFacts | undefined, name: string | undefined): string | undefined {
  return name === undefined ? undefined : remedy?.kinds[name];
}

function keyOf({ threshold, position, phase, startedAt }: LadderState): string {
  return `${threshold} ${phase === 'recovering' ? 'recovery' : 'rung'} ${position} ${startedAt}`;
}

function ladderKey(ladder: LadderState): string {
  return `ladder ${keyOf(ladder)}`;
}

/** One try of one method: another try is another task. */
function taskKey({ phase, level, index, retries, restarts, stepStartedAt }: Fence): string {
  return [phase, level, index, retries, restarts, stepStartedAt].join(' ');
}

/** Ready, and its kubelet renews: Ready alone may be what Kubernetes has not noticed yet. */
function isBack({ node, lease }: NodeCase): boolean {
  return node?.ready === 'True' && lease?.renewed === true && lease.unchangedForMs < kubeletRenewsWithinMs;
}

/** Power management waits for the dump, for as long as the policy says (FEN-12). */
function dumpUntilMs({ policy, node, fence, crash, serverNowMs }: NodeCase): number | undefined {
  const timeoutMs = policy.kind === 'one' ? policy.policy.kdump?.timeoutMs : undefined;
  if (timeoutMs === undefined) return undefined;
  const told = fence?.status.evidence.find(({ source, bootId }) => source === 'Kdump' && bootId === node?.bootId);
  if (told !== undefined) return Date.parse(told.observedAt) + timeoutMs;
  return crash?.bootId === node?.bootId && crash !== undefined ? serverNowMs + timeoutMs : undefined;
}

/**
 * What was released while the node was cut off from its storage may still run there: it is let back to the storage when
 * it was booted again, or is clean (S9).
 */
function isHarmlessBack(nodeCase: NodeCase): boolean {
  const { node } = nodeCase;
  const open = (nodeCase.fence?.status.releases ?? []).filter(
    ({ basis, nodeUid, bootId }) => basis === 'StorageFenced' && nodeUid === node?.uid && bootId === node?.bootId,
  );
  return open.length === 0 || returnNode(nodeCase, open).stage === 'soaked';
}

/** Nothing is being switched: it has not begun, or waits until its next step is due. */
function waitsForItsTime(fence: NodeFenceStatus['fence']): boolean {
  return fence === undefined || fence.phase === 'waiting' || fence.phase === 'isolated';
}

function isReleased({ fence, pods, serverNowMs, node }: NodeCase): boolean {
  const stored = fence?.status.fence;
  if (stored?.phase !== 'off') return false;
  if (!stored.cleanResources) return true;
  if (pods.some((pod) => !belongsToNode(pod) && !isOver(pod))) return false;
  return (fence?.status.releases ?? [])
    .filter(({ basis, bootId }) => basis === 'PowerOff' && bootId === node?.bootId)
    .every(
      ({ endedAt, podsGoneAt }) =>
        endedAt !== undefined || (podsGoneAt !== undefined && serverNowMs >= Date.parse(podsGoneAt) + detachPatienceMs),
    );
}
