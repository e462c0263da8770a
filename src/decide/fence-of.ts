/**
 * What the fence of a node comes to in one pass: which facts its automaton is told, from the case alone. What calls for a
 * fence, a ladder or a person, is not decided here.
 */
import { darkBeside, silentNow } from '../api/beside.ts';
import { isOver, isUnderFence } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { isTakenUp } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { isOutOfServiceByUs } from '../api/out-of-service.ts';
import { DEFAULT_FENCE } from '../api/policy-facts.ts';
import { unshownCuts } from '../api/ports.ts';
import { powerMethods } from '../api/power.ts';
import type { NodeCase, PresentCase } from '../api/release-view.ts';
import { OUT_OF_SERVICE_KEY } from '../api/release-view.ts';
import type { Cordon, LongAct } from '../api/steps.ts';
import type { FenceCase, FenceDecision } from '../fence/decide-fence.ts';
import { tryKey } from '../fence/place.ts';
import { stateOf } from '../fence/stored.ts';
import { entryFor, isConfirmed, powerBack } from '../fence/switched.ts';
import { decideFence } from '../fence/decide-fence.ts';
import { doorOf } from '../release/device-question.ts';
import { crashHeard } from '../release/by-kernel-crash.ts';
import { isSpent } from '../release/hold.ts';
import { isAliveSince } from '../release/by-power.ts';
import { detachPatienceMs } from '../release/out-of-service.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { releaseNode } from '../release/release-node.ts';
import { isTroubled } from '../remedy/ladder.ts';
import type { Spell } from '../release/patience.ts';
import { leftToOthers, othersUnknown, pausedByName, wasShuttingDown } from '../release/patience.ts';
import { gainOf } from '../release/gain.ts';
import { maintenanceNow } from '../release/maintenance.ts';
import { bootOf, isLostAgain } from './boot-of.ts';
import { brakeOf, isFoundOff, spellOf } from './brake-of.ts';
import { remedyOf } from './of-case.ts';
import { isHarmless, needsReboot } from './harmless.ts';
import { isBack } from './is-back.ts';
import { isUnharmed, neverOff } from './never-off.ts';
import { quietOf } from './silence.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

/** Where there is no policy any more that could say: what was begun is brought to its end, and nothing else begins. */
export const fenceWithoutPolicy = { ...DEFAULT_FENCE, restarts: 0 };
/** Somebody wants it now, and all of it; the brake of a policy holds all the same, or this one where there is none. */
const atOnce = { isolateAfterMs: 0, powerManagementAfterMs: 0 };

export interface Rung {
  status: NodeFenceStatus;
  /** One that has ended, where another one begins. */
  earlier?: Fence;
  ladder: LadderState | undefined;
  isWanted: boolean;
  /** By a person, not by a ladder. */
  isRequested?: boolean;
  /** Nothing more is switched off. */
  isPaused?: boolean;
}

/** A fence that had ended before somebody asked for one is not the one that was asked for. */
export function withoutEarlier(nodeCase: PresentCase, status: NodeFenceStatus): Pick<Rung, 'status' | 'earlier'> {
  const { fence } = nodeCase;
  const isIt = fence === undefined || isTakenUp({ spec: fence.spec, status });
  return isIt ? { status } : begunFor(nodeCase, status);
}

/**
 * What was begun is brought to its end, also where something else calls for it now (S20): but not where it is only undone for a Node
 * object that has its machine now, and is in trouble of its own.
 */
export function begunFor(
  nodeCase: PresentCase,
  status: NodeFenceStatus,
  fence = status.fence,
): Pick<Rung, 'status' | 'earlier'> {
  const isOver = fence?.phase === 'recovering' && isOfPredecessor(nodeCase, fence);
  return isUnderFence(fence) && !isOver ? { status } : anew({ ...status, ...(fence === undefined ? {} : { fence }) });
}

/** Another fence begins; what an earlier one has cut off and not connected is not forgotten. */
export function anew({ fence: earlier, ...status }: NodeFenceStatus): Pick<Rung, 'status' | 'earlier'> {
  return { status, ...(earlier === undefined ? {} : { earlier }) };
}

