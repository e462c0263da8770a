/** How a node that is back gets back what was cut of it: its power, and its way to the storage. */
import type { FenceContext, FenceFacts, FenceState, Transition } from './state.ts';
import { enter, fail, isRebooted, move, stay } from './state.ts';
import {
  connected,
  cutsOf,
  leftOff,
  lostOf,
  mayBeOurs,
  notUndone,
  powerBack,
  seenOn,
  undoing,
  undoOf,
} from './switched.ts';
import { finish } from './booting.ts';
import { hasEnded, hasFailedLast, switchOn, toldInVain } from './switching.ts';

/** What could not be undone is tried, or asked after, so often. */
const askAgainAfterMs = 60_000;

/** The node is back, and what was let go there may still run. */
function stayCut(state: FenceState, { needsReboot = false }: FenceFacts): Transition {
  const until = needsReboot
    ? 'it is rebooted: a pod was let go of which no kubelet reports whether it still uses its volumes'
    : 'nothing that was let go can be left there';
  const waitsFor = `it stays cut off from its storage until ${until}`;
  return { kind: 'state', state, waitsFor };
}

/**
 * What was cut is undone: its power, whatever it runs on meanwhile; and its way to the storage, when nothing of before can write any
 * more (SAF-4). What cannot be is said.
 */
export function recovering(state: FenceState, context: FenceContext): Transition {
  const { facts, config } = context;
  const known = leftOff(state, config, isRebooted(state, facts));
  if (known !== state) return move(known);
  const cuts = cutsOf(state.switched);
  const mayConnect = cuts.length === 0 || facts.isHarmless;
  const staysCut = facts.isBack || facts.isOfPredecessor === true;
  if (!mayConnect && !staysCut) return enter(state, 'isolated', facts);
  const undo = mayConnect ? undoing(state, config, state.level) : powerBack(state, config);
  const next = undo[state.method];
  if (next !== undefined) {
    // Nothing is switched on under our taint (S5).
    if (facts.isOutOfService === true) return stay(state);
    const moved = switchOn(state, next, context);
    if (!hasFailedLast(moved, undo.length)) return moved;
    return mayConnect ? (toldInVain(moved.state, undo, context) ?? moved) : powerLater(moved.state, facts);
  }
  if (!mayConnect) return state.missed === undefined ? stayCut(state, facts) : powerLater(state, facts);
  const again = toldInVain(state, undo, context);
  if (again !== undefined) return again;
  const left = cuts[0];
  if (left === undefined) {
    const lost = lostOf(state, config);
    return lost === undefined ? finish(state, facts) : fail(state, facts, lost);
  }
  // A Node object that was made anew is taken out of service first, for as long as this goes on.
  const isEarly = facts.isOfPredecessor === true && !facts.isBack;
  return isEarly ? { kind: 'state', state, waitsFor: notUndone(left) } : fail(state, facts, notUndone(left));
}

/** It has not gone on, and the rest has to wait: both are tried for as long as that takes. */
function powerLater(state: FenceState, { nowMs }: FenceFacts): Transition {
  const { missed: _, ...rest } = state;
  return move({ ...rest, method: 0, notBeforeMs: nowMs + askAgainAfterMs });
}

/**
 * We have tried, as often as we may. What of its power is off is told to go on all the same, every minute; of a way to its storage
 * somebody may have connected it by hand since, which its device can tell.
 */
export function undoLater(state: FenceState, { facts, config }: FenceContext): Transition {
  const { missed = [], notBeforeMs = 0, ...rest } = state;
  const power = powerBack(state, config);
  const cuts = facts.isHarmless
    ? undoOf(state.switched, config, -1).map(({ method }) => ({ method, isQuestion: true }))
    : [];
  const [next, ...more] = [...power, ...cuts].filter(({ method }) => !missed.includes(method.name));
  const later = move({ ...rest, notBeforeMs: facts.nowMs + askAgainAfterMs });
  if (next === undefined) return missed.length === 0 ? stay(state) : later;
  const { method, isQuestion } = next;
  if (facts.task?.outcome === 'succeeded') {
    const on = seenOn({ ...state, switched: connected(state.switched, method) }, method);
    const isWhole = !mayBeOurs(on) && on.lost === undefined && cutsOf(on.switched).length === 0;
    const isOver = state.failedIn === 'recovery' && isWhole;
    return isOver ? finish(on, facts) : move(on);
  }
  if (hasEnded(facts.task)) return more.length === 0 ? later : move({ ...state, missed: [...missed, method.name] });
  if (facts.nowMs < notBeforeMs) return stay(state, notBeforeMs);
  return { kind: 'state', state, run: method, ...(isQuestion ? { isQuestion } : {}) };
}
