/**
 * All that is decided about one node, from one value: what is thought of it, what has to be read before more can be said,
 * what is stored, what is done, and when to look again. The only place where the rules meet; carried out by `act`, told by
 * `report`, and decided again from a file by `fenceline replay`.
 */
import { holdsSlot, identityOf, isCutting, isUnderFence } from '../api/facts.ts';
import { requestOf } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { DEFAULT_STORM } from '../api/policy-facts.ts';
import type { NodeCase, PresentCase, Sighting } from '../api/release-view.ts';
import type { Grounds, Step } from '../api/steps.ts';
import type { Judgement } from '../api/view.ts';
import { watchSays } from '../fence/belief.ts';
import { stateOf } from '../fence/stored.ts';
import { sentAtMs } from '../fence/switched.ts';
import { judgeNode } from '../judge/judge-node.ts';
import { repeatedTrouble } from '../judge/problems.ts';
import { worthOf } from '../release/patience.ts';
import { isQuarantined } from '../return/return-node.ts';
import { alarmStamp, needsAttention } from './concern.ts';
import type { ReleaseDecision } from './decide-release.ts';
import { decideRelease } from './decide-release.ts';
import type { PlannedRun, RemedyDecision } from './decide-remedy.ts';
import { decideRemedy } from './decide-remedy.ts';
import { handsOver, machineSpell } from './brake-of.ts';
import { fenceSpell } from './fence-of.ts';
import { alarmsFor } from './incident.ts';
import { fittingStatus } from '../api/fitting.ts';
import { asDecided } from './as-decided.ts';
import { epochOf, isSameAlarm, nextStatus } from './record.ts';
import { askedFor } from './request.ts';
import { rehearse } from './rehearse.ts';
import type { Rehearsing } from './rehearsed-case.ts';
import { isKnownByOthers } from './known-by-others.ts';
import { isSame } from './same.ts';
import { seenPod } from './seen-pod.ts';
import { stormOf } from './storm-record.ts';
import { unheard } from './silence.ts';
import { standsUnread } from './unread.ts';

/** What is read only when a decision wants it. */
export type Want = 'liveLease' | 'pods' | 'device' | 'deviceLater' | 'storage' | 'kubelet' | 'successor';

/** What other nodes have to see before they decide: taken in the same tick as the decision. */
export interface Claims {
  /** A slot for a fence, and one for another remedy that cannot be taken back. */
  fence: boolean;
  remedy: boolean;
  /** So many pods go that were not on record. */
  pods: number;
}

/** What the NodeFence has to say, before anything is done. */
export interface RecordDecision {
  /** In the spec, where it changes. */
  policy?: string;
  /** Absent: as it is. */
  status?: NodeFenceStatus;
}

/** What was found out about a node that is attended to; `report` tells from this. */
export interface Findings extends Omit<ReleaseDecision, 'steps' | 'recheckAtMs'> {
  remedy: RemedyDecision;
}

export interface NodeDecision {
  judgement: Judgement;
  /** `blind`: nothing can be concluded, so that nothing is done and nothing forgotten. */
  attention: 'needed' | 'none' | 'blind';
  wants: readonly Want[];
  /** Absent: nothing has to be stored. */
  record?: RecordDecision;
  /** The storm that it is in, of which enough others say so on record: nothing is stored of this one for that. */
  storm?: NodeFenceStatus['storm'];
  steps: readonly Step[];
  claims: Claims;
  /** By the API server's clock; absent: nothing is due by itself. */
  recheckAtMs?: number;
  /** How the alarm about repeated trouble stands: looked at in which state of things, and until when that holds. */
  alarm?: { stamp: string; untilMs?: number };
  /** Absent: nobody attends to it, or more has to be read first. */
  findings?: Findings;
}

const noClaims: Claims = { fence: false, remedy: false, pods: 0 };

export function decideNode(seen: Sighting | NodeCase): NodeDecision {
  const power = watchSays(seen);
  const judgement = judgeNode({ ...seen.view, ...(power === undefined ? {} : { power }) }, seen.limits);
  const nothing = { judgement, wants: [], steps: [], claims: noClaims };
  if (judgement.wants === 'liveLease' && seen.leaseWasRead !== true) {
    return { ...nothing, attention: 'blind', wants: ['liveLease'] };
  }
  if (judgement.verdict === 'unknown' && judgement.reason !== 'NoReadyCondition') {
    return { ...nothing, attention: 'blind' };
  }
  if (!needsAttention(seen, judgement)) return { ...nothing, attention: 'none' };
  if (!('pods' in seen)) return { ...nothing, attention: 'needed', wants: ['pods'] };
  const decision = decideAttended(seen, judgement);
  const { findings, steps } = decision;
  const stands = seen.isUnread !== true || (findings !== undefined && standsUnread(seen, findings.remedy, steps));
  return stands ? decision : { ...nothing, attention: 'needed', wants: ['pods'] };
}

