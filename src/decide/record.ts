/**
 * What the NodeFence of a node says after a decision: the incident, the records of what is released, what waits and why,
 * what we put on the node. Written before the steps are taken, so that whoever comes next knows what was meant.
 */
import { wrongOutlet } from '../api/beside.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { MAX_HISTORY } from '../api/fence-names.ts';
import type { NodeFenceStatus, ReleaseRecord } from '../api/node-fence.ts';
import { ALARM, FENCED, HELD, RELEASE_EVENTS, RELEASED } from '../api/reasons.ts';
import { holdOf } from '../release/hold.ts';
import type { FenceNews } from '../fence/told.ts';
import { deedText, fenceNews } from '../fence/told.ts';
import { hasFailedForGood } from '../fence/state.ts';
import { counted, repeatedTrouble } from '../judge/problems.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';
import { isQuarantined } from '../return/return-node.ts';
import { failuresOf } from '../return/soak.ts';
import { clockTime, hasCut, isUnderFence } from '../api/facts.ts';
import { actsOf } from '../api/steps.ts';
import type { ReleaseDecision, Trouble } from './decide-release.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { deedsAfter } from './deeds.ts';
import { evidenceOf } from './evidence.ts';
import { alarmsFor, stayAwayMs } from './incident.ts';
import { incidentAfter, quarantineOf } from './incident-after.ts';
import { holdAdvice } from './hold-advice.ts';
import { isBack } from './is-back.ts';
import { nextOf } from './next.ts';
import type { Rehearsing } from './rehearsed-case.ts';
import { rehearsalAfter } from './rehearsed-case.ts';
import { isSame } from './same.ts';
import { stormOf } from './storm-record.ts';

type HistoryEntry = NodeFenceStatus['history'][number];

export interface StatusInput {
  /** As it was read: without what is decided now. */
  nodeCase: NodeCase;
  decision: ReleaseDecision;
  remedy: RemedyDecision;
  judgement: Judgement;
  epoch: number;
  /** Absent: nothing is rehearsed. */
  rehearsing?: Rehearsing | undefined;
}

/** Counts the holders of a record and its fences: what was meant in an earlier epoch is not done any more (S18). */
export function epochOf({ fence, identity }: NodeCase, { fence: decided }: RemedyDecision): number {
  const before = fence?.status ?? EMPTY_STATUS;
  // A fence that begins anew is another one: its power cycle is not that of the first (S20).
  const begunAt = decided?.startedAt;
  const isAnew = begunAt !== undefined && before.fence !== undefined && begunAt !== before.fence.startedAt;
  return before.epoch + (before.holder === identity && !isAnew ? 0 : 1);
}

