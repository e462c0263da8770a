/** What is on record of a storm, and what that says of one that goes on. */
import type { NodeFenceStatus } from './node-fence.ts';

/** A storm as the record of one node has it. */
export interface StormSign {
  node: string;
  sinceMs: number;
  /** Absent: it goes on. */
  endedMs?: number;
  /** How many nodes there were when it began, in all and in the zone of this one. */
  nodes?: number | undefined;
  /** In which zone it was then; absent: it is not on record. */
  zone?: string | undefined;
  zoneNodes?: number | undefined;
  /** How many of these were in trouble, whatever conditions say, when that was worst; absent: nobody knows. */
  troubled?: number | undefined;
  zoneTroubled?: number | undefined;
  /** That which has called it a storm; absent: none is known. */
  policy?: string;
}

export interface OpenStorm {
  sinceMs: number;
  /** How many nodes there were when it began, in all and by zone. */
  nodes: number;
  zones: Readonly<Record<string, number>>;
}

export interface StormFacts {
  /** When the last storm ended that is one for this node, as far as it is known; absent: none is. */
  stormEndedMs?: number;
  /** Who was in that one, as far as it is on record. */
  stormOf?: readonly string[];
  /** The one that goes on, as far as it is known. */
  storm?: OpenStorm;
}

export function stormSign(node: string, storm: NodeFenceStatus['storm'], policy?: string): StormSign | undefined {
  if (storm === undefined) return undefined;
  const { since, endedAt, ...figures } = storm;
  return {
    node,
    sinceMs: Date.parse(since),
    ...(endedAt === undefined ? {} : { endedMs: Date.parse(endedAt) }),
    ...figures,
    ...(policy === undefined ? {} : { policy }),
  };
}

/** Of a storm whose end nobody is left to notice only when it was counts. */
export function attendedSign(
  node: string,
  status: Pick<NodeFenceStatus, 'incident' | 'storm'> | undefined,
  policy?: string,
): StormSign | undefined {
  const sign = stormSign(node, status?.storm, policy);
  return sign === undefined || status?.incident !== undefined ? sign : { endedMs: sign.sinceMs, ...sign };
}