export function fenceOf(nodeCase: PresentCase, rung: Rung): FenceDecision {
  const { status, ladder, isWanted, isRequested = false, isPaused = false } = rung;
  const { config } = nodeCase;
  const remedy = remedyOf(nodeCase);
  const threshold = remedy?.thresholds.find(({ key }) => key === ladder?.threshold);
  const { fence } = status;
  const spell = fenceSpell(nodeCase, status);
  const harsh = { kind: 'fence', threshold: ladder?.threshold, isRequested, spell } as const;
  const brake = brakeOf(fence === undefined ? begunAnew(nodeCase) : nodeCase, harsh);
  const limits = remedy?.fence ?? fenceWithoutPolicy;
  const darkness = darkBeside(nodeCase);
  const isOff = isFoundOff(nodeCase);
  const isStillTroubled = threshold !== undefined && isTroubled(threshold, nodeCase.trouble);
  return decideFence({
    nowMs: nodeCase.serverNowMs,
    status,
    ...(rung.earlier === undefined ? {} : { earlier: rung.earlier }),
    isWanted,
    isCalledFor: isStillTroubled || isRequested,
    isUnsettled: threshold?.lease !== undefined && quietOf(nodeCase)?.isAlive === false,
    unsent: nodeCase.unsent,
    cleanResources: threshold?.remedies[ladder?.position ?? 0]?.cleanResources ?? isRequested,
    nodeUid: nodeCase.node.uid,
    recordUid: nodeCase.fence?.metadata.uid,
    bootId: bootOf(nodeCase, status),
    heardMs: quietOf(nodeCase)?.sinceMs,
    config,
    limits: isRequested ? { ...limits, ...atOnce } : limits,
    task: nodeCase.task,
    ...backOf(nodeCase, status, { isStillTroubled, isRequested, isOff }),
    isHarmless: isHarmless(nodeCase, status, isOfPredecessor(nodeCase, nodeCase.fence?.status.fence)),
    needsReboot: needsReboot(nodeCase),
    onAgain: saidIn(['off'], nodeCase.onAgain, fence)?.message,
    unconfirmed: saidIn(['off', 'isolated'], nodeCase.unconfirmed, fence),
    refused: refusedOf(nodeCase, fence),
    refusedGrounds: nodeCase.refusedGrounds,
    isAliveSince: isAliveSince(nodeCase, fence),
    neverOff: neverOff(nodeCase, status),
    isUnharmed: isUnharmed(nodeCase, status),
    darkness,
    silentBeside: nodeCase.beside && silentNow(nodeCase.beside),
    others: nodeCase.others,
    youngOthers: nodeCase.youngOthers,
    dumpUntilMs: dumpUntilMs(nodeCase),
    isReleased: darkness === undefined && isReleased(nodeCase),
    isOutOfService: isOutOfServiceByUs(nodeCase.node),
    staysOff: staysOff(nodeCase),
    isTheirs: theirsBy(nodeCase) !== undefined,
    foundOffMs: foundOffMs(status),
    isWorthIt: gainOf(nodeCase) !== undefined,
    isFoundOff: isOff,
    isOfPredecessor: isOfPredecessor(nodeCase, fence),
    isStopped: nodeCase.fence?.spec.stop === true,
    isLostAgain: isLostAgain(nodeCase, status),
    isPaused,
    ...(brake === undefined ? {} : { brake }),
  });
}

/** Of a machine without a Node object nothing is seen: its power, where that was cut, is switched on, and nothing else is done. */
export function fenceOfGone(nodeCase: NodeCase, status: NodeFenceStatus): FenceDecision {
  const { serverNowMs: nowMs, config, task } = nodeCase;
  return decideFence({
    nowMs,
    status,
    isWanted: true,
    isCalledFor: false,
    cleanResources: false,
    bootId: '',
    config,
    limits: remedyOf(nodeCase)?.fence ?? fenceWithoutPolicy,
    task,
    isBack: false,
    isHarmless: false,
    isAliveSince: false,
    isReleased: false,
    isWorthIt: false,
    isFoundOff: false,
    isOfPredecessor: true,
    isStopped: false,
    isPaused: false,
  });
}

/**
 * It was begun for another Node object of the same name. Of one that an earlier version has begun only times tell, which the clocks of two
 * API servers can turn round.
 */
export function isOfPredecessor({ node, fence: record }: PresentCase, fence: Fence | undefined): boolean {
  if (fence === undefined) return false;
  if (fence.nodeUid !== undefined) return fence.nodeUid !== node.uid;
  const isLater = Date.parse(node.createdAt ?? '') > Date.parse(fence.startedAt);
  // In the same second their times do not tell; then the record is still about the other one.
  const { nodeUid = '' } =
    (fence.startedAt === record?.status.fence?.startedAt ? record.status.incident : undefined) ?? {};
  return isLater || (nodeUid !== '' && nodeUid !== node.uid);
}

/**
 * A node that is Ready and has the trouble that its fence is for is not back, or whose power is lost; nor is one of which a person
 * wants it, unless it was booted again since it was isolated, or is only isolated, and by what may be the port of another one: that
 * one would stay cut off, and nobody would know.
 */