export function nextStatus(input: StatusInput): NodeFenceStatus {
  const { nodeCase, decision, remedy, judgement, epoch } = input;
  const before = nodeCase.fence?.status ?? EMPTY_STATUS;
  const now = clockTime(nodeCase.serverNowMs);
  const taken = { ...withoutStrayApproval(before, nodeCase), epoch, holder: nodeCase.identity };
  const news: Omit<HistoryEntry, 'epoch'>[] = [];
  const { fence } = remedy;
  const told = fence === undefined ? undefined : (removalNews(nodeCase, fence) ?? fenceNews(fence, nodeCase));
  if (told !== undefined && isNews(before, told, fence)) {
    news.push({ at: now, reason: told.reason, ...(told.message === '' ? {} : { message: told.message }) });
  }
  news.unshift(...approvalNews(taken, now));
  if (isCancelled(before.fence, fence)) {
    news.push({ at: now, reason: FENCED.reason.Cancelled, message: cancelledText(nodeCase) });
  }
  const { request } = remedy;
  // A node that somebody wants fenced is not in trouble for that; one that is in a storm is in it all the same.
  const isInOne = before.storm !== undefined && before.storm.endedAt === undefined;
  const isTroubled = decision.trouble !== undefined && (remedy.asked === undefined || isInOne);
  const storm = stormOf(nodeCase, remedy, isTroubled);
  if (request !== undefined && request.reason !== 'TakenUp' && !isSame(request, before.request)) {
    const message = `asked for by ${request.by}: ${request.message}`;
    news.push({ at: now, reason: RELEASE_EVENTS.reason.FenceRefused, message });
  }
  const isLeftCut = nodeCase.node === undefined && hasCut(fence);
  const after =
    decision.trouble === undefined
      ? closed(statusWithFence(taken, fence), { now, stayAwayMs: stayAwayMs(nodeCase), isLeftCut }, news)
      : ongoing({ ...input, before: statusWithFence(taken, fence), trouble: decision.trouble }, now, news);
  const alarm = alarmOf(input, after);
  const isToldNow =
    alarm.status === 'True' && !isAlarmed(before, alarm.reason) && !wasTold(before, after, alarm.reason);
  if (isToldNow) news.push({ at: now, reason: alarm.reason, message: alarm.message });
  const isRepeated = isToldNow && alarm.reason === ALARM.reason.RepeatedTrouble;
  const conditions = [
    { type: FENCED.of, finding: told },
    { type: ALARM.of, finding: alarm.status === 'True' || isAlarmed(before) ? alarm : undefined },
  ].reduce((all, { type, finding }) => withCondition(all, type, finding, now), after.conditions);
  const history = [...taken.history, ...news.map((entry) => ({ ...worded(entry, after), epoch: after.epoch }))];
  const { rehearsal: _, next: __, ...rest } = after;
  const rehearsal = rehearsalAfter(input.rehearsing, after, decision.trouble !== undefined);
  const next = nextOf(input, after);
  const deeds = deedsAfter(input, after, now);
  return {
    ...rest,
    verdict: judgement.verdict,
    verdictReason: judgement.reason,
    ...(next === undefined ? {} : { next }),
    conditions,
    ...(request === undefined ? {} : { request }),
    ...(storm === undefined ? {} : { storm }),
    ...(rehearsal === undefined ? {} : { rehearsal }),
    ...(deeds.length === 0 ? {} : { deeds }),
    history: history.slice(-MAX_HISTORY),
    ...(isRepeated ? { repeatedTroubleToldAt: now } : {}),
  };
}

/** A step of the fence says whether the machine was cut or found off, and what a cordon is not. */
function worded(entry: Omit<HistoryEntry, 'epoch'>, after: NodeFenceStatus): Omit<HistoryEntry, 'epoch'> {
  const { reason, message } = entry;
  return message === undefined ? entry : { ...entry, message: deedText(reason, message, after) };
}

/** Who has approved is kept for good: the approval itself goes with its incident (ADM-8). */
function approvalNews({ approval, incident, history }: NodeFenceStatus, now: string): Omit<HistoryEntry, 'epoch'>[] {
  if (approval === undefined || approval.incident !== incident?.id) return [];
  const message = `${approval.by} has approved ${approval.incident} at ${approval.at}`;
  const isKnown = history.some((entry) => entry.message === message);
  return isKnown ? [] : [{ at: now, reason: RELEASE_EVENTS.reason.Approved, message }];
}

/** What somebody approved under another mode does not count when that mode changes. */
function withoutStrayApproval(status: NodeFenceStatus, { policy }: NodeCase): NodeFenceStatus {
  if (policy.kind === 'one' && policy.policy.mode === 'Approve') return status;
  const { approval: _, ...rest } = status;
  return rest;
}

/** A step, another try of it, or the end of the machine. */
function isNews(before: NodeFenceStatus, told: FenceNews, fence: Fence): boolean {
  if (fence?.phase !== before.fence?.phase || fence?.retries !== before.fence?.retries) return true;
  if (fence?.isForGood !== before.fence?.isForGood) return true;
  const known = before.conditions.find(({ type }) => type === FENCED.of);
  return told.reason === FENCED.reason.NodeDeleted && known?.reason !== told.reason;
}

/** The provider has removed the machine, as the policy says, and its Node object is gone. */
function removalNews({ node, policy }: NodeCase, { phase, switched }: NonNullable<Fence>): FenceNews | undefined {
  const isRemoved = policy.kind === 'one' && policy.policy.remedy?.fence.machineRemoved === true;
  const wasOff = switched.some(({ step, confirmedAt }) => step === 'power-management' && confirmedAt !== undefined);
  if (node !== undefined || !isRemoved || phase !== 'finished' || !wasOff) return undefined;
  return { status: 'True', reason: FENCED.reason.NodeDeleted, message: 'the machine was off, and is removed' };
}

