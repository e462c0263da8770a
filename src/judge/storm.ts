/**
 * The brake: whether another node may be fenced just now (STM-1, STM-4). So many silent nodes at once are a broken switch,
 * not broken machines; and whoever powers off nodes one by one sees in time that it was a mistake.
 */
import { isStatus } from '../api/facts.ts';
import type { TroubleCount } from '../api/release-view.ts';
import { shareOf } from '../api/share.ts';
import type { Share } from '../api/share.ts';

export interface StormLimits {
  maxUnresponsive: Share;
  maxConcurrent: number;
}

/** A node as the brake sees it. */
export interface CountedNode {
  name: string;
  zone: string;
  isUnresponsive: boolean;
}

export interface Brake {
  reason: 'StormLimit' | 'ZoneStormLimit' | 'ConcurrencyLimit' | 'SkipCondition';
  message: string;
}

type NodeCondition = Readonly<Record<'type' | 'status', string>>;

/** Fencing a host that cannot reach its storage helps nobody: the next one cannot either (STM-3). */
export function skipFor(
  node: string,
  skipWhen: readonly NodeCondition[],
  conditions: readonly NodeCondition[],
): Brake | undefined {
  const found = skipWhen.find((skip) =>
    conditions.some(({ type, status }) => type === skip.type && isStatus(status, skip.status)),
  );
  if (found === undefined) return undefined;
  const message = `${found.type} of ${node} is ${found.status}, and storm.skipWhen leaves such a node alone`;
  return { reason: 'SkipCondition', message };
}

/** Smaller zones say nothing: one of two nodes is half of the zone. */
const smallestZone = 3;

/**
 * Counts every node, whether a policy selects it or not. In trouble are nodes that do not respond, nodes under fence, whatever
 * their conditions say, and the node that this is about.
 */
export function countTrouble(node: string, nodes: readonly CountedNode[], fencing: ReadonlySet<string>): TroubleCount {
  const troubled = nodes.filter(({ name, isUnresponsive }) => isUnresponsive || fencing.has(name) || name === node);
  const inZone = (list: readonly CountedNode[], zone: string): number => list.filter((one) => one.zone === zone).length;
  const zones = [...new Set(troubled.map(({ zone }) => zone).filter((zone) => zone !== ''))];
  return {
    nodes: nodes.length,
    troubled: troubled.length,
    zones: zones.map((zone) => ({ zone, nodes: inZone(nodes, zone), troubled: inZone(troubled, zone) })),
    fencing: [...fencing].filter((name) => name !== node),
  };
}

export function brakeFor(limits: StormLimits, count: TroubleCount): Brake | undefined {
  const allowed = shareOf(limits.maxUnresponsive, count.nodes);
  if (count.troubled > allowed) {
    const message = `${count.troubled} of ${count.nodes} nodes do not respond, and ${limits.maxUnresponsive} may`;
    return { reason: 'StormLimit', message };
  }
  return zoneBrake(limits, count) ?? concurrencyBrake(limits, count);
}

function zoneBrake(limits: StormLimits, { zones }: TroubleCount): Brake | undefined {
  for (const { zone, nodes, troubled } of zones) {
    if (nodes < smallestZone || troubled <= shareOf(limits.maxUnresponsive, nodes)) continue;
    const message = `${troubled} of ${nodes} nodes of zone ${zone} do not respond, and ${limits.maxUnresponsive} may`;
    return { reason: 'ZoneStormLimit', message };
  }
  return undefined;
}

function concurrencyBrake(limits: StormLimits, { fencing }: TroubleCount): Brake | undefined {
  if (fencing.length < limits.maxConcurrent) return undefined;
  const message = `${fencing.join(', ')} ${fencing.length === 1 ? 'is' : 'are'} being fenced, and maxConcurrent is ${limits.maxConcurrent}`;
  return { reason: 'ConcurrencyLimit', message };
}
