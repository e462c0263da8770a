/**
 * The brake: whether something may be begun just now that cannot be taken back (STM-1, STM-4, STM-6). So many nodes in trouble
 * at once are a broken switch or a wrong probe, not broken machines; and whoever powers off nodes one by one sees in time that
 * it was a mistake.
 */
import { clockTime, isStatus } from '../api/facts.ts';
import type { Pulse } from '../api/life.ts';
import { silentAfterMs } from '../api/life.ts';
import type { LadderThreshold, RemedyFacts, TroubleCount, ZoneCount } from '../api/release-view.ts';
import type { OpenStorm } from '../api/storm-sign.ts';
import { shareOf } from '../api/share.ts';
import type { Share } from '../api/share.ts';
import type { OwnNode, Surroundings } from '../api/surroundings.ts';
import type { Judgement } from '../api/view.ts';
import { ownOf } from '../api/own.ts';

export interface StormLimits {
  maxUnresponsive: Share;
  maxConcurrent: number;
  cooldownMs: number;
}

type NodeCondition = Readonly<Record<'type' | 'status', string>>;

/** A node as the brake sees it. */
export interface CountedNode {
  name: string;
  zone: string;
  isControlPlane?: boolean;
  isEtcd?: boolean;
  /** It was not there when the storm began that goes on. */
  hasJoined?: boolean;
  /** `unjudged`: nobody has looked yet, as after a change of leaders, or since it should have renewed; it may be silent. */
  life: 'well' | 'silent' | 'unjudged';
  /** Its conditions, each with the time for which we have seen it so. */
  conditions: readonly (NodeCondition & { forMs: number })[];
}

export interface Brake {
  reason:
    | 'ControlPlaneQuorum'
    | 'StormLimit'
    | 'ZoneStormLimit'
    | 'ConcurrencyLimit'
    | 'OwnNode'
    | 'OwnNodeSilent'
    | 'OwnZoneAlone'
    | 'SkipCondition'
    | 'LookingAround'
    | 'Cooldown';
  message: string;
  /** By the API server's clock: when to look again, though nobody tells. */
  recheckAtMs?: number;
  /** When it ends by itself at the latest. */
  untilMs?: number;
}

/** What cannot be taken back. */
const harshKinds: ReadonlySet<string> = new Set(['fence', 'podTemplate', 'drain', 'deleteMachine']);

/** Thresholds on whose ladder there is something that cannot be taken back. */
export function harshThresholds({ thresholds, kinds }: Pick<RemedyFacts, 'thresholds' | 'kinds'>): LadderThreshold[] {
  return thresholds.filter(({ remedies }) => remedies.some(({ name }) => harshKinds.has(ownOf(kinds, name) ?? '')));
}

/**
 * Of a node that nobody has judged yet it is not known: after a change of leaders that is every one. Nor is it of one whose renewal is
 * overdue by its own Lease: of several that fall silent together the first to be judged would be counted alone (SAF-14).
 */
export function lifeOf(judgement: Judgement | undefined, lease?: Pulse): CountedNode['life'] {
  if (judgement === undefined || judgement.verdict === 'unknown') return 'unjudged';
  if (judgement.verdict !== 'healthy') return 'silent';
  return lease !== undefined && lease.unchangedForMs >= silentAfterMs(lease) ? 'unjudged' : 'well';
}

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
/** What all nodes report at once does not arrive in the same moment. */
const atOnceMs = 2000;

/** What goes on at other nodes. */
export interface Ongoing {
  /** A fence has done what cannot be taken back, and has not ended. */
  fenced: ReadonlySet<string>;
  /** Who has a slot: for a fence, and for another remedy that cannot be taken back. */
  fencing: ReadonlySet<string>;
  remedying: ReadonlySet<string>;
  /** One that is a storm by the policy of this node. */
  storm?: OpenStorm | undefined;
}

