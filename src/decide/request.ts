/**
 * What comes of a fence that a person asks for: it is taken up at the first look, or refused for good. Until something was
 * begun for it, it is about the node as it was when somebody asked, and about that moment.
 */
import { CLOCKS_DIFFER_MS, clockTime, isFromBefore, isUnderFence } from '../api/facts.ts';
import type { Asked, FenceRequest, RequestAnswer } from '../api/fence-request.ts';
import { answerOf, hasEnded, isTakenUp, lapsesAtMs, requestOf } from '../api/fence-request.ts';
import { problemText } from '../api/fence-config.ts';
import type { NodeFence } from '../api/node-fence.ts';
import { isSilent } from '../api/life.ts';
import { beyondOf, beyondText } from '../api/forbidden.ts';
import { pauseOf } from '../api/pause.ts';
import { commandKey } from '../api/task.ts';
import type { REQUESTED } from '../api/reasons.ts';
import type { LiveNode, NodeCase, PresentCase } from '../api/release-view.ts';
import type { Grounds } from '../api/steps.ts';
import { maintenanceOf } from '../release/maintenance.ts';
import { isTroubled } from '../remedy/ladder.ts';
import { isBack } from './is-back.ts';
import { remedyOf } from './of-case.ts';
import { unheard } from './silence.ts';

export interface RequestRefusal {
  reason: keyof (typeof REQUESTED)['reason'];
  message: string;
}

export interface RequestDecision {
  /** It stands: a fence is wanted. */
  asked?: FenceRequest;
  /** It was refused just now. */
  refusal?: RequestRefusal;
}

export function decideRequest(nodeCase: NodeCase): RequestDecision {
  const { fence } = nodeCase;
  const asked = fence && requestOf(fence);
  if (fence === undefined || asked === undefined) return {};
  // What was begun here is brought to its end; it is held, if at all, like every other fence.
  if (!isFromBefore(asked.at, fence) && isTakenUp(fence) && isBegun(fence, nodeCase)) return { asked };
  const refusal = refusalOf(nodeCase, asked);
  return refusal === undefined ? { asked } : { refusal };
}

/** Not where all that is on record is a command that we have yet to send: its device is asked first, which may take its time. */
function isBegun({ status }: NodeFence, { unsent }: NodeCase): boolean {
  if (!isUnderFence(status.fence)) return false;
  const { told, switched = [] } = status.fence ?? {};
  const isUnsent = switched.every(({ method, commandSentAt: at = '' }) => commandKey(method, at) === unsent);
  return told !== undefined || switched.length === 0 || !isUnsent;
}

/** The answer as it is stored; as it was, where there is nothing new. */
export function answerFor(
  nodeCase: NodeCase,
  { asked, refusal }: RequestDecision,
  isTaken: boolean,
): RequestAnswer | undefined {
  const { fence, serverNowMs } = nodeCase;
  const requested = fence?.spec.requested;
  const answeredAt = clockTime(serverNowMs);
  if (fence === undefined || requested === undefined) return fence?.status.request;
  const { by, at } = requested;
  if (refusal !== undefined) return { by, at, answeredAt, ...refusal };
  const isNew = asked !== undefined && isTaken && !isTakenUp(fence);
  if (isNew) return { by, at, answeredAt, reason: 'TakenUp', ...notedOf(nodeCase) };
  const { request } = fence.status;
  // Remembered for good: the next fence, which takes the place of this one in the record, may be withdrawn (S37).
  const isSpent = isTakenUp(fence) && hasEnded(fence) && request?.endedAt === undefined;
  return request && isSpent ? { ...request, endedAt: answeredAt } : request;
}

/** Which life of the node it is about, and what was wrong with it. */
function notedOf(nodeCase: NodeCase): Pick<RequestAnswer, 'bootId' | 'trouble'> {
  const { node } = nodeCase;
  const trouble = wrongWith(nodeCase);
  const noted = trouble === undefined ? {} : { trouble: trouble.what };
  return { ...(node === undefined ? {} : { bootId: node.bootId }), ...noted };
}

/** What is wrong with a node, in a word, and what of it has to be so still when something is told to a device. */
interface Wrong {
  what: string;
  goesOn: Pick<Extract<Grounds, { basis: 'Remedy' }>, 'leaseRenewTime' | 'heartbeatTime' | 'trouble'>;
}

