/**
 * A fence that a person asks for. The request stays where it was written; what came of it is in the status, so that it is
 * answered once: taken up, from when on it lives with its incident, or refused for good.
 */
import { phaseHasEnded } from './facts.ts';
import type { NodeFence, NodeFenceStatus } from './node-fence.ts';

export type FenceRequest = NonNullable<NodeFence['spec']['requested']>;
export type RequestAnswer = NonNullable<NodeFenceStatus['request']>;

export interface Asked {
  metadata?: { creationTimestamp?: string | undefined };
  spec: { requested?: FenceRequest | undefined };
  status?: Pick<Partial<NodeFenceStatus>, 'request' | 'incident'> & {
    fence?: { phase: string; startedAt?: string | undefined } | undefined;
  };
}

/** Undefined: nobody has asked, it was refused, or the fence that was asked for has ended. */
export function requestOf(record: Asked): FenceRequest | undefined {
  const { requested } = record.spec;
  const answer = answerOf(record);
  if (answer === undefined) return requested;
  const isTaken = answer.reason === 'TakenUp' && record.status?.incident !== undefined;
  // A request is spent once: whatever fence is on record by then is there for reasons of its own.
  const isOver = answer.endedAt !== undefined || hasEnded(record);
  return isTaken && !isOver ? requested : undefined;
}

/** What came of this very request; undefined: nobody has answered it yet. */
export function answerOf({ spec: { requested }, status }: Asked): RequestAnswer | undefined {
  const answer = status?.request;
  const isSame = requested !== undefined && answer?.at === requested.at && answer.by === requested.by;
  return isSame ? answer : undefined;
}

export function isTakenUp(record: Asked): boolean {
  return answerOf(record)?.reason === 'TakenUp';
}

export function hasEnded({ status }: Pick<Asked, 'status'>): boolean {
  return phaseHasEnded(status?.fence?.phase);
}
