/**
 * The brake: whether another node may be fenced just now (STM-1, STM-4). So many silent nodes at once are a broken switch,
 * not broken machines; and whoever powers off nodes one by one sees in time that it was a mistake.
 */
import { isStatus } from '../api/facts.ts';
import { shareOf } from '../api/share.ts';
import type { Share } from '../api/share.ts';

export interface StormLimits {
  maxUnresponsive: Share;
  maxConcurrent: number;
}

export interface ClusterCount {
  /** Every node, whether a policy selects it or not. */
  nodes: readonly { name: string; zone: string; isUnresponsive: boolean }[];
  /** Nodes with a fence under way. They count as unresponsive, whatever their condition says. */
  fencing: ReadonlySet<string>;
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

export function brakeFor(node: string, limits: StormLimits, { nodes, fencing }: ClusterCount): Brake | undefined {
  const silent = nodes.filter(({ name, isUnresponsive }) => isUnresponsive || fencing.has(name) || name === node);
  const allowed = shareOf(limits.maxUnresponsive, nodes.length);
  if (silent.length > allowed) {
    const message = `${silent.length} of ${nodes.length} nodes do not respond, and ${limits.maxUnresponsive} may`;
    return { reason: 'StormLimit', message };
  }
  return zoneBrake(limits, nodes, silent) ?? concurrencyBrake(node, limits, fencing);
}

function zoneBrake(
  limits: StormLimits,
  nodes: ClusterCount['nodes'],
  silent: ClusterCount['nodes'],
): Brake | undefined {
  for (const zone of new Set(silent.map((one) => one.zone).filter((name) => name !== ''))) {
    const total = nodes.filter((one) => one.zone === zone).length;
    const count = silent.filter((one) => one.zone === zone).length;
    if (total < smallestZone || count <= shareOf(limits.maxUnresponsive, total)) continue;
    const message = `${count} of ${total} nodes of zone ${zone} do not respond, and ${limits.maxUnresponsive} may`;
    return { reason: 'ZoneStormLimit', message };
  }
  return undefined;
}

function concurrencyBrake(node: string, limits: StormLimits, fencing: ReadonlySet<string>): Brake | undefined {
  const others = [...fencing].filter((name) => name !== node);
  if (others.length < limits.maxConcurrent) return undefined;
  const message = `${others.join(', ')} ${others.length === 1 ? 'is' : 'are'} being fenced, and maxConcurrent is ${limits.maxConcurrent}`;
  return { reason: 'ConcurrencyLimit', message };
}
