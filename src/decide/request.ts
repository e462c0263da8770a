/** What comes of a fence that a person asks for: it is taken up at the first look, or refused for good. */
import { CLOCKS_DIFFER_MS, clockTime, isFromBefore, isUnderFence } from '../api/facts.ts';
import type { Asked, FenceRequest, RequestAnswer } from '../api/fence-request.ts';
import { hasEnded, isTakenUp, requestOf } from '../api/fence-request.ts';
import type { REQUESTED } from '../api/reasons.ts';
import type { NodeCase } from '../api/release-view.ts';
import { maintenanceOf } from '../release/maintenance.ts';

export interface RequestRefusal {
  reason: keyof (typeof REQUESTED)['reason'];
  message: string;
}

/** Whoever waits longer has forgotten it, and would be surprised. */
const takenUpWithinMs = 600_000;

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
  { fence, serverNowMs }: NodeCase,
  { asked, refusal }: RequestDecision,
  isTaken: boolean,
): RequestAnswer | undefined {
  const requested = fence?.spec.requested;
  const answeredAt = clockTime(serverNowMs);
  if (fence === undefined || requested === undefined) return fence?.status.request;
  const { by, at } = requested;
  if (refusal !== undefined) return { by, at, answeredAt, ...refusal };
  const isNew = asked !== undefined && isTaken && !isTakenUp(fence);
  if (isNew) return { by, at, answeredAt, reason: 'TakenUp' };
  const { request } = fence.status;
  // Remembered for good: the next fence, which takes the place of this one in the record, may be withdrawn (S37).
  const isSpent = isTakenUp(fence) && hasEnded(fence) && request?.endedAt === undefined;
  return request && isSpent ? { ...request, endedAt: answeredAt } : request;
}

/** A request that waited for any of these to change would be a landmine. */
function refusalOf(nodeCase: NodeCase, asked: FenceRequest): RequestRefusal | undefined {
  const { fence, node } = nodeCase;
  const isTaken = fence !== undefined && isTakenUp(fence);
  const isOurs = isTaken && !isFromBefore(asked.at, fence);
  const late = fence === undefined || isOurs ? undefined : untimely(fence, nodeCase.serverNowMs);
  if (late !== undefined || node === undefined) return late;
  return otherNode(nodeCase) ?? notActing(nodeCase) ?? inMaintenance(nodeCase) ?? withoutPolicy(nodeCase, asked);
}

function otherNode({ fence, node }: NodeCase): RequestRefusal | undefined {
  const { nodeUid = '' } = fence?.status.incident ?? {};
  const isOther = fence !== undefined && isTakenUp(fence) && nodeUid !== '' && nodeUid !== node?.uid;
  return isOther ? { reason: 'OtherNode', message: 'the node that it was about is gone' } : undefined;
}

function notActing({ fence, policy }: NodeCase): RequestRefusal | undefined {
  if (fence?.spec.stop === true) return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true' };
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

/** Why a request that nobody has answered yet is not about today. */
export function untimely(record: Asked, nowMs: number): RequestRefusal | undefined {
  const { requested } = record.spec;
  if (requested === undefined) return undefined;
  const atMs = Date.parse(requested.at);
  if (atMs > nowMs + CLOCKS_DIFFER_MS) {
    return { reason: 'InTheFuture', message: `it is dated ${requested.at}, which is still to come` };
  }
  if (isFromBefore(requested.at, record)) {
    const message = `it is of ${requested.at}, and the NodeFence was made later: it was restored, or copied`;
    return { reason: 'Restored', message };
  }
  if (nowMs > atMs + takenUpWithinMs) {
    return { reason: 'TooOld', message: `nobody took it up within ten minutes of ${requested.at}` };
  }
  return undefined;
}