/**
 * Counts every node, whether a policy selects it or not; in a storm those that were there when it began, who counts as in trouble when
 * its Node is gone since, and of those that have joined whoever is in trouble too. In trouble are nodes that do not respond, nodes under fence, whatever
 * their conditions say, and the node that this is about: they count against everything. A condition counts when it has lasted
 * for as long as the threshold says, and against the remedies of that threshold alone.
 */
export function countTrouble(
  node: string,
  nodes: readonly CountedNode[],
  ongoing: Ongoing,
  thresholds: readonly LadderThreshold[],
): TroubleCount {
  const isTroubled = ({ name, life }: CountedNode): boolean =>
    life !== 'well' || ongoing.fenced.has(name) || name === node;
  const others = nodes.filter((one) => !isTroubled(one));
  const byThreshold = thresholds.flatMap((threshold) => {
    const met = others.filter((one) => isMet(threshold, one));
    return met.length === 0 ? [] : [[threshold.key, { troubled: met.length, zones: byZone(met) }] as const];
  });
  const old = nodes.filter(({ hasJoined }) => hasJoined !== true);
  const voters = nodes.filter(
    (one) => one.hasJoined !== true || isTroubled(one) || thresholds.some((threshold) => isMet(threshold, one)),
  );
  const gone = Math.max(0, (ongoing.storm?.nodes ?? 0) - old.length);
  const goneOf = goneByZone(ongoing.storm, old);
  const troubled = nodes.filter(isTroubled);
  const inZones = byZone(troubled);
  return {
    nodes: voters.length + gone,
    troubled: troubled.length + gone,
    ...(gone > 0 || voters.length < nodes.length ? { isAsItBegan: true } : {}),
    unjudged: nodes.filter(({ life, name }) => life === 'unjudged' && name !== node).length,
    zones: Object.entries(byZone(voters)).map(([zone, count]) => ({
      zone,
      nodes: count + goneOf(zone),
      troubled: (ownOf(inZones, zone) ?? 0) + goneOf(zone),
    })),
    byThreshold: Object.fromEntries(byThreshold),
    fencing: [...ongoing.fencing].filter((name) => name !== node),
    remedying: [...ongoing.remedying].filter((name) => name !== node),
    ...quorumsOf(node, nodes, { isTroubled, fenced: ongoing.fenced }),
  };
}

function isMet({ condition }: LadderThreshold, { conditions }: CountedNode): boolean {
  if (condition === undefined) return false;
  return conditions.some(
    ({ type, status, forMs }) =>
      type === condition.type && isStatus(status, condition.status) && forMs >= condition.forMs - atOnceMs,
  );
}

/** How many of each zone were there when the storm began, and have no Node any more. */
function goneByZone(storm: OpenStorm | undefined, old: readonly CountedNode[]): (zone: string) => number {
  const left = byZone(old);
  return (zone) => Math.max(0, (ownOf(storm?.zones ?? {}, zone) ?? 0) - (ownOf(left, zone) ?? 0));
}

/** Groups that need a majority each; where etcd runs with the control plane its nodes are of both. */
const quorumGroups: readonly { of: string; has: (node: CountedNode) => boolean }[] = [
  { of: 'the control plane', has: ({ isControlPlane }) => isControlPlane === true },
  { of: 'etcd', has: ({ isEtcd }) => isEtcd === true },
];

/** Those that the node is of: the others do not matter. */
function quorumsOf(
  node: string,
  nodes: readonly CountedNode[],
  { isTroubled, fenced }: { isTroubled: (one: CountedNode) => boolean; fenced: ReadonlySet<string> },
): Pick<TroubleCount, 'quorums'> {
  const quorums = quorumGroups.flatMap(({ of, has }) => {
    const all = nodes.filter(has);
    if (all.every(({ name }) => name !== node)) return [];
    const busy = all.flatMap(({ name }) => (name !== node && fenced.has(name) ? [name] : []));
    return [{ of, nodes: all.length, troubled: all.filter(isTroubled).length, busy }];
  });
  return quorums.length === 0 ? {} : { quorums };
}