function backOf(
  nodeCase: PresentCase,
  status: NodeFenceStatus,
  { isStillTroubled, isRequested, isOff }: Record<'isStillTroubled' | 'isRequested' | 'isOff', boolean>,
): { isBack: boolean; wantedStill?: string } {
  const { fence } = status;
  if (!isBack(nodeCase)) return { isBack: false };
  if (!beforeOff.has(fence?.phase)) return { isBack: true };
  if (isOff) return { isBack: false };
  if (isStillTroubled) return { isBack: false, wantedStill: 'its trouble is over' };
  const bootId = bootOf(nodeCase, status);
  const isRebooted = fence?.phase === 'isolated' && bootId !== '' && fence.bootId !== bootId;
  if (!isRequested || isRebooted || isUnshown(nodeCase, fence)) return { isBack: true };
  return { isBack: false, wantedStill: 'it is booted again, or whoever asked for the fence takes that back' };
}

/** Nothing more is cut, and nobody has shown that it was cut off at all. */
function isUnshown(nodeCase: NodeCase, fence: Fence | undefined): boolean {
  return powerMethods(nodeCase.config).length === 0 && unshownCuts(fence?.switched ?? [], nodeCase).length > 0;
}

/** Who has been heard of since an earlier fence began says nothing for one that begins now (SAF-7). */
function begunAnew(nodeCase: PresentCase): PresentCase {
  const { around: _, ...unseen } = nodeCase;
  return nodeCase.fence?.status.fence === undefined ? nodeCase : unseen;
}

/**
 * Until a device has confirmed that something is cut, it has patience: since it was called for. One that begins anew has had
 * that, and counts from the beginning of the trouble.
 */
export function fenceSpell(nodeCase: PresentCase, { fence, incident }: NodeFenceStatus): Spell | undefined {
  const { serverNowMs: nowMs } = nodeCase;
  if (fence === undefined) return spellOf(nodeCase, nowMs);
  // A cordon confirms nothing.
  const isCut = fence.switched.some(({ confirmedAt, device }) => confirmedAt !== undefined && device !== undefined);
  if (isCut) return undefined;
  const isFirst = fence.restarts === 0 && fence.phase !== 'failed';
  return spellOf(nodeCase, Date.parse((isFirst ? undefined : incident?.startedAt) ?? fence.startedAt));
}

/** Undefined: they have not said so. */
function foundOffMs({ incident }: NodeFenceStatus): number | undefined {
  return incident?.foundOff === undefined ? undefined : Date.parse(incident.foundOff.at);
}

/** Why a machine that was found off is left so (SAF-19). */
function staysOff(nodeCase: PresentCase): string | undefined {
  const theirs = theirsBy(nodeCase);
  if (theirs !== undefined) return theirs;
  if (nodeCase.node.plans?.isCordoned === true) return 'others have the node cordoned';
  return remedyOf(nodeCase)?.fence.powerOnFoundOff === false ? 'fence.powerOnFoundOff is false' : undefined;
}

/** Somebody has said that the machine is theirs now, and may have their hands in it. A cordon alone says so of the node. */
function theirsBy(nodeCase: PresentCase): string | undefined {
  const left = leftToOthers(nodeCase) ?? othersUnknown(nodeCase);
  if (left !== undefined) return left.message;
  if (wasShuttingDown(nodeCase)) return 'its kubelet had reported that its machine was shutting down';
  return (maintenanceNow(nodeCase) ?? pausedByName(nodeCase))?.message;
}

/** What its devices said counts for the phase that they were asked in, and only in these. */
function saidIn<Said extends { since: string }>(
  phases: readonly Fence['phase'][],
  said: Said | undefined,
  fence: Fence | undefined,
): Said | undefined {
  return fence !== undefined && phases.includes(fence.phase) && said?.since === fence.stepStartedAt ? said : undefined;
}

/** Whoever has it mended in time after the cut sees nothing undone: only what was refused since it is off counts. */
function refusedOf(nodeCase: PresentCase, fence: Fence | undefined): FenceCase['refused'] {
  const { refused, serverNowMs } = nodeCase;
  if (refused === undefined) return undefined;
  const offMs = fence?.phase === 'off' ? serverNowMs - Date.parse(fence.stepStartedAt) : 0;
  const forMs = Math.min(refused.forMs, offMs);
  return { ...refused, forMs, isReliedOn: isMarked(nodeCase) || isLettingGo(nodeCase) };
}

/** Pods have gone on the strength of its being off, and what they leave is still being detached. */
function isLettingGo(nodeCase: PresentCase): boolean {
  return releasedBy('PowerOff', nodeCase).some(
    ({ podsGoneAt = '', endedAt }) =>
      endedAt === undefined && nodeCase.serverNowMs < Date.parse(podsGoneAt) + detachPatienceMs,
  );
}

