/**
 * A fence that a person asks for. The request stays where it was written; what came of it is in the status, so that it is
 * answered once: taken up, or refused for good. One that was taken up and is held back lapses; from when something was begun for it,
 * it lives with its incident.
 */
import { phaseHasEnded } from './facts.ts';
import type { NodeFence, NodeFenceStatus } from './node-fence.ts';
import type { LiveNode } from './release-view.ts';

export type FenceRequest = NonNullable<NodeFence['spec']['requested']>;
export type RequestAnswer = NonNullable<NodeFenceStatus['request']>;

/** Which life of a node a request is about. */
type Life = NonNullable<FenceRequest['about']>;

/** As whoever asks sees it. Told by what is written and never by when: no clock makes a difference. */
export function lifeOf({ uid, bootId, ready, readySince }: LiveNode): Life {
  const isReady = ready === 'True' && readySince !== undefined;
  return { nodeUid: uid, bootId, ...(isReady ? { readySince } : {}) };
}

export interface Asked {
  metadata?: { creationTimestamp?: string | undefined };
  spec: { requested?: FenceRequest | undefined };
  status?: Pick<Partial<NodeFenceStatus>, 'request' | 'incident' | 'approval'> & {
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

/** Whoever waits longer has forgotten it, and would be surprised. */
const standsForMs = 600_000;

/** Until when something has to be begun for it: counted from the last word of a person about it, its approval included. */
export function lapsesAtMs({ spec: { requested }, status }: Asked): number | undefined {
  if (requested === undefined) return undefined;
  const { approval, incident } = status ?? {};
  const approvedAt = approval !== undefined && approval.incident === incident?.id ? approval.at : requested.at;
  return Math.max(Date.parse(requested.at), Date.parse(approvedAt)) + standsForMs;
}