/** Undefined: nothing, as far as anybody knows. */
function wrongWith(nodeCase: NodeCase): Wrong | undefined {
  const { node, lease, trouble } = nodeCase;
  const met = remedyOf(nodeCase)?.thresholds.find((one) => isTroubled(one, trouble));
  const silent = unheard(nodeCase);
  if (met !== undefined) {
    const { type = '', status = '' } = met.condition ?? {};
    return { what: met.key, goesOn: met.condition === undefined ? silent : { trouble: { type, status } } };
  }
  // Of one that nobody reports there is nothing that could go on.
  if (node?.ready === undefined) return { what: 'Ready=not reported', goesOn: {} };
  if (node.ready !== 'True') return { what: `Ready=${node.ready}`, goesOn: { trouble: notReady } };
  return lease !== undefined && isSilent(lease) ? { what: 'lease', goesOn: silent } : undefined;
}

const notReady = { type: 'Ready', status: 'NotTrue' };

/**
 * Who asks for a fence of a node that is lost means that one: while its device is asked it may come back, and is not told anything
 * then (S39). One that is well is told because somebody asks for it.
 */
export function askedFor(nodeCase: NodeCase): Wrong['goesOn'] & { isAsked: true } {
  return { isAsked: true, ...wrongWith(nodeCase)?.goesOn };
}

/** A request that waited for any of these to change would be a landmine. */
function refusalOf(nodeCase: NodeCase, asked: FenceRequest): RequestRefusal | undefined {
  const { fence, node } = nodeCase;
  const late = fence && untimely(fence, nodeCase.serverNowMs);
  if (fence === undefined || late !== undefined) return late;
  if (node === undefined) return { reason: 'OtherNode', message: 'there is no node of this name' };
  const present = { ...nodeCase, node, fence };
  return (
    otherNode(present, asked) ??
    notActing(nodeCase) ??
    inMaintenance(nodeCase) ??
    withoutPolicy(nodeCase, asked) ??
    misconfigured(nodeCase) ??
    isOver(present, asked)
  );
}

type AskedCase = PresentCase & { fence: NodeFence };

/** It stood unanswered, or was held back, for so long that the node is not what it was when somebody asked. */
function isOver(nodeCase: AskedCase, asked: FenceRequest): RequestRefusal | undefined {
  const { fence, node } = nodeCase;
  const { bootId = asked.about?.bootId, trouble } = answerOf(fence) ?? {};
  if (bootId !== undefined && bootId !== node.bootId) {
    return { reason: 'NodeIsBack', message: 'the node has booted since, before anything was begun for it' };
  }
  if (isReadySince(nodeCase, asked)) {
    const since = node.readySince ?? 'nobody knows when';
    const message = `the node is Ready since ${since}: the trouble that it may have been about has passed; who still means it asks again`;
    return { reason: 'NodeIsBack', message };
  }
  if (trouble === undefined || !isBack(nodeCase) || wrongWith(nodeCase) !== undefined) return undefined;
  const message = `what was wrong with the node (${trouble}) has passed before anything was begun for it`;
  return { reason: 'NodeIsBack', message };
}

/** Whether it has become Ready since somebody asked; where nobody knows, it may have. */
function isReadySince({ node, lease, fence, serverNowMs }: AskedCase, asked: FenceRequest): boolean {
  if (node.ready !== 'True') return false;
  if (asked.about !== undefined) return asked.about.readySince !== node.readySince;
  return serverNowMs - readyForMs(node, lease) > askedAfterMs(fence, asked);
}

/**
 * For how long it has been Ready, at least: from then until the last sign of life, both by the clock of its kubelet, and for as long as we
 * have known of that. Of one that shows none nobody knows.
 */
function readyForMs({ readySince, heartbeatTime }: LiveNode, lease: NodeCase['lease']): number {
  const signs = [Date.parse(heartbeatTime ?? ''), Date.parse(lease?.renewTime ?? '') + (lease?.unchangedForMs ?? 0)];
  const sinceMs = Date.parse(readySince ?? '');
  return Math.max(...signs.map((signMs) => signMs - sinceMs).filter((forMs) => !Number.isNaN(forMs)));
}