function decideAttended(nodeCase: NodeCase, judgement: Judgement): NodeDecision {
  const remedy = decideRemedy(nodeCase);
  const epoch = epochOf(nodeCase, remedy);
  const rehearsed = rehearse(nodeCase);
  const decided = decideRelease(asDecided(nodeCase, remedy), remedy, epoch);
  // What a ladder would have met is trouble, also where it is only rehearsed.
  const decision: ReleaseDecision = { ...decided, trouble: decided.trouble ?? rehearsed?.trouble };
  const { steps, recheckAtMs, ...release } = decision;
  const isKnown = rehearsed === undefined && isKnownByOthers(nodeCase, decided, remedy);
  const record = isKnown
    ? undefined
    : recordOf(nodeCase, { decision, remedy, judgement, epoch, rehearsing: rehearsed?.rehearsal });
  const status = record?.status ?? nodeCase.fence?.status;
  return {
    judgement,
    attention: 'needed',
    wants: [
      ...wantsOf(rehearsed?.remedy ?? remedy),
      ...(wantsStorage(nodeCase, decision, remedy) ? (['storage'] as const) : []),
      ...(handsOver(nodeCase, remedy) ? (['successor'] as const) : []),
    ],
    ...(record === undefined ? {} : { record }),
    ...(isKnown ? { storm: stormOf(nodeCase, remedy, true) } : {}),
    steps: [...runSteps(nodeCase, remedy, status), ...steps],
    claims: claimsOf(nodeCase, decision, remedy),
    ...dueAt(Math.min(recheckAtMs, rehearsed?.recheckAtMs ?? Infinity)),
    alarm: alarmOf(nodeCase, judgement, status),
    findings: { ...release, remedy },
  };
}

function dueAt(atMs: number): Pick<NodeDecision, 'recheckAtMs'> {
  return Number.isFinite(atMs) ? { recheckAtMs: atMs } : {};
}

/**
 * Whether only its kubelet is away is asked before its machine is cut, or its object given up. Who rehearses asks as well, or would
 * not know what would be done: to ask changes nothing.
 */
function wantsOf(remedy: RemedyDecision): Want[] {
  const { hold, fence } = remedy;
  // Whatever is found out first is asked for, in whatever phase.
  const isOpen = wantsDevice(remedy) || hold?.reason === 'LookingAround';
  // Of a fence that has failed, or that waits for a boot, it is asked now and then: its machine may be off since.
  const isLater = !isOpen && (fence?.phase === 'failed' || fence?.phase === 'booting');
  return [
    ...(isOpen ? (['device'] as const) : []),
    ...(isLater ? (['deviceLater'] as const) : []),
    ...(isOpen || hold?.reason === 'KubeletDown' ? (['kubelet'] as const) : []),
  ];
}

/** Whether it is connected is asked when nothing else keeps it in quarantine. */
function wantsStorage(nodeCase: NodeCase, { back }: ReleaseDecision, { fence }: RemedyDecision): boolean {
  return back.waitsFor?.reason === 'CutOff' && isQuarantined(nodeCase) && !isUnderFence(fence);
}

/** Whether its machine is off already is asked before it is told anything. */
function wantsDevice({ fence, asksWhetherOff = false }: RemedyDecision): boolean {
  if (asksWhetherOff) return true;
  switch (fence?.phase) {
    case 'waiting':
    case 'isolated':
      return true;
    case 'isolating':
    case 'poweringOff':
      return (
        sentAtMs(stateOf(fence).switched, fence.step === 'isolation' ? 'isolation' : 'power-management') === undefined
      );
    default:
      return false;
  }
}

interface Decided {
  decision: ReleaseDecision;
  remedy: RemedyDecision;
  judgement: Judgement;
  epoch: number;
  rehearsing: Rehearsing | undefined;
}

function recordOf(nodeCase: NodeCase, decided: Decided): RecordDecision | undefined {
  const { fence } = nodeCase;
  const { decision } = decided;
  const policy = nodeCase.policy.kind === 'one' ? nodeCase.policy.policy.name : undefined;
  if (fence === undefined && !isWorthRecording(nodeCase, decision)) return undefined;
  const isNewPolicy = fence === undefined || (fence.spec.policy !== policy && decision.trouble !== undefined);
  const written = policy === undefined || !isNewPolicy ? {} : { policy };
  const status = fittingStatus(nextStatus({ nodeCase, ...decided }));
  const isWell = fence !== undefined && fence.status.incident === undefined && decision.trouble === undefined;
  const isNews = fence === undefined || nodeCase.isMended === true;
  const isKept = !isNews && (isSame(status, fence.status) || (isWell && isNoNews(fence.status, status)));
  if (isKept) return written.policy === undefined ? undefined : written;
  return { ...written, status };
}

