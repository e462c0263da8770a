/**
 * At most so many pods per minute (STM-4): they all start elsewhere at once, and the rest of the cluster has to carry them.
 * What was let go once is followed to its end; only what is new counts.
 */
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { Allowance } from '../api/surroundings.ts';
import { clockTime } from '../api/facts.ts';
import { objection } from './checks.ts';
import type { Fate } from './way.ts';

export function withinRate(fates: readonly Fate[], records: readonly ReleaseRecord[], allowance: Allowance): Fate[] {
  const begun = new Set(records.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  let left = allowance.pods;
  return fates.map((fate) => {
    if (!fate.goes || begun.has(fate.pod.uid)) return fate;
    left -= 1;
    if (left >= 0) return fate;
    const { untilMs, perMinute } = allowance;
    const message = `as many pods as may go in a minute (${perMinute}) have gone; the next one at ${clockTime(untilMs)}`;
    const { way } = fate;
    return {
      pod: fate.pod,
      goes: false,
      objections: [{ way, objection: objection('ReleaseRate', message, untilMs) }],
    };
  });
}

/** What the record of a node says: how many pods, since when, and when the last was gone. */
export interface Released {
  recordedMs: number;
  goneMs?: number;
  pods: number;
}

interface Went {
  atMs: number;
  pods: number;
}

/** Times are written in whole seconds, and so is the clock of the API server. */
export const minuteMs = 62_000;
/** Clocks that are looked after differ by less: what is further ahead was written by another one, nobody knows when. */
const aheadMs = 60_000;
/** What was recorded and does not go, for want of an answer from a device, is not counted as going for ever (S27). */
const goingAtMostMs = 300_000;

/** By the clock of the API server. Of what is stored and what this process knows itself, the larger number counts. */
export function allowanceOf(
  perMinute: number,
  { stored, own, nowMs }: { stored: By<Released>; own: By<Went>; nowMs: number },
): Allowance {
  let used = 0;
  let oldestMs = nowMs;
  for (const node of new Set([...stored.keys(), ...own.keys()])) {
    const recorded = (stored.get(node) ?? []).map((one) => ({ atMs: wentAt(one, nowMs), pods: one.pods }));
    const lists = [recorded, own.get(node) ?? []].map((list) =>
      list.filter(({ atMs }) => atMs > nowMs - minuteMs && atMs <= nowMs + aheadMs),
    );
    used += Math.max(...lists.map((list) => list.reduce((sum, { pods }) => sum + pods, 0)));
    oldestMs = Math.min(oldestMs, ...lists.flat().map(({ atMs }) => atMs));
  }
  return { pods: Math.max(0, perMinute - used), perMinute, untilMs: oldestMs + minuteMs };
}

type By<T> = ReadonlyMap<string, readonly T[]>;

/** Pods go some time after they were recorded: until the last is gone, they are going now. */
function wentAt({ recordedMs, goneMs }: Released, nowMs: number): number {
  return goneMs ?? Math.min(nowMs, recordedMs + goingAtMostMs);
}