function releasedBy(basis: string, { fence, node }: NodeCase): NodeFenceStatus['releases'] {
  return (fence?.status.releases ?? []).filter((one) => one.basis === basis && one.bootId === node?.bootId);
}

/**
 * Whoever reads that taint takes the machine for off, and detaches its volumes by force: it is not switched on under it, and ours
 * goes when its pods have gone (S7).
 */
function isMarked({ node }: PresentCase): boolean {
  return node.taints.some(({ key }) => key === OUT_OF_SERVICE_KEY);
}

const beforeOff: ReadonlySet<string | undefined> = new Set([
  undefined,
  'waiting',
  'isolating',
  'isolated',
  'poweringOff',
]);

export function methodRun(
  nodeCase: NodeCase,
  fence: Fence,
  { method, isQuestion = false }: { method: Method; isQuestion?: boolean | undefined },
): Cordon | Extract<LongAct, { do: 'switch' | 'uncordon' }> {
  const { action } = method;
  const key = tryKey(stateOf(fence), method);
  if (action === 'cordon' || action === 'uncordon') return { do: action, key };
  const what = isOfPower(nodeCase, fence, method) ? 'power' : 'storage';
  const cut = action === 'off' ? { ...sentBy(nodeCase, fence, method), ...partOf(nodeCase, fence, method) } : {};
  const asks = isQuestion ? { isQuestion, ...(what === 'power' ? doorOf(nodeCase) : {}) } : {};
  return { do: 'switch', key, what, method, ...asks, ...cut };
}

/** Of a node that is back, what is left of its power is switched on beside its way to the storage. */
function isOfPower({ config }: NodeCase, fence: Fence, method: Method): boolean {
  if (fence.phase === 'poweringOff' || fence.phase === 'poweringOn') return true;
  if (fence.phase === 'isolating' || !config.ok) return false;
  const device = deviceHash(method);
  return powerBack(stateOf(fence), config.config).some((one) => deviceHash(one.method) === device);
}

/** The kubelet of a machine with several supplies falls silent with the last of them. */
function partOf({ config }: NodeCase, fence: Fence, method: Method): { isPart?: boolean } {
  if (fence.phase !== 'poweringOff' || !config.ok) return {};
  const { off = [] } = config.config.powerManagement[fence.level] ?? {};
  const { switched } = stateOf(fence);
  const isPart = off.some((one) => one.name !== method.name && !isConfirmed(switched, 'power-management', one));
  return isPart ? { isPart } : {};
}

/** Since when the command of a method may have been sent, and whether anybody but this decision can have sent it. */
function sentBy(
  { fence: stored }: NodeCase,
  fence: Fence,
  method: Method,
): Pick<Extract<LongAct, { do: 'switch' }>, 'sent'> {
  const step = fence.phase === 'poweringOff' ? 'power-management' : 'isolation';
  const of = (some: Fence | undefined): string | undefined =>
    some && entryFor(some.switched, step, method)?.commandSentAt;
  const at = of(fence);
  return at === undefined ? {} : { sent: { at, isFirst: of(stored?.status.fence) !== at } };
}

/** Power management waits for the dump, for as long as the policy says (FEN-12). */
function dumpUntilMs(nodeCase: NodeCase): number | undefined {
  const heard = crashHeard(nodeCase);
  if (heard === undefined) return undefined;
  const { timeoutMs = 0 } = (nodeCase.policy.kind === 'one' ? nodeCase.policy.policy.kdump : undefined) ?? {};
  return (heard.observedAt === undefined ? nodeCase.serverNowMs : Date.parse(heard.observedAt)) + timeoutMs;
}

/** What may go on the strength of its present step has gone, as far as anybody lets it. */
function isReleased(nodeCase: NodeCase): boolean {
  const { fence, serverNowMs } = nodeCase;
  const { phase = 'waiting', cleanResources } = fence?.status.fence ?? {};
  const basis = basisOf[phase];
  if (basis === undefined) return false;
  if (cleanResources === false) return true;
  if (isSpent(nodeCase)) return true;
  // What a budget keeps does not go, which may be for ever: it is not waited for.
  const isLeft = releaseNode(nodeCase).some((fate) => fate.goes && !isOver(fate.pod));
  if (isLeft) return false;
  return releasedBy(basis, nodeCase).every(
    ({ endedAt, podsGoneAt }) =>
      endedAt !== undefined || serverNowMs >= Date.parse(podsGoneAt ?? '') + detachPatienceMs,
  );
}

const basisOf: Partial<Record<Fence['phase'], string>> = { off: 'PowerOff', isolated: 'StorageFenced' };