/** Of a node that is well: nothing has changed that anybody has to know. */
function isNoNews(before: NodeFenceStatus, after: NodeFenceStatus): boolean {
  return isSameAlarm(before, after) && isSame([before.request, before.storm], [after.request, after.storm]);
}

/** Where nobody asked for anything, nothing is written: Kubernetes is alone with its node. */
function isWorthRecording(nodeCase: NodeCase, { trouble, fates, stuck, assertion }: ReleaseDecision): boolean {
  if (trouble === undefined) return false;
  if (nodeCase.policy.kind !== 'none' || assertion !== undefined) return true;
  return fates.some(({ goes }) => goes) || stuck.length > 0 || isMarkedByUs(nodeCase);
}

/** What has to be taken away again. */
function isMarkedByUs(nodeCase: NodeCase): boolean {
  return isQuarantined(nodeCase) || nodeCase.node?.isOurCordon === true;
}

/** What the ladder or the fence has running comes first; it takes its time, and nothing waits for it. */
function runSteps(nodeCase: NodeCase, { run, ladder }: RemedyDecision, status: NodeFenceStatus | undefined): Step[] {
  const { node } = nodeCase;
  // Without a record nothing runs.
  if (run === undefined || status === undefined) return [];
  if (run.do === 'cordon') return [{ begins: run }];
  const grounds: Grounds = {
    basis: 'Remedy',
    node: nodeCase.name,
    ...(node === undefined ? {} : { nodeUid: node.uid, bootId: node.bootId }),
    epoch: status.epoch,
    taints: [],
    freed: [],
    ...leaveFor(nodeCase, run),
    ...causeOf(nodeCase, ladder, run),
    ...slotFor(nodeCase, run),
    ...(connects(run) ? { pods: nodeCase.pods.map(seenPod) } : {}),
    ...(node === undefined ? {} : worthOfRun({ ...nodeCase, node }, run, { status, ladder })),
  };
  if (run.do !== 'runJob') return [{ grounds, begins: run }];
  const incident = status.incident?.id ?? '';
  return [{ grounds, begins: { ...run, job: { ...run.job, incident } } }];
}

/** Who could forbid it. No policy and no pause leaves a machine off that we have cut (SAF-12). */
function leaveFor({ policy, pause }: NodeCase, run: PlannedRun): Pick<Grounds, 'policy' | 'pause'> {
  const isPowerOn = run.do === 'switch' && run.what === 'power' && run.method.action === 'on';
  if (isPowerOn) return { pause: 'any' };
  return { pause, ...(policy.kind === 'one' ? { policy: identityOf(policy.policy) } : {}) };
}

/** Whatever runs there writes again from then on: it is who was there when that was found harmless (SAF-4). */
function connects(run: PlannedRun): boolean {
  return run.do === 'switch' && run.what === 'storage' && run.method.action === 'on';
}

/** What cannot be taken back, and begins only while the trouble that it is for goes on. */
function isHarsh(run: PlannedRun): boolean {
  return run.do === 'drain' || run.do === 'deleteMachine' || (run.do === 'runJob' && !run.wasMade);
}

/** So is every command of a fence that switches off (S39). What a person asks for needs no trouble, and what it was asked for has to be so still. */
function isCut({ fence }: NodeCase, run: PlannedRun): boolean {
  return isOff(run) && (fence === undefined || requestOf(fence) === undefined);
}

function isOff(run: PlannedRun): boolean {
  return run.do === 'switch' && run.method.action === 'off';
}

/** Whoever cuts something that is on looks once more whether that is worth it. */
function worthOfRun(
  nodeCase: PresentCase,
  run: PlannedRun,
  { status, ladder }: { status: NodeFenceStatus; ladder: RemedyDecision['ladder'] },
): Pick<Grounds, 'worth'> {
  const spell = isCut(nodeCase, run)
    ? fenceSpell(nodeCase, status)
    : run.do === 'deleteMachine' && ladder !== undefined
      ? machineSpell(nodeCase, ladder)
      : undefined;
  return spell === undefined ? {} : { worth: worthOf(nodeCase, spell) };
}