/** What keeps the API alive is cut one at a time, and never where fewer than a majority would be left (STM-8). */
export function quorumBrake({ quorums = [] }: TroubleCount): Brake | undefined {
  for (const { of, nodes, troubled, busy } of quorums) {
    const quorum = Math.floor(nodes / 2) + 1;
    const left = nodes - troubled;
    if (left < quorum) {
      const message = `it is of ${of}, of which ${left} of ${nodes} nodes would be left, and ${quorum} are needed`;
      return { reason: 'ControlPlaneQuorum', message };
    }
    if (busy.length === 0) continue;
    const message = `it is of ${of}, and ${busy.join(', ')}, of it too, is being fenced`;
    return { reason: 'ControlPlaneQuorum', message };
  }
  return undefined;
}

/** By the name of the zone; nodes without one are in none. */
function byZone(nodes: readonly CountedNode[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { zone } of nodes) if (zone !== '') counts[zone] = (ownOf(counts, zone) ?? 0) + 1;
  return counts;
}

/** Whether there are too many nodes in trouble to tell which of them is. `threshold`: what the act is for; absent: no condition. */
export function stormBrake(limits: StormLimits, count: TroubleCount, threshold?: string): Brake | undefined {
  const more = threshold === undefined ? undefined : ownOf(count.byThreshold, threshold);
  const allowed = shareOf(limits.maxUnresponsive, count.nodes);
  const troubled = count.troubled + (more?.troubled ?? 0);
  if (troubled > allowed) {
    const unjudged = count.unjudged === 0 ? '' : ` (of ${count.unjudged} it is not known yet)`;
    const message = `${troubled} of ${count.nodes} nodes are in trouble${unjudged}${asItBegan(count)}, and at most ${limits.maxUnresponsive} may be`;
    return { reason: 'StormLimit', message };
  }
  const moreIn = ({ zone: name }: ZoneCount): number => ownOf(more?.zones ?? {}, name) ?? 0;
  const zone = count.zones.find((one) => isZoneBeyond(limits, one, moreIn(one)));
  if (zone === undefined) return loneZoneBrake(count);
  const inZone = zone.troubled + moreIn(zone);
  const message = `${inZone} of ${zone.nodes} nodes of zone ${zone.zone} are in trouble${asItBegan(count)}, and at most ${limits.maxUnresponsive} may be`;
  return { reason: 'ZoneStormLimit', message };
}

/** However few they are: everybody else has one thing in common, which is that the operator is not there (STM-2). */
function loneZoneBrake({ standpoint }: TroubleCount): Brake | undefined {
  if (standpoint?.zone === undefined) return undefined;
  const message = `nobody outside of zone ${standpoint.zone} is heard of, and the operator runs there: it may be that zone that is cut off`;
  return { reason: 'OwnZoneAlone', message };
}

/** Else the figures would not be those that everybody sees. */
function asItBegan({ isAsItBegan, storm }: TroubleCount): string {
  if (isAsItBegan !== true || storm === undefined) return '';
  return ` (of those that were there when the storm began, at ${clockTime(storm.sinceMs)}; who was deleted since is not back)`;
}

export function isZoneBeyond(
  { maxUnresponsive }: Pick<StormLimits, 'maxUnresponsive'>,
  { nodes, troubled }: Pick<ZoneCount, 'nodes' | 'troubled'>,
  more = 0,
): boolean {
  return nodes >= smallestZone && troubled + more > shareOf(maxUnresponsive, nodes);
}

/** Nodes that nobody has judged yet brake, but are no storm: after every change of leaders they are all. */
export function isStorm(limits: StormLimits, count: TroubleCount, threshold?: string): boolean {
  const { troubled, unjudged, zones, standpoint = {} } = count;
  const isKnown = unjudged === 0;
  const seen = { zones: isKnown ? zones : [], standpoint: isKnown ? standpoint : {} };
  const judged = { ...count, ...seen, troubled: troubled - unjudged };
  return stormBrake(limits, judged, threshold) !== undefined;
}

