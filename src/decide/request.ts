/**
 * What comes of a fence that a person asks for: it is taken up at the first look, or refused for good. Until something was
 * begun for it, it is about the node as it was when somebody asked, and about that moment.
 */
import { CLOCKS_DIFFER_MS, clockTime, isFromBefore, isUnderFence } from '../api/facts.ts';
import type { Asked, FenceRequest, RequestAnswer } from '../api/fence-request.ts';
import { answerOf, hasEnded, isTakenUp, lapsesAtMs, requestOf } from '../api/fence-request.ts';
import { isSilent } from '../api/life.ts';
import { pauseOf } from '../api/pause.ts';
import type { REQUESTED } from '../api/reasons.ts';
import type { NodeCase } from '../api/release-view.ts';
import { maintenanceOf } from '../release/maintenance.ts';
import { isTroubled } from '../remedy/ladder.ts';
import { isBack } from './fence-of.ts';
import { remedyOf } from './of-case.ts';

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
  if (!isFromBefore(asked.at, fence) && isTakenUp(fence) && isUnderFence(fence.status.fence)) return { asked };
  const refusal = refusalOf(nodeCase, asked);
  return refusal === undefined ? { asked } : { refusal };
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
  if (isNew) return { by, at, answeredAt, reason: 'TakenUp', ...lifeOf(nodeCase) };
  const { request } = fence.status;
  // Remembered for good: the next fence, which takes the place of this one in the record, may be withdrawn (S37).
  const isSpent = isTakenUp(fence) && hasEnded(fence) && request?.endedAt === undefined;
  return request && isSpent ? { ...request, endedAt: answeredAt } : request;
}

/** Which life of the node it is about, and what was wrong with it. */
function lifeOf(nodeCase: NodeCase): Pick<RequestAnswer, 'bootId' | 'trouble'> {
  const { node } = nodeCase;
  const trouble = wrongWith(nodeCase);
  return { ...(node === undefined ? {} : { bootId: node.bootId }), ...(trouble === undefined ? {} : { trouble }) };
}

/** Undefined: nothing, as far as anybody knows. */
function wrongWith(nodeCase: NodeCase): string | undefined {
  const { node, lease, trouble } = nodeCase;
  const met = remedyOf(nodeCase)?.thresholds.find((one) => isTroubled(one, trouble));
  if (met !== undefined) return met.key;
  if (node?.ready !== 'True') return `Ready=${node?.ready ?? 'not reported'}`;
  return lease !== undefined && isSilent(lease) ? 'lease' : undefined;
}

/** A request that waited for any of these to change would be a landmine. */
function refusalOf(nodeCase: NodeCase, asked: FenceRequest): RequestRefusal | undefined {
  const { fence, node } = nodeCase;
  const late = fence && untimely(fence, nodeCase.serverNowMs);
  if (late !== undefined) return late;
  if (node === undefined) return { reason: 'OtherNode', message: 'there is no node of this name' };
  return (
    otherNode(nodeCase) ??
    notActing(nodeCase) ??
    inMaintenance(nodeCase) ??
    withoutPolicy(nodeCase, asked) ??
    isOver(nodeCase)
  );
}

/** It was held back for so long that the node is not what it was when somebody asked. */
function isOver(nodeCase: NodeCase): RequestRefusal | undefined {
  const { fence, node } = nodeCase;
  const { bootId, trouble } = (fence && answerOf(fence)) ?? {};
  if (bootId !== undefined && bootId !== node?.bootId) {
    return { reason: 'NodeIsBack', message: 'the node has booted since, before anything was begun for it' };
  }
  if (trouble === undefined || !isBack(nodeCase) || wrongWith(nodeCase) !== undefined) return undefined;
  const message = `what was wrong with the node (${trouble}) has passed before anything was begun for it`;
  return { reason: 'NodeIsBack', message };
}

function otherNode({ fence, node }: NodeCase): RequestRefusal | undefined {
  const { nodeUid = '' } = fence?.status.incident ?? {};
  const isOther = fence !== undefined && isTakenUp(fence) && nodeUid !== '' && nodeUid !== node?.uid;
  return isOther ? { reason: 'OtherNode', message: 'the node that it was about is gone' } : undefined;
}

function notActing({ fence, policy, pause, serverNowMs }: NodeCase): RequestRefusal | undefined {
  if (fence?.spec.stop === true) return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true' };
  const paused = pauseOf(pause, serverNowMs);
  if (paused !== undefined) return { reason: 'PausedForAll', message: paused.message };
  if (policy.kind !== 'one') return undefined;
  const { name, mode } = policy.policy;
  if (mode !== 'DryRun' && mode !== 'Paused') return undefined;
  return { reason: 'ModeDoesNotAct', message: `policy ${name} has mode ${mode}; ask again when it acts` };
}

function inMaintenance(nodeCase: NodeCase): RequestRefusal | undefined {
  const found = maintenanceOf(nodeCase);
  return found && { reason: 'Maintenance', message: found.message };
}

function withoutPolicy({ policy, name }: NodeCase, asked: FenceRequest): RequestRefusal | undefined {
  if (policy.kind === 'one' || asked.withoutPolicy === true) return undefined;
  const message = `no policy selects ${name}: whoever means it all the same says so (--without-policy)`;
  return { reason: 'NoPolicy', message };
}

/** Why a request for which nothing was begun yet is not about today. */
export function untimely(record: Asked, nowMs: number): RequestRefusal | undefined {
  const { requested } = record.spec;
  if (requested === undefined) return undefined;
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
