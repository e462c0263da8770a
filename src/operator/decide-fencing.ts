/**
 * What ladder and fence come to in one pass, from what is known and stored alone. Whoever performs it stores it first and
 * runs the method then.
 */
import { isUnderFence } from '../api/facts.ts';
import type { ConfigResult, Method } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/fence-names.ts';
import { isTakenUp, requestOf } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { DEFAULT_FENCE, DEFAULT_STORM } from '../api/policy-facts.ts';
import type { HELD } from '../api/reasons.ts';
import { FENCED } from '../api/reasons.ts';
import type { LiveNode, NodeCase, Remediation, RemedyFacts } from '../api/release-view.ts';
import type { TaskOutcome } from '../fence/automaton.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { decideFence, fenceOutcome } from '../fence/decide-fence.ts';
import type { ClusterCount } from '../judge/storm.ts';
import { brakeFor, skipFor } from '../judge/storm.ts';
import { jobName } from '../remedy/job.ts';
import type { LadderState, RemedyOutcome, TroubleFacts } from '../remedy/ladder.ts';
import { returnNode } from '../return/return-node.ts';
import { afterFlaps, climb, isTroubled, nextDueMs } from '../remedy/ladder.ts';
import type { JobRecord, PlannedJob } from './decide-jobs.ts';
import { endedJobs, orderOf, remediationOf, wasMade, withJob } from './decide-jobs.ts';

type HoldReason = keyof (typeof HELD)['reason'];
type Fence = NonNullable<NodeFenceStatus['fence']>;

export interface FencingDecision {
  ladder?: LadderState;
  fence?: Fence;
  hold?: { reason: HoldReason; message: string };
  /** What has to run, once the rest is stored. */
  run?: { key: string } & (
    | { method: Method }
    | { job: PlannedJob; wasMade: boolean }
    | { drain: true }
    | { deleteMachine: true; isFenced: boolean }
  );
  jobs: readonly JobRecord[];
  /** Which pod remedies the node just now. */
  remediation?: Remediation;
  recheckAtMs?: number;
}

