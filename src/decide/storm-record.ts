/** What is on record of the storm that a node is in: since when, how many there were, how bad it was, and when it ended. */
import { clockTime, isUnderFence } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, ZoneCount } from '../api/release-view.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { isInStorm } from './brake-of.ts';
import type { RemedyDecision } from './decide-remedy.ts';
import { isWell } from './is-back.ts';

type Storm = NonNullable<NodeFenceStatus['storm']>;

/** By what was decided: as it is on record, or would be. */
export function stormOf(
  nodeCase: NodeCase,
  { ladder, ladders }: RemedyDecision,
  isTroubled: boolean,
): Storm | undefined {
  return stormAfter(nodeCase, nodeCase.fence?.status.storm, { isTroubled, ladder: ladder ?? ladders[0] });
}

/** From when it ended on nothing harsh is begun for a while, here and elsewhere (STM-6). */
function stormAfter(
  found: NodeCase,
  before: Storm | undefined,
  { isTroubled, ladder }: { isTroubled: boolean; ladder: LadderState | undefined },
): Storm | undefined {
  const nodeCase = withoutSoaking(found);
  const isOpen = before !== undefined && before.endedAt === undefined;
  if (isTroubled && isInStorm(nodeCase, ladder)) return atWorst(isOpen ? before : begun(nodeCase), nodeCase);
  return isOpen ? { ...before, endedAt: clockTime(nodeCase.serverNowMs) } : before;
}

/**
 * Whoever an act would be about is counted. Of one that is back, whose incident is open only because it has to stay well for a while, no
 * act is due: counted all the same, the next node to fail would be the second in trouble, and wait for the end of a storm that never was.
 */
function withoutSoaking(nodeCase: NodeCase): NodeCase {
  const { count, fence } = nodeCase;
  if (!isWell(nodeCase) || isUnderFence(fence?.status.fence)) return nodeCase;
  const own = zoneOf(nodeCase)?.zone;
  const zones = count.zones.map((one) => (one.zone === own ? { ...one, troubled: one.troubled - 1 } : one));
  return { ...nodeCase, count: { ...count, troubled: count.troubled - 1, zones } };
}

/** One that others are in already is the same. */
function begun(nodeCase: NodeCase): Storm {
  const { count, serverNowMs: nowMs } = nodeCase;
  const { zone, nodes: zoneNodes } = zoneOf(nodeCase) ?? {};
  const since = clockTime(count.storm?.sinceMs ?? nowMs);
  return { since, nodes: count.nodes, ...(zoneNodes === undefined ? {} : { zone, zoneNodes }), troubled: 0 };
}

/**
 * Other policies have other limits: how bad it was says whether it is a storm by theirs. Of whom nobody knows yet says nothing, which
 * after a change of leaders is everybody.
 */
function atWorst(storm: Storm, nodeCase: NodeCase): Storm {
  const { troubled, unjudged } = nodeCase.count;
  // One that an earlier version has begun: how bad it was nobody knows.
  if (storm.troubled === undefined) return storm;
  const own = nodeCase.count.zones.find(({ zone }) => zone === storm.zone) ?? zoneOf(nodeCase);
  const inZone = unjudged === 0 ? own?.troubled : undefined;
  return {
    ...storm,
    troubled: Math.max(storm.troubled, troubled - unjudged),
    ...(inZone === undefined ? {} : { zoneTroubled: Math.max(storm.zoneTroubled ?? 0, inZone) }),
  };
}

function zoneOf({ count, node }: NodeCase): ZoneCount | undefined {
  return count.zones.find(({ zone }) => zone === node?.labels['topology.kubernetes.io/zone']);
}
