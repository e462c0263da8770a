/**
 * When a fence that somebody holds is at rest: not before what its devices were told has shown, or has had its time, and what it frees
 * could have gone (SAF-10). One rule, whatever holds it.
 */
import { isCutting } from '../api/facts.ts';
import type { StoredFence } from './stored.ts';

/** Most devices show it sooner: nobody else waits for longer than this for one that is held. */
export const commandShowsMs = 90_000;

export const heldInVain =
  'it is held, and its device has not confirmed what it was told: nobody else waits for that any more';

export const heldWhileCut = 'it is held, and what its devices have cut stays so: nobody else waits for that any more';

interface Moment {
  nowMs: number;
  /** A try of this process is not over: it may tell its device something at any moment. */
  isRunning: boolean;
}

/** What is stored of one that is held; and when to look again. */
export function atRest(fence: StoredFence, { nowMs, isRunning }: Moment): { fence: StoredFence; recheckAtMs?: number } {
  if (!isCutting(fence)) return { fence };
  // One that failed and was to be tried again was told for the last time before that.
  const times = [...fence.switched.map(({ commandSentAt }) => commandSentAt), fence.until];
  const untilMs = Math.max(...times.map((at) => Date.parse(at ?? '')).filter((atMs) => atMs > 0)) + commandShowsMs;
  if (nowMs < untilMs) return { fence, recheckAtMs: untilMs };
  return isRunning ? { fence } : { fence: { ...fence, waitsFor: isOpen(fence) ? heldInVain : heldWhileCut } };
}

/** A device was told, and has not confirmed it. */
function isOpen({ switched }: StoredFence): boolean {
  return switched.some(({ commandSentAt, confirmedAt }) => commandSentAt !== undefined && confirmedAt === undefined);
}
