/** What is on record of a storm, and what that says of one that goes on. */
import type { NodeFenceStatus } from './node-fence.ts';
import { ownOf } from './own.ts';
import { HELD } from './reasons.ts';

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
  /** Its record says that this storm is what holds it; absent: it is in it, and something else is said of it, or nothing. */
  isTold?: true;
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
  /** Who has on record that one holds it; absent: nobody. */
  witnesses?: Witnesses;
}

/** How many other nodes have on record that a storm holds them, in all and by zone. */
export interface Witnesses {
  nodes: number;
  zones: Readonly<Record<string, number>>;
}

/** So many in all, and so many of each zone, have a storm in their records; of the others it is known by these. */
const enough = { nodes: 64, zone: 8 };

/** Who is in it and was found off, or is under maintenance, says nothing of what holds the others. */
export function witnessesOf(signs: readonly StormSign[]): Pick<StormFacts, 'witnesses'> {
  const open = signs.filter(({ endedMs, isTold }) => endedMs === undefined && isTold === true);
  if (open.length === 0) return {};
  const zones: Record<string, number> = {};
  for (const { zone = '' } of open) zones[zone] = (ownOf(zones, zone) ?? 0) + 1;
  return { witnesses: { nodes: open.length, zones } };
}

/** A storm outlives its operator by the records of some: that of thousands would say nothing more. */
export function hasWitnesses({ witnesses }: Pick<StormFacts, 'witnesses'>, zone: string): boolean {
  if (witnesses === undefined) return false;
  return witnesses.nodes >= enough.nodes && (ownOf(witnesses.zones, zone) ?? 0) >= enough.zone;
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
  status: Pick<NodeFenceStatus, 'incident' | 'storm' | 'hold'> | undefined,
  policy?: string,
): StormSign | undefined {
  const sign = stormSign(node, status?.storm, policy);
  if (sign === undefined) return undefined;
  if (status?.incident === undefined) return { endedMs: sign.sinceMs, ...sign };
  return isStormHold(status.hold?.reason) ? { ...sign, isTold: true } : sign;
}

const stormHolds: ReadonlySet<string | undefined> = new Set([HELD.reason.StormLimit, HELD.reason.ZoneStormLimit]);

/** So many nodes are in trouble at once that nobody knows which of them is broken. */
export function isStormHold(reason: string | undefined): boolean {
  return stormHolds.has(reason);
}