/** What a person has to look at, because nothing more happens by itself (FEN-2, REM-4). */
function alarmOf({ nodeCase, remedy }: StatusInput, { fence, problems }: NodeFenceStatus): Finding {
  const { restarts = 0 } = (nodeCase.policy.kind === 'one' ? nodeCase.policy.policy.remedy?.fence : undefined) ?? {};
  if (fence?.swapped !== undefined) {
    return { status: 'True', reason: ALARM.reason.OutletsSwapped, message: wrongOutlet(fence.swapped) };
  }
  if (fence?.neverOff !== undefined) return { status: 'True', reason: ALARM.reason.NeverOff, message: fence.neverOff };
  if (fence !== undefined && hasFailedForGood(fence, { restarts })) {
    return { status: 'True', reason: ALARM.reason.FenceInError, message: fence.message ?? 'the fence has failed' };
  }
  const ladder = remedy.ladders.find(({ phase }) => phase === 'exhausted');
  if (ladder !== undefined) {
    const message = `${ladder.remedy} was the last remedy for ${ladder.threshold}, and the trouble goes on`;
    return { status: 'True', reason: ALARM.reason.LadderExhausted, message };
  }
  const hold = holdOf(nodeCase);
  if (hold?.reason === 'TooManyActs') {
    return { status: 'True', reason: ALARM.reason.TooManyActs, message: hold.message };
  }
  const repeated = repeatedTrouble(problems, alarmsFor(nodeCase), nodeCase.serverNowMs);
  if (repeated !== undefined) {
    return { status: 'True', reason: ALARM.reason.RepeatedTrouble, message: repeated.message };
  }
  return { status: 'False', reason: ALARM.reason.NoAlarm, message: 'nothing has passed a limit' };
}

export function isSameAlarm(one: NodeFenceStatus, other: NodeFenceStatus): boolean {
  const [before, after] = [one, other].map(({ conditions }) => conditions.find(({ type }) => type === ALARM.of));
  return before?.status === after?.status && before?.reason === after?.reason;
}

/** A harsher alarm stood in front of it meanwhile; since it was told, nothing was counted. */
function wasTold(
  { conditions, repeatedTroubleToldAt = '' }: NodeFenceStatus,
  { problems }: NodeFenceStatus,
  reason: string,
): boolean {
  if (reason !== ALARM.reason.RepeatedTrouble) return false;
  if (conditions.find(({ type }) => type === ALARM.of)?.status !== 'True') return false;
  const toldMs = Date.parse(repeatedTroubleToldAt);
  return problems.every(({ times }) => times.every((time) => Date.parse(time) <= toldMs));
}

function isAlarmed({ conditions }: NodeFenceStatus, reason?: string): boolean {
  const known = conditions.find(({ type }) => type === ALARM.of);
  return reason === undefined ? known !== undefined : known?.status === 'True' && known.reason === reason;
}

/** The node is well, or gone with all that hung on it: what was open is over. */
function closed(
  before: NodeFenceStatus,
  { now, stayAwayMs: windowMs, isLeftCut }: { now: string; stayAwayMs: number; isLeftCut: boolean },
  news: Omit<HistoryEntry, 'epoch'>[],
): NodeFenceStatus {
  const { incident, approval: _, return: __, hold: ___, quarantine: ____, ...rest } = before;
  const clearedAt = incident?.clearedAt ?? now;
  // What is left cut of a machine without a Node object is somebody's, or that of the next one of its name.
  const isOver = Date.parse(now) >= Date.parse(clearedAt) + windowMs && !isLeftCut;
  if (incident !== undefined && isOver) {
    news.push({ at: now, reason: 'BackInService', message: `the incident ${incident.id} is over` });
  }
  const releases = before.releases.map((record) => ended(record, now));
  const conditions = withCondition(before.conditions, RELEASED.of, releasedOf(releases, { refusals: [] }), now);
  const kept = incident === undefined || isOver ? {} : { incident: { ...incident, clearedAt } };
  return { ...rest, ...kept, ladders: [], stuck: [], applied: [], releases, conditions };
}

type Fence = NodeFenceStatus['fence'];