export interface FencingInput {
  known: NodeCase;
  node: LiveNode;
  config: ConfigResult;
  facts: TroubleFacts;
  /** The whole cluster, for the brake. */
  count: ClusterCount;
  /** How the try of this key is doing; undefined: this process has not begun it. */
  taskOf: (key: string) => { outcome: TaskOutcome; message?: string } | undefined;
  /** Where the Jobs of remedies are made. */
  namespace: string;
  /** A Job that runs: its UID, and its pod once there is one. */
  seenJob: (job: string) => { uid: string; pod?: string } | undefined;
  /** Its devices say on although it was confirmed off, and what they say. */
  onAgain?: string | undefined;
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

export function remedyOf({ policy }: NodeCase): RemedyFacts | undefined {
  return policy.kind === 'one' ? policy.policy.remedy : undefined;
}

/** As it stands: nothing moves. */
export function keptFencing(known: NodeCase): FencingDecision {
  const { ladder, fence, jobs } = ofThisNode(known);
  return { jobs, ...(ladder === undefined ? {} : { ladder }), ...(fence === undefined ? {} : { fence }) };
}

export function decideFencing(input: FencingInput): FencingDecision {
  const { known, facts } = input;
  const remedy = remedyOf(known);
  const { serverNowMs: nowMs } = known;
  const status = ofThisNode(known);
  const thresholds = afterFlaps(remedy?.thresholds ?? [], flapsOf(status.incident));
  const before = status.ladder;
  const wasFence = before?.phase === 'running' && kindOf(remedy, before.remedy) === 'fence';
  const isRequested = before === undefined && isAskedFor(known, status);
  let decision = isRequested
    ? fenceOf(input, { status: withoutEarlier(known, status), ladder: undefined, isWanted: true, isRequested })
    : fenceOf(input, { status, ladder: before, isWanted: wasFence });
  const task = before === undefined ? undefined : input.taskOf(ladderKey(before));
  const outcome = wasFence ? fenceOutcome(decision, (remedy ?? withoutPolicy).fence) : outcomeOf(task?.outcome);
  const ended = endedJobs(status.jobs, before === undefined ? undefined : jobName(before, input.node.uid), task, nowMs);
  // The machine is silent because it is being fenced: that is not trouble of its own.
  const climbed = climb(before, isRequested ? [] : thresholds, { ...facts, nowMs, outcome });
  const { ladder } = climbed;
  const isNewRung = ladder !== undefined && keyOf(ladder) !== (before && keyOf(before));
  const kind = kindOf(remedy, climbed.remedy);
  if (isNewRung && kind === 'fence') {
    // What was begun is brought to its end, also where another ladder calls for it now (S20).
    const { fence: _, ...fresh } = status;
    const base = isUnderFence(status.fence) ? status : fresh;
    decision = fenceOf(input, { status: base, ladder, isWanted: true });
  }
  const dueMs = ladder === undefined ? nextDueMs(thresholds, facts) : undefined;
  const dueAtMs = dueMs === undefined ? undefined : nowMs + dueMs;
  const times = [decision.recheckAtMs, climbed.recheckAtMs, dueAtMs].filter((time) => time !== undefined);
  const heldBack = harshHold(input, ladder, kind);
  const hold = decision.hold ?? heldBack;
  const order =
    kind === 'podTemplate' && ladder !== undefined && heldBack === undefined ? orderOf(input, ladder) : undefined;
  const jobs = order === undefined ? ended : withJob(ended, order, input);
  const run = heldBack !== undefined ? undefined : runOf(input, decision, { ladder, status, order, kind });
  const remediation = order === undefined ? undefined : remediationOf(input, order, jobs);
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

function fenceOf(input: FencingInput, { status, ladder, isWanted, isRequested = false }: Rung): FenceDecision {
  const { known, node, config, onAgain } = input;
  const remedy = remedyOf(known);
  const threshold = remedy?.thresholds.find(({ key }) => key === ladder?.threshold);
  const { fence } = status;
  const task = fence === undefined ? undefined : input.taskOf(taskKey(fence));
  const brake = brakeOf(input, remedy, isRequested);
  const limits = (remedy ?? withoutPolicy).fence;
  const isStillTroubled = threshold !== undefined && isTroubled(threshold, input.facts);
  return decideFence({
    nowMs: known.serverNowMs,
    status,
    isWanted,
    cleanResources: threshold?.remedies[ladder?.position ?? 0]?.cleanResources ?? isRequested,
    bootId: node.bootId,
    config,
    limits: isRequested ? { ...limits, ...atOnce } : limits,
    ...(task === undefined ? {} : { task }),
    // Before anything was begun, a node that is Ready and has the trouble that its fence is for is not back.
    isBack:
      isBack(known) &&
      isHarmlessBack(known) &&
      !(isUntouched(fence) && isStillTroubled) &&
      // Asked for by a person, it is about a node that may well be Ready, until its power is off.
      !(isRequested && beforeOff.has(fence?.phase)),
    onAgain,
    dumpUntilMs: dumpUntilMs(known),
    isReleased: isReleased(known),
    isStopped: known.fence?.spec.stop === true,
    ...(brake === undefined ? {} : { brake }),
  });
}

const beforeOff: ReadonlySet<string | undefined> = new Set([
  undefined,
  'waiting',
  'isolating',
  'isolated',
  'poweringOff',
]);

function brakeOf(
  { known, count, facts }: FencingInput,
  remedy: RemedyFacts | undefined,
  isRequested: boolean,
): FencingDecision['hold'] {
  const { policy, fence } = known;
  if (policy.kind === 'one' && policy.policy.mode === 'Approve') {
    const { approval, incident } = fence?.status ?? {};
    if (approval === undefined || approval.incident !== incident?.id) {
      const message = `policy ${policy.policy.name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message };
    }
  }
  const { storm } = remedy ?? (isRequested ? { storm: DEFAULT_STORM } : withoutPolicy);
  return skipFor(known.name, storm.skipWhen ?? [], facts.conditions) ?? brakeFor(known.name, storm, count);
}

/** What cannot be taken back: it waits for a person, and for a storm to pass, as a fence does. */
const harsh: ReadonlySet<string> = new Set(['podTemplate', 'drain', 'deleteMachine']);

/** Why such a remedy does not begin just now; one that was begun goes on, and so does what brings a node back. */
function harshHold(
  input: FencingInput,
  ladder: LadderState | undefined,
  kind: string | undefined,
): FencingDecision['hold'] {
  if (ladder?.phase !== 'running' || !harsh.has(kind ?? '')) return undefined;
  const isBegun = input.taskOf(ladderKey(ladder)) !== undefined || wasMade(input, ladder);
  const brake = isBegun ? undefined : brakeOf(input, remedyOf(input.known), false);
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
  input: FencingInput,
  { run, fence }: FenceDecision,
  { ladder, status, order, kind }: Wanted,
): FencingDecision['run'] {
  if (ladder !== undefined && kind !== undefined && kind !== 'fence') {
    const key = ladderKey(ladder);
    if (order !== undefined) return { key, job: order, wasMade: wasMade(input, ladder) };
    if (kind === 'drain') return { key, drain: true };
    if (kind === 'deleteMachine') return { key, deleteMachine: true, isFenced: wasOff(status) };
    if (kind === 'cordon' || kind === 'uncordon') {
      return { key, method: { name: kind, action: kind, driver: 'built-in', parameters: {}, secrets: [] } };
    }
  }
  return run === undefined || fence === undefined ? undefined : { key: taskKey(fence), method: run };
}

/** One that is cleared and has come back will count as one more. */
function flapsOf(incident: NodeFenceStatus['incident']): number {
  return incident === undefined ? 0 : incident.flaps + (incident.clearedAt === undefined ? 0 : 1);
}

/** Its power was off in this incident, as a device has confirmed: nothing of before runs there any more. */
function wasOff({ incident, history }: NodeFenceStatus): boolean {
  const sinceMs = Date.parse(incident?.startedAt ?? '');
  return history.some(({ reason, at }) => reason === FENCED.reason.PoweredOff && Date.parse(at) >= sinceMs);
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
function isHarmlessBack(known: NodeCase): boolean {
  const { node } = known;
  const open = (known.fence?.status.releases ?? []).filter(
    ({ basis, nodeUid, bootId }) => basis === 'StorageFenced' && nodeUid === node?.uid && bootId === node?.bootId,
  );
  return open.length === 0 || returnNode(known, open).stage === 'soaked';
}

function isUntouched(fence: NodeFenceStatus['fence']): boolean {
  return fence === undefined || fence.phase === 'waiting' || fence.phase === 'isolated';
}

function isReleased({ fence, pods, serverNowMs, node }: NodeCase): boolean {
  const stored = fence?.status.fence;
  if (stored?.phase !== 'off') return false;
  if (!stored.cleanResources) return true;
  const left = pods.some(
    ({ mirror, owner, phase }) => !mirror && owner?.kind !== 'DaemonSet' && phase !== 'Failed' && phase !== 'Succeeded',
  );
  if (left) return false;
  return (fence?.status.releases ?? [])
    .filter(({ basis, bootId }) => basis === 'PowerOff' && bootId === node?.bootId)
    .every(
      ({ endedAt, podsGoneAt }) =>
        endedAt !== undefined || (podsGoneAt !== undefined && serverNowMs >= Date.parse(podsGoneAt) + detachPatienceMs),
    );
}
