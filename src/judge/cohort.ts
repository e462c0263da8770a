/**
 * Who is in a storm (STM-1): whoever was there when it began. A node that has joined since says nothing of the switch that others are
 * behind, and to delete a Node says nothing of its machine: neither ends a storm. All that has to be kept for that is when it began and
 * how many there were, in the record of each node that is in it.
 */
import { ownOf } from '../api/own.ts';
import type { Share } from '../api/share.ts';
import { shareOf } from '../api/share.ts';
import type { OpenStorm, StormFacts, StormSign } from '../api/storm-sign.ts';
import { isZoneBeyond } from './storm.ts';

/**
 * A storm is the cluster's, whichever policy has seen it: it is one for whoever is under a policy that has called it one, or that
 * would have. What is too many by another policy alone is none, or one machine that is dead for good under a strict policy would keep
 * all others from being fenced. What nobody knows may have been anything.
 */
export function isStormFor(
  { policy, nodes, troubled, zoneNodes = 0, zoneTroubled = 0 }: StormSign,
  own: { policy: string | undefined; maxUnresponsive: Share },
): boolean {
  if (policy !== undefined && policy === own.policy) return true;
  if (nodes === undefined || troubled === undefined) return true;
  const { maxUnresponsive } = own;
  if (troubled > shareOf(maxUnresponsive, nodes)) return true;
  return isZoneBeyond({ maxUnresponsive }, { nodes: zoneNodes, troubled: zoneTroubled });
}

/**
 * `zoneOf`: in which zone a node is now, where its record does not say in which it was: a label may change in a storm. One that is still
 * on record as going on has ended by now, if it has.
 */
export function stormFacts(
  signs: readonly StormSign[],
  nowMs: number,
  zoneOf: (node: string) => string | undefined,
): StormFacts {
  if (signs.length === 0) return {};
  const open = signs.filter(({ endedMs }) => endedMs === undefined);
  const stormEndedMs = Math.max(...signs.map(({ endedMs }) => endedMs ?? nowMs));
  const stormOf = nodesOf(signs, stormEndedMs);
  if (open.length === 0) return { stormEndedMs, stormOf };
  const zones: Record<string, number> = {};
  for (const { node, zone = zoneOf(node) ?? '', zoneNodes = 0 } of open) {
    zones[zone] = Math.max(ownOf(zones, zone) ?? 0, zoneNodes);
  }
  const sinceMs = Math.min(...open.map((sign) => sign.sinceMs));
  return { stormEndedMs, stormOf, storm: { sinceMs, nodes: Math.max(...open.map(({ nodes = 0 }) => nodes)), zones } };
}

/** Those of the last one: whose own ended after that had begun. */
function nodesOf(signs: readonly StormSign[], lastEndedMs: number): string[] {
  const last = signs.filter(({ endedMs = lastEndedMs }) => endedMs === lastEndedMs);
  const sinceMs = Math.min(...last.map((sign) => sign.sinceMs));
  const of = signs.filter(({ endedMs = lastEndedMs }) => endedMs >= sinceMs).map(({ node }) => node);
  return [...new Set(of)].toSorted();
}

/**
 * Who was in it, or was there when it began, and is back is no stranger, though its Node is another one. The API server says in whole
 * seconds when one was made; one that is made later than now was so by another clock, and nobody knows that it was there before.
 */
export function hasJoined(
  { name, madeMs }: { name: string; madeMs: number },
  { storm, signs, there }: { storm: OpenStorm | undefined; signs: readonly StormSign[]; there: ReadonlySet<string> },
): boolean {
  if (storm === undefined || !(madeMs > storm.sinceMs) || there.has(name)) return false;
  return !signs.some(({ node, sinceMs }) => node === name && sinceMs >= storm.sinceMs);
}