export function statusWithFence(status: NodeFenceStatus, fence: Fence): NodeFenceStatus {
  const { fence: _, ...rest } = status;
  return fence === undefined ? rest : { ...rest, fence };
}

/** Nobody wants it any more, or the node came back, before anything was begun. */
function isCancelled(before: Fence, after: Fence): boolean {
  return before !== undefined && after === undefined && !isUnderFence(before);
}

/** Nobody is told that a node is back which is only left alone. */
function cancelledText(nodeCase: NodeCase): string {
  if (isBack(nodeCase)) return 'the node came back before the point of no return';
  const hold = holdOf(nodeCase);
  if (hold === undefined) return 'nothing calls for the fence any more; nothing was cut';
  return `${hold.reason}: ${hold.message}; nothing was cut, and when that is over a fence begins anew, with its waiting times`;
}

/** The record is still about another Node object of this name. */
function isOther({ node, fence }: NodeCase): boolean {
  const { incident } = fence?.status ?? {};
  return incident !== undefined && node !== undefined && incident.nodeUid !== node.uid;
}

function ended(record: ReleaseRecord, now: string): ReleaseRecord {
  return record.endedAt === undefined ? { ...record, endedAt: now } : record;
}

function ongoing(
  input: StatusInput & { before: NodeFenceStatus; trouble: Trouble },
  now: string,
  news: Omit<HistoryEntry, 'epoch'>[],
): NodeFenceStatus {
  const { nodeCase, decision, remedy, before } = input;
  const { node } = nodeCase;
  const incident = isOther(nodeCase) ? undefined : before.incident;
  if (incident === undefined) news.push({ at: now, reason: 'Incident', message: input.trouble.text });
  const problems = incident === undefined ? withProblem(input, now) : before.problems;
  // A newcomer of the same name has nothing to do with what was released from its predecessor.
  const records = decision.records.map((record) =>
    node !== undefined && record.nodeUid !== node.uid ? ended(record, now) : record,
  );
  for (const record of records) tellRecord(before, record, now, news);
  const { return: _, hold: __, quarantine: ___, ...rest } = before;
  const isMarked = isQuarantined(nodeCase) || plansQuarantine(decision);
  const ongoingIncident = incidentAfter(input, incident, now);
  return {
    ...rest,
    incident: ongoingIncident,
    evidence: evidenceOf(input, incident === undefined ? [] : before.evidence, now),
    ladders: [...remedy.ladders],
    problems,
    jobs: [...remedy.jobs],
    releases: records,
    stuck: decision.stuck,
    applied: appliedOf(before, isMarked, now),
    ...(isMarked ? quarantineOf(nodeCase, incident === undefined ? undefined : before.quarantine, now) : {}),
    ...returnOf(input, isMarked, now, news),
    ...heldSince(before, input, { now, incident: ongoingIncident.id }),
    conditions: withCondition(before.conditions, RELEASED.of, releasedOf(records, decision), now),
  };
}

/**
 * Counted when it begins, and once, however often it comes back (REM-6). What happens to a node that somebody works on is
 * theirs.
 */
function withProblem(
  { nodeCase, decision, before, trouble }: StatusInput & { before: NodeFenceStatus; trouble: Trouble },
  at: string,
): NodeFenceStatus['problems'] {
  const condition = decision.hold?.reason === HELD.reason.Maintenance ? undefined : trouble.condition;
  return condition === undefined ? before.problems : counted(before.problems, { condition, at, pods: nodeCase.pods });
}

type Condition = NodeFenceStatus['conditions'][number];
type Finding = Pick<Condition, 'status' | 'reason' | 'message'>;

/** Undefined: there was never anything to release. */
function releasedOf(
  records: readonly ReleaseRecord[],
  { refusals }: Pick<ReleaseDecision, 'refusals'>,
): Finding | undefined {
  if (records.length === 0) return undefined;
  const open = records.filter(({ endedAt }) => endedAt === undefined);
  if (open.length === 0) return { status: 'True', reason: RELEASED.reason.Complete, message: 'all is gone' };
  if (refusals.length > 0) {
    const message = refusals.map(({ volume, message: said }) => `volume ${volume}: ${said}`).join('; ');
    return { status: 'False', reason: RELEASED.reason.DetachRefused, message: message.slice(0, 1024) };
  }
  const bases = [...new Set(open.map(({ basis }) => basis))].join(', ');
  return { status: 'False', reason: RELEASED.reason.Releasing, message: `on the basis ${bases}` };
}

