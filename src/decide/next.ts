/**
 * What happens next to a node in trouble, and when, in the words in which its record keeps it and people are told. Decided
 * with the rest, by what the rest was decided from: whoever explains it later does not judge again.
 */
import { clockTime, hasCut, isUnderFence } from '../api/facts.ts';
import { CORDON_METHOD } from '../api/fence-names.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { powerSays } from '../fence/belief.ts';
import { hasFailedForGood } from '../fence/state.ts';
import { holdOf } from '../release/hold.ts';
import { thresholdMet } from '../remedy/ladder.ts';
import { isQuarantined } from '../return/return-node.ts';
import type { ReleaseDecision } from './decide-release.ts';
import type { Due, RemedyDecision } from './decide-remedy.ts';
import { firstDue } from './decide-remedy.ts';
import { isBack } from './is-back.ts';
import { stayAwayMs } from './incident.ts';
import { remedyOf } from './of-case.ts';

export type Next = NonNullable<NodeFenceStatus['next']>;

interface Upcoming {
  what: string;
  atMs?: number | undefined;
}

export interface Decided {
  nodeCase: NodeCase;
  remedy: RemedyDecision;
  decision: ReleaseDecision;
}

/** So far apart two looks may find the same moment. */
const sameMomentMs = 2000;

/** `status`: as it is stored with this decision, but for this. */
export function nextOf(decided: Decided, status: NodeFenceStatus): Next | undefined {
  const found = decided.decision.trouble === undefined ? closing(decided, status) : upcoming(decided, status);
  if (found === undefined) return undefined;
  const { what, atMs } = found;
  if (atMs === undefined) return { what };
  const known = decided.nodeCase.fence?.status.next;
  const knownMs = Date.parse(known?.at ?? '');
  const isSame = known?.what === what && Math.abs(knownMs - atMs) < sameMomentMs;
  return { what, at: isSame ? clockTime(knownMs) : clockTime(atMs) };
}

/** The trouble is gone, and has to stay away. */
function closing(decided: Decided, status: NodeFenceStatus): Upcoming | undefined {
  const { nodeCase } = decided;
  const { incident, fence } = status;
  if (incident?.clearedAt === undefined) return undefined;
  if (nodeCase.node === undefined && hasCut(fence)) {
    return ofFence(decided, status) ?? { what: `nothing by itself: ${fence?.message ?? ''}`.slice(0, 512) };
  }
  const atMs = Date.parse(incident.clearedAt) + stayAwayMs(nodeCase);
  return { what: 'its incident is closed, if the trouble stays away', atMs };
}

/** What somebody holds back comes when that is over, and not at a time of its own. */
function upcoming(decided: Decided, status: NodeFenceStatus): Upcoming | undefined {
  const remedied = ofFence(decided, status) ?? ofLadder(decided, status);
  if (remedied !== undefined) return heldBack(decided, remedied, 'remedies');
  const returning = ofReturn(decided);
  if (returning !== undefined) return heldBack(decided, returning, 'returns');
  const pod = ofPod(decided);
  return pod === undefined ? heldBack(decided, ofDue(decided), 'remedies') : heldBack(decided, pod, 'releases');
}

function heldBack(
  { nodeCase, remedy }: Decided,
  found: Upcoming | undefined,
  what: 'remedies' | 'releases' | 'returns',
): Upcoming | undefined {
  const hold = holdOf(nodeCase);
  if (found?.atMs === undefined || hold === undefined) return found;
  // Under one that waits for approval nothing is cut either; what was begun is brought to its end, also where a policy does not act.
  const isHeld =
    hold.holds === 'everything' || hold.holds === what || (hold.reason === 'AwaitingApproval' && what === 'remedies');
  const goesOn = hold.reason !== 'Stopped' && isUnderFence(remedy.fence);
  if (!isHeld || goesOn) return found;
  return hold.untilMs === undefined ? { what: found.what } : { ...found, atMs: Math.max(found.atMs, hold.untilMs) };
}

const released = 'its pods and volumes are released';
const powerCut = 'its power is cut';
const storageCut = 'it is cut off from its storage';

/** What takes something from a node that may yet come back by itself: nobody should read of it as something good. */
export const CUTS: ReadonlySet<string> = new Set([powerCut, storageCut]);

