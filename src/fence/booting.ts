/**
 * A machine that is on, and should boot: what it waits for until its node is back, and what becomes of one that is off again before
 * that. A command that was told before may strike late, in whatever boot, and what it does then is ours.
 */
import type { FenceContext, FenceFacts, FenceState, Transition } from './state.ts';
import { comeBack, enter, fail, hasBooted, hasFailedForGood, move, stay } from './state.ts';
import { commandShowsMs } from './at-rest.ts';
import type { Switched } from './switched.ts';
import {
  asTold,
  commandTakesMs,
  isOurs,
  levelTold,
  lostOf,
  mayBeOurs,
  ofStep,
  openUntilMs,
  undone,
} from './switched.ts';

export const BACK_TOO_SOON =
  'the node is back, and its device may still do what it was told: its fence is over three minutes later';

/**
 * Its machine is on; by which of its devices is asked when it is back. `open`: commands that nobody has confirmed, and that may strike this
 * boot as well.
 */
export function boot(state: FenceState, facts: FenceFacts, open: readonly Switched[] = []): Transition {
  const { told } = asTold(state);
  const on = undone(state);
  const switched = [...on.switched, ...ofStep(open, 'power-management')];
  const boots = { ...on, switched, ...(told === undefined ? {} : { told }) };
  return enter(boots, 'booting', facts, state.level);
}

export function booting(state: FenceState, context: FenceContext): Transition {
  const { facts, limits } = context;
  // Ready may be what Kubernetes has not noticed yet, and a Lease as old as the power cut.
  if (hasBooted(state, facts)) {
    const recheckAtMs = openUntilMs(state.switched) ?? -Infinity;
    if (facts.isBack && facts.nowMs < recheckAtMs)
      return { kind: 'state', state, recheckAtMs, waitsFor: BACK_TOO_SOON };
    return enter(asTold(state), 'recovering', facts);
  }
  // It will not boot: it never was off. Another cut by the same devices would be no better.
  if (state.neverOff !== undefined) return fail(state, facts, state.neverOff);
  if (facts.isBack && facts.isUnharmed === true) return comeBack(state, facts);
  const isRunningOn = mayBeOurs(state) && facts.nowMs >= state.phaseStartedAtMs + commandShowsMs;
  if (facts.isBack && isRunningOn) return enter(state, 'recovering', facts);
  const again = offAgain(state, context);
  if (again !== undefined) return again;
  const untilMs = state.phaseStartedAtMs + limits.bootTimeoutMs;
  if (facts.nowMs < untilMs) return stay(state, untilMs);
  // Off, released and on again: the same once more would free nothing (SAF-18).
  if (facts.isWorthIt) return fail(state, facts, 'the node was not Ready in time');
  const message = 'the node was not Ready in time, and to cut it once more would free nothing';
  return fail({ ...state, isForGood: true }, facts, message);
}

/** A device that says off is asked after so long at the latest. */
const noticedWithinMs = 60_000;

/**
 * It is off, and somebody has plans with it. What we have told and nobody has seen on since is ours all the same. What was on since, and may
 * have been struck by a late command, is theirs who have said so, and whose cordon it is if it was not off until no command could strike.
 */
export function isLeft(state: FenceState, facts: FenceFacts): boolean {
  if (facts.staysOff === undefined || mayBeOurs(state)) return false;
  const isLate = (facts.foundOffMs ?? -Infinity) > (state.wasCut?.untilMs ?? 0) + noticedWithinMs;
  return facts.isTheirs === true || isLate || !isOurs(state, facts);
}

/** So often a machine is switched on that was on and is found off. */
const maxOffAgain = 3;
const doesNotStayOn = 'it is off, and does not stay on: somebody has to look';

/**
 * It was on, and is off before it is back: a late command of ours, a power supply that trips. What we have cut is switched on once
 * more, and so is what was found off, unless somebody has plans with it. Not without end: then it is said. Undefined: it is not so.
 */
function offAgain(state: FenceState, { facts, limits }: FenceContext): Transition | undefined {
  const isAnothers = state.swapped !== undefined || limits.machineRemoved === true || isLeft(state, facts);
  if (!facts.isFoundOff || isAnothers) return undefined;
  const times = state.offAgain ?? 0;
  const devices = [...new Set([...(state.told ?? []), ...(state.wasCut?.devices ?? [])])];
  const told = devices.length === 0 ? undefined : devices;
  if (times < maxOffAgain) {
    return enter({ ...state, told, offAgain: times + 1 }, 'poweringOn', facts, state.level);
  }
  if (state.phase === 'failed' && state.message === doesNotStayOn) return undefined;
  return fail({ ...state, isForGood: true }, facts, doesNotStayOn);
}

/**
 * One that does not begin anew, of a machine that it has cut: whatever it has failed with, that is not left off. Not all of it need have
 * been off: it may have run on.
 */
export function bringBack(state: FenceState, context: FenceContext): Transition | undefined {
  return isOurs(state, context.facts) ? (offAgain(asTold(state), context) ?? onOnce(state, context)) : undefined;
}

/**
 * What was told off is told on once, whatever its device is worth by now: that harms nobody. Not before the command has had its time:
 * what it strikes until then may be let go, where its device is believed.
 */
function onOnce(state: FenceState, { facts, config, limits }: FenceContext): Transition | undefined {
  const isOver = !mayBeOurs(state) || state.offAgain !== undefined || !hasFailedForGood(state, limits);
  if (isOver || state.swapped !== undefined || limits.machineRemoved === true) return undefined;
  const notBeforeMs = state.phaseStartedAtMs + commandTakesMs;
  if (facts.nowMs < notBeforeMs) return stay(state, notBeforeMs);
  const message = [state.message, lostOf(state, config)].filter((part) => part !== undefined).join('; ');
  const told = enter({ ...asTold(state), message, offAgain: 1 }, 'poweringOn', facts, levelTold(state, config));
  return told.kind === 'state' ? move({ ...told.state, isForGood: true }) : told;
}

/** It is over. What was told may strike all the same for a while: whoever finds it off then knows whose doing that is. */
export function finish(state: FenceState, facts: FenceFacts): Transition {
  const { wasCut, offAgain: _, lost: __, ...rest } = undone(state);
  const isOpen = wasCut !== undefined && facts.nowMs < wasCut.untilMs;
  return enter({ ...rest, switched: [], ...(isOpen ? { wasCut } : {}) }, 'finished', facts);
}