type Cause = Pick<Extract<Grounds, { basis: 'Remedy' }>, 'leaseRenewTime' | 'heartbeatTime' | 'trouble' | 'isAsked'>;

/** What has to be so still when it begins; nothing, where it is one for the way back. */
function causeOf(nodeCase: NodeCase, ladder: RemedyDecision['ladder'], run: PlannedRun): Cause {
  if (isCut(nodeCase, run)) return troubleOf(nodeCase, ladder, run) ?? awayOf(nodeCase);
  if (isHarsh(run)) return troubleOf(nodeCase, ladder, run) ?? {};
  return isOff(run) ? askedFor(nodeCase) : {};
}

/** The trouble that the ladder is for; undefined where there is no such ladder, or not any more. */
function troubleOf(nodeCase: NodeCase, ladder: RemedyDecision['ladder'], run: PlannedRun): Cause | undefined {
  const { policy, lease, node } = nodeCase;
  if (policy.kind !== 'one' || ladder?.phase !== 'running') return undefined;
  const threshold = policy.policy.remedy?.thresholds.find(({ key }) => key === ladder.threshold);
  if (threshold === undefined) return undefined;
  const silent = unheard(nodeCase);
  if (threshold.condition === undefined) {
    // Where there is no Lease, it is silent because Kubernetes says so.
    const isThere = lease !== undefined && lease.isGone !== true;
    return isThere ? silent : { ...silent, trouble: { type: 'Ready', status: 'Unknown' } };
  }
  const { type, status } = threshold.condition;
  // What Kubernetes calls Unknown is silent: whoever renews its Lease is on its way back.
  return { trouble: { type, status }, ...(run.do === 'switch' && node?.ready === 'Unknown' ? silent : {}) };
}

/** Nobody says any more what a fence that has begun is for: it goes on for as long as the node is away. */
function awayOf(nodeCase: NodeCase): Cause {
  const silent = unheard(nodeCase);
  return nodeCase.node?.ready === 'True' ? silent : { ...silent, trouble: { type: 'Ready', status: 'NotTrue' } };
}

function claimsOf(nodeCase: NodeCase, decision: ReleaseDecision, { fence, ladders }: RemedyDecision): Claims {
  const { hold } = decision;
  const decided = { spec: nodeCase.fence?.spec, status: { fence, ladders, hold } };
  return {
    fence: holdsSlot('fence', decided),
    remedy: holdsSlot('remedy', decided),
    pods: newPods(nodeCase, decision),
  };
}

/** What is begun for the first time finds a slot free, by the records as they are then; one that goes on has its slot. */
function slotFor({ policy, fence }: NodeCase, run: PlannedRun): Pick<Grounds, 'slot'> {
  const storm = (policy.kind === 'one' ? policy.policy.remedy?.storm : undefined) ?? DEFAULT_STORM;
  const isFence = isOff(run) && !goesOn(fence?.status.fence, run);
  if (!isFence && !isHarsh(run)) return {};
  return { slot: { kind: isFence ? 'fence' : 'remedy', max: storm.maxConcurrent } };
}

/**
 * It has its slot by a command of the same step that was told before this one: by another method, or by an earlier try. In which try or
 * level that is says nothing: a cordon has no device, and one that could not be asked was told nothing.
 */
function goesOn(fence: NodeFenceStatus['fence'], run: PlannedRun): boolean {
  if (fence === undefined || run.do !== 'switch') return false;
  const stepMs = Date.parse(fence.stepStartedAt);
  const triedMs = Date.parse(fence.until ?? '');
  const told = fence.switched.filter(({ method, commandSentAt = '' }) => {
    const sentMs = Date.parse(commandSentAt);
    return sentMs >= stepMs && (method !== run.method.name || sentMs < triedMs);
  });
  return isCutting({ ...fence, switched: told });
}

function newPods({ fence }: NodeCase, { records }: ReleaseDecision): number {
  const uids = (all: readonly { pods: readonly { uid: string }[] }[]): string[] =>
    all.flatMap(({ pods }) => pods.map(({ uid }) => uid));
  const before = new Set(uids(fence?.status.releases ?? []));
  return uids(records).filter((uid) => !before.has(uid)).length;
}

function alarmOf(
  nodeCase: NodeCase,
  judgement: Judgement,
  status: NodeFenceStatus | undefined,
): NonNullable<NodeDecision['alarm']> {
  const stands = repeatedTrouble(status?.problems ?? [], alarmsFor(nodeCase), nodeCase.serverNowMs);
  const stamp = alarmStamp(nodeCase, judgement);
  return stands === undefined ? { stamp } : { stamp, untilMs: stands.untilMs };
}
