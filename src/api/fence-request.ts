/** A fence that a person asks for. The request stays where it was written; what answers it is a fence that began later. */
import type { NodeFence } from './node-fence.ts';

export interface FenceRequest {
  by: string;
  at: string;
}

interface Asked {
  spec: Pick<NodeFence['spec'], 'requested'>;
  status?: { fence?: { startedAt: string; phase: string } | undefined } | undefined;
}

/** Undefined: nobody has asked, or the fence that was asked for has ended. */
export function requestOf(record: Asked): FenceRequest | undefined {
  const { requested } = record.spec;
  return requested === undefined || (isTakenUp(record) && hasEnded(record)) ? undefined : requested;
}

/** A fence has begun since. */
export function isTakenUp({ spec, status }: Asked): boolean {
  const { startedAt } = status?.fence ?? {};
  return (
    startedAt !== undefined && spec.requested !== undefined && Date.parse(startedAt) >= Date.parse(spec.requested.at)
  );
}

export function hasEnded({ status }: Pick<Asked, 'status'>): boolean {
  return status?.fence?.phase === 'finished' || status?.fence?.phase === 'failed';
}