/** It was written after that, by the API server's clock: into no record that was not there yet, and by a clock that may be ahead. */
function askedAfterMs({ metadata }: NodeFence, { at }: FenceRequest): number {
  return Math.max(Date.parse(at) - CLOCKS_DIFFER_MS, Date.parse(metadata.creationTimestamp ?? at));
}

function otherNode({ fence, node }: AskedCase, asked: FenceRequest): RequestRefusal | undefined {
  const { nodeUid: knownUid = '' } = (isTakenUp(fence) ? fence.status.incident : undefined) ?? {};
  const nodeUid = asked.about?.nodeUid ?? (knownUid === '' ? undefined : knownUid);
  const isNewcomer = nodeUid === undefined && Date.parse(node.createdAt ?? '') > askedAfterMs(fence, asked);
  const isOther = isNewcomer || (nodeUid !== undefined && nodeUid !== node.uid);
  return isOther ? { reason: 'OtherNode', message: 'the node that it was about is gone' } : undefined;
}

function notActing({ fence, policy, pause, serverNowMs, forbidden }: NodeCase): RequestRefusal | undefined {
  if (fence?.spec.stop === true) return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true' };
  const paused = pauseOf(pause, serverNowMs);
  if (paused !== undefined) return { reason: 'PausedForAll', message: paused.message };
  if (policy.kind !== 'one') return undefined;
  const { name, mode } = policy.policy;
  const beyond = beyondOf(policy.policy, forbidden);
  if (beyond.length > 0) {
    const message = `policy ${name} uses what this operator was told to forbid: ${beyondText(beyond)}`;
    return { reason: 'Forbidden', message };
  }
  if (mode !== 'DryRun' && mode !== 'Paused') return undefined;
  return { reason: 'ModeDoesNotAct', message: `policy ${name} has mode ${mode}; ask again when it acts` };
}

function inMaintenance(nodeCase: NodeCase): RequestRefusal | undefined {
  const found = maintenanceOf(nodeCase);
  return found && { reason: 'Maintenance', message: found.message };
}

function withoutPolicy({ policy, name, forbidden = [] }: NodeCase, asked: FenceRequest): RequestRefusal | undefined {
  if (policy.kind === 'one') return undefined;
  if (forbidden.includes('RequestsWithoutPolicy')) {
    const message = `no policy selects ${name}, and this operator was told to forbid RequestsWithoutPolicy`;
    return { reason: 'Forbidden', message };
  }
  if (asked.withoutPolicy === true) return undefined;
  const message = `no policy selects ${name}: whoever means it all the same says so (--without-policy)`;
  return { reason: 'NoPolicy', message };
}

/** Taken up, it would fail within the second, and the record would say of a node that was never gone that it came back. */
function misconfigured({ config }: NodeCase): RequestRefusal | undefined {
  if (config.ok) return undefined;
  return { reason: 'ConfigurationInvalid', message: `${problemText(config.problems)}; nothing was done` };
}

/** Why a request for which nothing was begun yet is not about today. */
export function untimely(record: Asked, nowMs: number): RequestRefusal | undefined {
  const { requested } = record.spec;
  if (requested === undefined) return undefined;
  // It would be neither old nor to come, and never lapse. The API server takes `+25:00` for an offset.
  if (Number.isNaN(Date.parse(requested.at))) {
    return { reason: 'TimeUnreadable', message: `its time, ${requested.at}, cannot be read` };
  }
  if (isFromBefore(requested.at, record)) {
    const message = `it is of ${requested.at}, and the NodeFence was made later: it was restored, or copied`;
    return { reason: 'Restored', message };
  }
  const isTaken = isTakenUp(record);
  if (!isTaken && Date.parse(requested.at) > nowMs + CLOCKS_DIFFER_MS) {
    return { reason: 'InTheFuture', message: `it is dated ${requested.at}, which is still to come` };
  }
  const isLate = nowMs > (lapsesAtMs(record) ?? Infinity);
  if (!isLate) return undefined;
  const what = isTaken ? 'nothing was begun for it' : 'nobody took it up';
  return { reason: 'TooOld', message: `${what} within ten minutes of ${requested.at}` };
}