/** Whatever caused a storm may not be over when it is (STM-6). */
export function cooldownBrake(
  { cooldownMs }: StormLimits,
  { stormEndedMs, stormOf = [] }: TroubleCount,
  nowMs: number,
): Brake | undefined {
  if (stormEndedMs === undefined) return undefined;
  const untilMs = stormEndedMs + cooldownMs;
  if (nowMs >= untilMs) return undefined;
  const whose = stormOf.length === 0 ? '' : ` of ${someOf(stormOf)}`;
  const message = `a storm${whose} ended at ${clockTime(stormEndedMs)}; nothing harsh is begun before ${clockTime(untilMs)}`;
  return { reason: 'Cooldown', message, recheckAtMs: untilMs, untilMs };
}

function someOf(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
}

/** At most so many at a time; fences, and remedies that cannot be taken back, each have slots of their own (STM-4). */
export function slotBrake(
  { maxConcurrent }: StormLimits,
  { fencing, remedying }: TroubleCount,
  kind: 'fence' | 'remedy',
): Brake | undefined {
  const busy = kind === 'fence' ? fencing : remedying;
  if (busy.length < maxConcurrent) return undefined;
  const what = kind === 'fence' ? 'being fenced' : 'under a remedy';
  const message = `${someOf(busy)} ${busy.length === 1 ? 'is' : 'are'} ${what}, and maxConcurrent is ${maxConcurrent}`;
  return { reason: 'ConcurrencyLimit', message };
}

/**
 * Nobody cuts the ground from under its own feet: what it has begun elsewhere would be left where it stands. So its own node comes
 * last, while others who are in trouble have their time, and then somebody else does it (STM-8).
 */
export function ownBrake(own: OwnNode | undefined, others: number, othersUntilMs: number): Brake | undefined {
  if (own === undefined) return undefined;
  const itself = 'the operator itself runs on it';
  if (others > 0) {
    const whom = others === 1 ? 'another node that is in trouble comes' : `${others} nodes that are in trouble come`;
    return { reason: 'OwnNode', message: `${itself}, and ${whom} first`, recheckAtMs: othersUntilMs };
  }
  const why = {
    possible: ': the lead is handed over first',
    inVain: ', and no other instance has taken the lead',
    tooSoon: ', and the lead has been handed over within the last ten minutes: it is again after that',
    impossible: ', and there is no election by which another instance could lead',
  };
  return { reason: 'OwnNode', message: `${itself}${why[own.handOver]}` };
}

/** How many nodes are in trouble beside this one, with whatever its threshold looks for. */
export function othersInTrouble({ troubled, byThreshold }: TroubleCount, threshold: string | undefined): number {
  const more = threshold === undefined ? undefined : ownOf(byThreshold, threshold);
  return troubled - 1 + (more?.troubled ?? 0);
}

const againMs = 1000;

/**
 * Who was alive when the suspicion arose has to be heard of since, or count as silent, before something that says it is on is
 * switched off (SAF-7): of nodes that fall silent together, the first to be noticed looks like one that falls silent alone.
 */
export function lookAround(around: Surroundings | undefined, nowMs: number): Brake | undefined {
  if (around !== undefined && around.unheard === 0) return undefined;
  const recheckAtMs = nowMs + againMs;
  if (around === undefined) {
    return { reason: 'LookingAround', message: 'whether other nodes are silent too is found out first', recheckAtMs };
  }
  const { unheard, names, settledAtMs } = around;
  const whom = unheard > names.length ? `${names.join(', ')} and ${unheard - names.length} more` : names.join(', ');
  const message = `whether other nodes are silent too is being seen: the next renewal of ${whom} is waited for, until ${clockTime(settledAtMs)} at the latest`;
  return { reason: 'LookingAround', message, recheckAtMs, untilMs: settledAtMs };
}