const isSwitching: ReadonlySet<string> = new Set(['isolating', 'poweringOff', 'poweringOn', 'recovering']);

function ofFence(decided: Decided, { fence }: NodeFenceStatus): Upcoming | undefined {
  if (fence === undefined) return undefined;
  const { nodeCase } = decided;
  const { fenceAtMs: atMs } = decided.remedy;
  const by = fence.method === undefined ? '' : ` (${fence.method})`;
  if (fence.waitsFor !== undefined) {
    const isTold = atMs !== undefined && isSwitching.has(fence.phase);
    if (!isTold) return leftAsItIs(decided, fence.waitsFor);
    const isOver = isBack(nodeCase) && (fence.phase === 'isolating' || fence.phase === 'poweringOff');
    if (isOver) return { what: 'its fence is over: the node is back', atMs };
  }
  switch (fence.phase) {
    case 'waiting':
      return isIsolatedFirst(nodeCase)
        ? { what: isolationText(nodeCase), atMs }
        : { what: cutText(nodeCase), atMs: powerAtMs(nodeCase, fence, atMs) };
    case 'isolating':
      if (fence.method === CORDON_METHOD) return { what: 'it is cordoned, and not cut off from anything', atMs };
      return { what: `its device is told to cut it off from its storage${by}, and asked until it confirms that`, atMs };
    case 'isolated':
      return {
        what: hasPower(nodeCase) ? cutText(nodeCase) : 'it is connected again when it is back and clean',
        atMs,
      };
    case 'poweringOff':
      return {
        what: `its device, if it answers for this machine, is told to switch it off${by} and asked until it confirms that; then ${released}`,
        atMs,
      };
    case 'off': {
      const held = ofPod(decided);
      if (held !== undefined) return held;
      const isDone = fence.releasedAt !== undefined || !fence.cleanResources;
      return { what: isDone ? 'it is switched on again' : `${released}, and it is switched on again` };
    }
    case 'poweringOn':
      return {
        what: `its device is told to switch it on${by}, and asked until it confirms that; then it has to be Ready in a new boot in time`,
        atMs,
      };
    case 'booting':
      return { what: 'its fence has failed, if it is not Ready in a new boot by then', atMs };
    case 'recovering':
      return { what: 'what the fence did to it is undone', atMs };
    case 'finished':
      return undefined;
    case 'failed':
      return ofFailed(nodeCase, fence);
  }
}

/** Of the machine nothing more is done; what has not been let go yet goes all the same. */
function leftAsItIs(decided: Decided, waitsFor: string): Upcoming {
  const { stuck } = decided.decision;
  const [first] = stuck;
  if (first === undefined) return { what: `nothing by itself: ${waitsFor}` };
  const pod = `pod ${first.namespace}/${first.name}${stuck.length > 1 ? ` and ${stuck.length - 1} more` : ''}`;
  const dated = ofPod(decided);
  return dated ?? { what: `${pod} may go when what keeps it is over; ${waitsFor}`.slice(0, 512) };
}

function isIsolatedFirst(nodeCase: NodeCase): boolean {
  const { config } = nodeCase;
  const { isolateAfterMs = 0, powerManagementAfterMs = 0 } = remedyOf(nodeCase)?.fence ?? {};
  if (!config.ok || config.config.isolation.length === 0) return false;
  return isolateAfterMs <= powerManagementAfterMs || !hasPower(nodeCase);
}

/** A cordon alone cuts nothing. */
function isolationText({ config }: NodeCase): string {
  const levels = config.ok ? config.config.isolation : [];
  const isCut = levels.some(({ off }) => off.some(({ action }) => action === 'off'));
  return isCut ? storageCut : 'it is cordoned, which cuts nothing yet';
}

/** Where nothing runs nothing is cut, and whoever is to approve it has to know that. */
function cutText(nodeCase: NodeCase): string {
  if (powerSays(nodeCase).says !== 'off') return powerCut;
  return `nothing is cut: its device says off; ${released}, and it is switched on again`;
}

