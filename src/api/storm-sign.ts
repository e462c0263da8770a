/** What is on record of a storm, and what that says of one that goes on. */
import type { NodeFenceStatus } from './node-fence.ts';

/** A storm as the record of one node has it. */
export interface StormSign {
  node: string;
  sinceMs: number;
  /** Absent: it goes on. */
  endedMs?: number;
  /** How many nodes there were when it began, in all and in the zone of this one. */
  nodes?: number;
  zoneNodes?: number;
}

export interface OpenStorm {
  sinceMs: number;
  /** How many nodes there were when it began, in all and by zone. */
  nodes: number;
  zones: Readonly<Record<string, number>>;
}

export interface StormFacts {
  /** When the last storm under this policy ended, as far as it is on record; absent: none is. */
  stormEndedMs?: number;
  /** The one that goes on, as far as it is on record. */
  storm?: OpenStorm;
}

export function stormSign(node: string, storm: NodeFenceStatus['storm']): StormSign | undefined {
  if (storm === undefined) return undefined;
  const { since, endedAt, nodes, zoneNodes } = storm;
  return {
    node,
    sinceMs: Date.parse(since),
    ...(endedAt === undefined ? {} : { endedMs: Date.parse(endedAt) }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(zoneNodes === undefined ? {} : { zoneNodes }),
  };
}

/** Of a storm whose end nobody is left to notice only when it was counts. */
export function attendedSign(
  node: string,
  status: Pick<NodeFenceStatus, 'incident' | 'storm'> | undefined,
): StormSign | undefined {
  const sign = stormSign(node, status?.storm);
  return sign === undefined || status?.incident !== undefined ? sign : { endedMs: sign.sinceMs, ...sign };
}