function withCondition(
  before: readonly Condition[],
  type: string,
  finding: Finding | undefined,
  now: string,
): Condition[] {
  const known = before.find((condition) => condition.type === type);
  const others = before.filter((condition) => condition.type !== type);
  if (finding === undefined) return others;
  const since = known?.status === finding.status ? known.lastTransitionTime : now;
  return [...others, { type, ...finding, lastTransitionTime: since }];
}

function tellRecord(
  before: NodeFenceStatus,
  record: ReleaseRecord,
  now: string,
  news: Omit<HistoryEntry, 'epoch'>[],
): void {
  const known = before.releases.find(
    ({ recordedAt, basis, by, podsStay }) =>
      recordedAt === record.recordedAt && basis === record.basis && by === record.by && podsStay === record.podsStay,
  );
  const by = record.by === undefined ? '' : ` (${record.by})`;
  const count = record.pods.length;
  const { budgets = [] } = record;
  const over = budgets.length === 0 ? '' : `, whatever the budget ${budgets.join(', ')} says`;
  const what = `${count} ${count === 1 ? 'pod' : 'pods'} on the basis ${record.basis}${by}${over}`;
  if (known === undefined || known.pods.length < count) news.push({ at: now, reason: 'Releasing', message: what });
  if (record.endedAt !== undefined && known?.endedAt === undefined) {
    news.push({ at: now, reason: 'Complete', message: what });
  }
}

function plansQuarantine({ steps }: ReleaseDecision): boolean {
  return steps.some((step) => actsOf(step).some((act) => act.do === 'quarantine'));
}

function appliedOf(before: NodeFenceStatus, isMarked: boolean, now: string): NodeFenceStatus['applied'] {
  const others = before.applied.filter(({ key }) => key !== QUARANTINE_KEY);
  if (!isMarked) return others;
  const known = before.applied.find(({ key }) => key === QUARANTINE_KEY);
  return [...others, known ?? { kind: 'Taint', key: QUARANTINE_KEY, effect: 'NoSchedule', recordedAt: now }];
}

/** In these the machine is off, or about to be: that its Node still reads Ready, and shows nothing of before, is no return. */
const isDark: ReadonlySet<string | undefined> = new Set(['poweringOff', 'off', 'poweringOn']);

function returnOf(
  { decision, nodeCase, remedy: { fence } }: StatusInput,
  isMarked: boolean,
  now: string,
  news: Omit<HistoryEntry, 'epoch'>[],
): Pick<NodeFenceStatus, 'return'> {
  const { stage, waitsFor, soakUntilMs } = decision.back;
  if (!isMarked || stage === undefined || (isUnderFence(fence) && isDark.has(fence?.phase))) return {};
  const before = nodeCase.fence?.status.return;
  if (before?.stage !== stage) news.push({ at: now, reason: 'Returning', message: stage });
  // The soak counts from `clean`, and a later stage keeps that time.
  const since = before === undefined || before.stage === 'seen' || stage === 'seen' ? now : before.since;
  return {
    return: {
      stage,
      since: before?.stage === stage ? before.since : since,
      ...(waitsFor === undefined ? {} : { waitsFor: waitsFor.message.slice(0, 512) }),
      ...(soakUntilMs === undefined ? {} : { soakUntil: clockTime(soakUntilMs) }),
      failures: failuresOf(nodeCase.fence?.status, nodeCase.serverNowMs),
    },
  };
}

function heldSince(
  before: NodeFenceStatus,
  { nodeCase, decision: { hold } }: StatusInput,
  { now, incident }: { now: string; incident: string },
): Pick<NodeFenceStatus, 'hold'> {
  if (hold === undefined) return {};
  const { reason, message, untilMs } = hold;
  const since = before.hold?.reason === reason ? before.hold.since : now;
  const until = untilMs === undefined ? {} : { until: clockTime(untilMs) };
  return { hold: { reason, message, since, ...until, ...holdAdvice(nodeCase, reason, incident) } };
}