/** With nothing to isolate it by it waits for the cut of its power from the beginning. `atMs`: when to look again. */
function powerAtMs(nodeCase: NodeCase, { startedAt }: { startedAt: string }, atMs?: number): number | undefined {
  const { powerManagementAfterMs = 0 } = remedyOf(nodeCase)?.fence ?? {};
  return atMs === undefined ? undefined : Math.max(atMs, Date.parse(startedAt) + powerManagementAfterMs);
}

function hasPower({ config }: NodeCase): boolean {
  return config.ok && config.config.powerManagement.length > 0;
}

/** One that has failed for good may be followed by another rung of the ladder. */
function ofFailed(nodeCase: NodeCase, fence: NonNullable<NodeFenceStatus['fence']>): Upcoming | undefined {
  const { restarts = 0 } = remedyOf(nodeCase)?.fence ?? {};
  if (hasFailedForGood(fence, { restarts })) return undefined;
  return { what: `its fence begins anew, for the ${ordinal(fence.restarts + 1)} time of ${restarts}` };
}

function ordinal(count: number): string {
  return ['first', 'second', 'third'][count - 1] ?? `${count}th`;
}

function ofLadder({ nodeCase, remedy }: Decided, { fence, ladders }: NodeFenceStatus): Upcoming | undefined {
  const ladder = remedy.ladder ?? ladders[0];
  if (ladder === undefined) return undefined;
  const threshold = remedyOf(nodeCase)?.thresholds.find(({ key }) => key === ladder.threshold);
  const following = threshold?.remedies[ladder.position + 1]?.name;
  const atMs = ladder.until === undefined ? undefined : Date.parse(ladder.until);
  const hasFailed = fence?.phase === 'failed';
  const isOver = `nothing by itself: ${hasFailed ? 'its fence has failed for good' : 'the last remedy is done'}, and a person has to act`;
  switch (ladder.phase) {
    case 'running':
      return { what: `${ladder.remedy} runs until it has succeeded or failed` };
    case 'recovering':
      return { what: `${ladder.remedy} brings it back` };
    case 'waiting':
      return following === undefined
        ? { what: hasFailed ? isOver : `${isOver} if the trouble goes on` }
        : { what: `${following} begins, if the trouble goes on`, atMs };
    case 'exhausted':
      return { what: isOver };
  }
}

/** On its way back, or it waits to be. */
function ofReturn({ nodeCase, decision: { back } }: Decided): Upcoming | undefined {
  if (!isQuarantined(nodeCase)) return undefined;
  if (back.soakUntilMs !== undefined) {
    return { what: 'it takes pods again, if it stays Ready and clean until then', atMs: back.soakUntilMs };
  }
  if (back.waitsFor === undefined) return { what: 'it takes pods again' };
  return { what: `it takes pods again when it is back, clean and soaked; now ${back.waitsFor.message}` };
}

function ofPod({ decision: { stuck } }: Decided): Upcoming | undefined {
  const first = stuck
    .flatMap(({ namespace, name, until }) => (until === undefined ? [] : [{ pod: `${namespace}/${name}`, until }]))
    .toSorted((one, other) => one.until.localeCompare(other.until))[0];
  return first && { what: `pod ${first.pod} may go`, atMs: Date.parse(first.until) };
}

/** What would begin is told as well where somebody holds everything. */
function ofDue({ nodeCase, remedy, decision: { hold } }: Decided): Upcoming | undefined {
  const due = remedy.due ?? (hold === undefined ? undefined : begins(nodeCase, hold.untilMs));
  return due && { what: worded(due), atMs: due.atMs };
}

function begins(nodeCase: NodeCase, untilMs: number | undefined): Partial<Due> | undefined {
  const thresholds = remedyOf(nodeCase)?.thresholds ?? [];
  const met = thresholds.find((one) => thresholdMet(one, nodeCase.trouble));
  if (met === undefined) return firstDue(thresholds, nodeCase);
  const { key: threshold, remedies } = met;
  const remedy = remedies[0]?.name ?? '';
  return untilMs === undefined ? { threshold, remedy } : { threshold, remedy, atMs: untilMs };
}

function worded({ remedy, threshold }: Partial<Due>): string {
  return `${remedy} begins, if ${threshold === 'lease' ? 'its Lease is still not renewed' : `${threshold} goes on`}`;
}
