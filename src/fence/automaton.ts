/**
 * The fence automaton: one pure transition function over the phases of a fence.
 *
 * Told by the words of NodeFence, `waiting` and `isolating` are new, `isolated` to `poweringOn` are running, `booting` and
 * `recovering` are done, then final; `failed` is error. A transition changes one thing at a time and says which method
 * has to run now. Whoever performs it stores the state first: a method never begins before `switched` says that its command
 * may have been sent. Until then the fence ends without one when the node is back (S23, S39).
 *
 * `off` is reached only when every method of the level was confirmed by a query after the action (S40). It is the one phase
 * in which pods go on the strength of power, and nothing is switched on before they have (FEN-10).
 */
import { wrongOutlet } from '../api/beside.ts';
import type { Level, Method } from '../api/fence-config.ts';
import { MAX_SILENT_BESIDE } from '../api/fence-names.ts';
import type { FenceContext, FenceFacts, FenceState, Phase, Transition } from './state.ts';
import { comeBack, enter, fail, hasBooted, hasFailedForGood, isRebooted, move, refusedForMs, stay } from './state.ts';
import { takenOut } from './planned.ts';
import { recovering, undoLater } from './recovering.ts';
import type { Switched, Undo } from './switched.ts';
import {
  asTold,
  carried,
  commandTakesMs,
  cutsOf,
  edited,
  isConfirmed,
  isOurs,
  leftOff,
  levelTold,
  mayBeOurs,
  noted,
  ofStep,
  onOf,
  sentAtMs,
  stillOff,
  unconfirmed,
  undone,
} from './switched.ts';
import { BACK_TOO_SOON, boot, booting, bringBack, isLeft } from './booting.ts';
import { hasEnded, hasFailedLast, retryAfterMs, switchOff, switchOn, toldInVain } from './switching.ts';
import { commandShowsMs } from './at-rest.ts';
import { givenUpAfterMs, uncut } from './uncut.ts';

/**
 * So long after its word was lost, or its pods were not let go, a machine that is off is nobody's turn any more; or is switched on, by
 * whom nobody believes.
 */
const saysAgainWithinMs = 120_000;

/** Changes nothing where nothing is due; asked again, it says the same. */
export function transition(state: FenceState, context: FenceContext): Transition {
  if (context.facts.isStopped) return stay(state);
  const { isOfPredecessor = false } = context.facts;
  if (isOfPredecessor && !isUndoing.has(state.phase) && !couldNotUndo(state)) return takenOver(state, context);
  const { neverOff: message } = context.facts;
  if (message !== undefined && state.neverOff === undefined) return move({ ...state, neverOff: message, message });
  switch (state.phase) {
    case 'waiting':
      return waiting(state, context);
    case 'isolating':
      return isolating(state, context);
    case 'isolated':
      return isolated(state, context);
    case 'poweringOff':
      return poweringOff(state, context);
    case 'off':
      return off(state, context);
    case 'poweringOn':
      return poweringOn(state, context);
    case 'booting':
      return booting(state, context);
    case 'recovering':
      return recovering(state, context);
    case 'finished':
      return stay(state);
    case 'failed':
      return failed(state, context);
  }
}

const isUndoing: ReadonlySet<Phase> = new Set(['poweringOn', 'booting', 'recovering', 'finished']);

/**
 * It has tried to undo what it has cut, and failed: that is as it is under whatever Node object, or it would be tried without end. One that
 * was given up because its Node object was deleted has not tried it for the one that there is now.
 */
function couldNotUndo({ failedIn, isForGood }: FenceState): boolean {
  return failedIn === 'recovery' && isForGood !== true;
}

/**
 * Nothing more is cut for a Node object that is gone, and what was is undone for the one that has its machine now: once a command that
 * may have been sent has had its time.
 */
function takenOver(before: FenceState, { facts, config }: FenceContext): Transition {
  const { message: _, ...state } = before;
  const steps = ['isolation', 'power-management'] as const;
  const notBeforeMs = Math.max(...steps.map((step) => sentAtMs(open(state), step) ?? -Infinity)) + commandTakesMs;
  const undoing = mayBeOurs(state)
    ? enter(state.phase === 'off' ? state : asTold(state), 'poweringOn', facts, levelTold(state, config))
    : comeBack(undone(state), facts);
  if (facts.nowMs >= notBeforeMs) return undoing;
  return undoing.kind === 'state' ? move({ ...undoing.state, notBeforeMs }) : undoing;
}

function waiting(state: FenceState, context: FenceContext): Transition {
  const { facts, config, limits } = context;
  if (facts.isBack) return comeBack(state, facts);
  if (facts.isPaused && state.told !== undefined) return enter(state, 'poweringOn', facts, levelTold(state, config));
  if (isLetGo(context)) return enter(state, 'poweringOff', facts);
  const isPowerFirst = config.powerManagement.length > 0 && limits.powerManagementAfterMs < limits.isolateAfterMs;
  const dueAtMs = isPowerFirst ? powerAtMs(state, context) : state.startedAtMs + limits.isolateAfterMs;
  if (facts.nowMs < dueAtMs) return stay(state, dueAtMs);
  if (facts.isPaused || facts.isBraked) return stay(state);
  if (isPowerFirst) return enter(state, 'poweringOff', facts);
  if (config.isolation.length === 0) return enter(state, 'isolated', facts);
  return enter(state, 'isolating', facts);
}

/** When its power may be cut. */
function powerAtMs({ startedAtMs }: FenceState, { facts, limits }: FenceContext): number {
  return Math.max(startedAtMs + limits.powerManagementAfterMs, facts.dumpUntilMs ?? 0);
}

/**
 * It is off without us: there is nothing to isolate, nothing to be patient with (EVD-2), and no brake holds it, because nothing is
 * cut (STM-1).
 */
function isLetGo({ facts, config }: FenceContext): boolean {
  return facts.isFoundOff && !facts.isPaused && config.powerManagement.length > 0;
}

function isolating(state: FenceState, context: FenceContext): Transition {
  const { facts, config } = context;
  if (facts.isBack && !hasEnded(facts.task)) return backAfter(state, facts, sentAtMs(open(state), 'isolation'));
  const isBegun = facts.task !== undefined || sentAtMs(state.switched, 'isolation') !== undefined;
  if (!isBegun && isLetGo(context)) return enter(state, 'poweringOff', facts);
  return switchOff(state, context, { levels: config.isolation, step: 'isolation', next: 'isolated' });
}

function isolated(state: FenceState, context: FenceContext): Transition {
  const { facts, config } = context;
  if (facts.isBack) return comeBack(state, facts);
  if (facts.isPaused && state.told !== undefined) return enter(state, 'poweringOn', facts, levelTold(state, config));
  const lost =
    edited(state.switched, 'isolation', config.isolation) ??
    takenOut(state.planned, 'isolation', config.isolation[state.level]);
  if (lost !== undefined) return fail(state, facts, lost);
  const known = uncut(state, facts);
  if (known !== state) return move(known);
  if (config.powerManagement.length === 0) {
    const { wantedStill } = facts;
    const end = wantedStill === undefined ? 'it waits for the node to come back' : `it goes on until ${wantedStill}`;
    const waitsFor = state.isUnconfirmed === true ? state.message : undefined;
    return { kind: 'state', state, waitsFor: waitsFor ?? `no power_management is configured: ${end}` };
  }
  if (isLetGo(context)) return enter(state, 'poweringOff', facts);
  const dueAtMs = powerAtMs(state, context);
  if (facts.nowMs < dueAtMs) return stay(state, dueAtMs);
  return facts.isPaused || facts.isBraked ? stay(state) : enter(state, 'poweringOff', facts);
}

const notOffAfterAll = 'it had failed, its device said off since, and does not say so any more';

/** Once a command may have been sent, it may show at any moment, in this boot or in the next one. */
function poweringOff(state: FenceState, context: FenceContext): Transition {
  const { facts, config } = context;
  if (isRebooted(state, facts)) return boot(state, facts, open(state));
  if (facts.task?.onAgain !== undefined) return boot({ ...state, message: facts.task.onAgain }, facts);
  const sent = sentAtMs(state.switched, 'power-management');
  if (state.isForGood === true && !facts.isFoundOff && facts.task === undefined)
    return fail(state, facts, notOffAfterAll);
  // It was only found off, and nobody says so any more: as long as a cut has to wait, so does this one.
  const isEarly = sent === undefined && !facts.isFoundOff && facts.nowMs < powerAtMs(state, context);
  if (isEarly && facts.task === undefined) {
    return enter({ ...state, switched: unconfirmed(state.switched, 'power-management') }, 'waiting', facts);
  }
  // What a try has come to is heard first: it may be that nothing was sent.
  if (!hasEnded(facts.task)) {
    if (facts.isBack) return backAfter(state, facts, sent);
    if (facts.isPaused && sent !== undefined) {
      const untilMs = sent + commandTakesMs;
      return facts.nowMs < untilMs ? stay(state, untilMs) : enter(asTold(state), 'poweringOn', facts, state.level);
    }
  }
  // It was told and has not come to be believed: whom it has struck instead gets its power back.
  const isInVain = hasEnded(facts.task) && facts.task.outcome !== 'succeeded' && facts.task.told !== false;
  if (isInVain && facts.darkness?.kind === 'dark') return switchBack(state, facts, facts.darkness.names);
  const levels = config.powerManagement;
  return switchOff(state, context, { levels, step: 'power-management', next: 'off' });
}

/** Others fell silent with it: it may be their power that was cut (SAF-17). */
function switchBack(state: FenceState, facts: FenceFacts, names: readonly string[]): Transition {
  return enter({ ...state, swapped: names.slice(0, MAX_SILENT_BESIDE) }, 'poweringOn', facts, state.level);
}

/** The node is back, and so is the fence, once a command that may have been sent has had its time. */
function backAfter(state: FenceState, facts: FenceFacts, sent = -Infinity): Transition {
  const untilMs = sent + commandTakesMs;
  if (facts.nowMs >= untilMs) return comeBack(state, facts);
  if (facts.nowMs < sent + commandShowsMs) return stay(state, sent + commandShowsMs);
  return { kind: 'state', state, recheckAtMs: untilMs, waitsFor: BACK_TOO_SOON };
}

function open({ switched }: FenceState): Switched[] {
  return switched.filter(({ confirmedAtMs }) => confirmedAtMs === undefined);
}

function off(state: FenceState, context: FenceContext): Transition {
  const { facts, config, limits } = context;
  if (isRebooted(state, facts)) return boot(state, facts);
  // Somebody has switched it on, whoever had cut it: it has the time of a boot, and nothing goes or is cut meanwhile (SAF-18).
  if (facts.onAgain !== undefined) return boot({ ...state, message: facts.onAgain }, facts);
  const isOwn = isOurs(state, facts);
  // Nothing goes from a node that lives. What was told may have struck another machine, which gets its power back.
  if (facts.isAliveSince) {
    return isOwn ? enter(state, 'poweringOn', facts, state.level) : comeBack(undone(state), facts);
  }
  const { darkness } = facts;
  if (darkness?.kind === 'dark') return switchBack(state, facts, darkness.names);
  const level = config.powerManagement[state.level];
  const lost =
    edited(state.switched, 'power-management', config.powerManagement) ??
    takenOut(state.planned, 'power-management', level);
  if (lost !== undefined || level === undefined)
    return fail(state, facts, lost ?? 'its level is not configured any more');
  // More was added: what is confirmed counts, and the rest is done as well.
  if (!isCovered(state, level)) return enter(state, 'poweringOff', facts, state.level);
  const mayGoOn = facts.isPaused ? isOwn : facts.isReleased;
  if (!mayGoOn) {
    if (darkness === undefined) return facts.refused ? refusedOff(state, context) : unconfirmedOff(state, facts);
    const { needs, untilMs: recheckAtMs } = darkness;
    return { kind: 'state', state, recheckAtMs, ...(needs === undefined ? {} : { waitsFor: needs }) };
  }
  if (limits.machineRemoved === true && !facts.isPaused) return enter(state, 'finished', facts);
  if (isLeft(state, facts)) {
    return { kind: 'state', state, waitsFor: `its machine was found off, and stays so: ${facts.staysOff}` };
  }
  const { message: _, ...said } = state;
  if (level.on.length > 0) return enter(said, 'poweringOn', facts, state.level);
  const waitsFor = 'its machine is off, and nothing is configured that switches it on: somebody has to';
  return { kind: 'state', state, waitsFor };
}

/**
 * Asked again right before its pods go, its device does not say off any more. Nothing goes, and that is said at once. What we have
 * cut by a device that is not believed now is switched on again: it never will be let go. For one that does not answer it is
 * waited for, by nobody else: its command is done and confirmed.
 */
function unconfirmedOff(state: FenceState, facts: FenceFacts): Transition {
  const { unconfirmed } = facts;
  if (unconfirmed === undefined) return stay(state);
  const { forMs, isDisbelieved } = unconfirmed;
  const message = `it was off, and its pods go when its device says so again: ${unconfirmed.message}`;
  if (state.message !== message) return move({ ...state, message });
  if (forMs < saysAgainWithinMs) return stay(state);
  if (isDisbelieved && isOurs(state, facts)) return enter(state, 'poweringOn', facts, state.level);
  return stayOff(state, message, forMs);
}

/** Nobody else waits for that, and in the end somebody has to look. */
function stayOff(state: FenceState, waitsFor: string, forMs: number): Transition {
  if (forMs >= givenUpAfterMs && state.isForGood !== true) return move({ ...state, isForGood: true });
  return { kind: 'state', state, waitsFor };
}

/**
 * The API server does not let its pods go, or not be quarantined, for whatever reason: that is said at once. What we have cut is
 * switched on again, once that seems to be its last word, and is not cut again for the same: its restarts are used up. But not while
 * others rely on its being off.
 */
function refusedOff(state: FenceState, { facts, limits }: FenceContext): Transition {
  const { message: why = '', forMs = 0, isReliedOn = false } = facts.refused ?? {};
  const message = `it is off, and its pods cannot go: ${why}`;
  if (state.message !== message) return move({ ...state, message });
  if (forMs < refusedForMs) return stay(state);
  if (isOurs(state, facts) && !isReliedOn) {
    const restarts = Math.max(state.restarts, limits.restarts);
    return enter({ ...state, restarts }, 'poweringOn', facts, state.level);
  }
  return forMs < saysAgainWithinMs ? stay(state) : stayOff(state, message, forMs);
}

function isCovered({ switched }: FenceState, { off: methods }: Level): boolean {
  return methods.every((method) => isConfirmed(switched, 'power-management', method));
}

/**
 * That it was off is void from here on, before anything is told; that the cut was ours is not, until it is on. There is no
 * other way out: what a fence has switched off it tries to switch on for as long as it takes.
 */
function poweringOn(state: FenceState, context: FenceContext): Transition {
  const { facts, config } = context;
  if (ofStep(state.switched, 'power-management').some(({ confirmedAtMs }) => confirmedAtMs !== undefined)) {
    return move({ ...state, ...noted(state), switched: unconfirmed(state.switched, 'power-management') });
  }
  // Somebody has switched it on by hand, or what was told last does not answer. Where outlets are swapped it is another machine that
  // waits for its power.
  const isOnByHand = hasBooted(state, facts) && state.swapped === undefined;
  if (isOnByHand) return enter(state, 'recovering', facts);
  if (facts.isOutOfService === true) {
    if (facts.refused === undefined) return stay(state);
    const waitsFor = `it goes on when its Node does not say any more that it is out of service: ${facts.refused.message}`;
    return { kind: 'state', state, waitsFor };
  }
  const own = config.powerManagement[state.level]?.on ?? [];
  if (own.length === 0) return withoutOn(state, facts);
  const methods = onOf(state, config);
  const method = methods[state.method];
  if (method === undefined) return allTold(state, context, own);
  // It was on all the time: the command that was sent before the pause has come to nothing.
  const wasOn = methods.length === 1 && facts.task?.outcome === 'succeeded' && facts.task.told === false;
  // It had failed for good, and was on when it was first asked: nothing boots.
  if (wasOn && state.isForGood === true && state.notBeforeMs === undefined)
    return fail(undone(state), facts, state.message ?? '');
  if (wasOn && facts.isOfPredecessor === true) return enter(undone(state), 'recovering', facts);
  if (wasOn && facts.isPaused && state.offAgain === undefined) return enter(undone(state), 'waiting', facts);
  const moved = switchOn(state, { method, isQuestion: false }, context);
  return hasFailedLast(moved, methods.length) ? allTold(moved.state, context, own) : moved;
}

/**
 * Nothing is left that would switch it on. A node that is back has power, so that nothing of it has to be: what else was cut is undone,
 * or said. Not before what was told has had its time, and not where it is another machine that waits.
 */
function withoutOn(state: FenceState, facts: FenceFacts): Transition {
  if (facts.isBack && state.swapped === undefined) {
    const recheckAtMs = Math.max(state.notBeforeMs ?? 0, noted(state).wasCut?.untilMs ?? 0);
    if (facts.nowMs >= recheckAtMs) return enter(asTold(state), 'recovering', facts);
    return { kind: 'state', state, recheckAtMs, waitsFor: BACK_TOO_SOON };
  }
  const waitsFor = 'nothing is configured any more that would switch it on: somebody has to';
  return { kind: 'state', state, waitsFor };
}

/**
 * What others could not cut they may not be able to switch on either: the machine boots without them, or it does not. Each that has
 * failed is asked again when it has.
 */
function allTold(state: FenceState, context: FenceContext, own: readonly Method[]): Transition {
  const { facts, config } = context;
  const { missed = [] } = state;
  const isOwn = own.some(({ name }) => missed.includes(name));
  const again = isOwn ? toldInVain(state, own.map(toBeTold), context) : undefined;
  if (again !== undefined) return again;
  const left = stillOff(state, missed, config);
  if (state.swapped !== undefined) return fail(left, facts, wrongOutlet(state.swapped));
  // Not all of it was ever off, so that it may have run on: whoever is back without a boot is asked once more.
  const mayRun = ofStep(state.switched, 'power-management').length === 0 && facts.isOfPredecessor !== true;
  return boot(mayRun ? state : left, facts);
}

/** Another boot may be fed by what is configured by now. */
function inThisBoot(state: FenceState, facts: FenceFacts): FenceState {
  return isRebooted(state, facts) ? { ...state, planned: undefined } : state;
}

function toBeTold(method: Method): Undo {
  return { method, isQuestion: false };
}

/** A fence in error begins anew, so often as it may; then it stays until somebody acts, or the node is back rebooted. */
function failed(state: FenceState, context: FenceContext): Transition {
  const { facts, config, limits } = context;
  // Nothing is cut anew for a Node object that is gone.
  if (facts.isOfPredecessor === true && state.restarts < limits.restarts) {
    return move({ ...state, restarts: limits.restarts });
  }
  const known = facts.isBack ? leftOff(state, config, isRebooted(state, facts)) : state;
  if (known !== state) return move(known);
  if (facts.isBack && isRebooted(state, facts)) {
    return enter({ ...state, bootId: facts.bootId, neverOff: undefined }, 'recovering', facts);
  }
  const isCut = facts.isBack && facts.isHarmless && cutsOf(state.switched).length > 0;
  if (isCut && state.failedIn !== 'recovery') return enter(state, 'recovering', facts);
  const isForGood = hasFailedForGood(state, limits);
  // One that begins anew by itself is about to cut it once more.
  const isTold = mayBeOurs(state) || state.lost !== undefined;
  const isLeftOff = facts.isBack && isTold && (isForGood || !facts.isCalledFor);
  if (isLeftOff || isCut) return undoLater(state, context);
  if (facts.isPaused && mayBeOurs(state)) return enter(asTold(state), 'poweringOn', facts, state.level);
  const { message: _, failedIn, missed: __, ...again } = inThisBoot(state, facts);
  // It is off by now, as its device says: that is a question and its answer, and no other cut (EVD-2). Not without end.
  const isLeft =
    facts.isWorthIt && state.restarts <= limits.restarts && state.swapped === undefined && failedIn !== 'recovery';
  if (isForGood && isLeft && isLetGo(context)) {
    const found = enter({ ...again, ...carried(state), bootId: facts.bootId }, 'poweringOff', facts);
    return found.kind === 'state' ? move({ ...found.state, isForGood }) : found;
  }
  if (isForGood || facts.isBraked || facts.isPaused) return bringBack(state, context) ?? stay(state);
  // What fails at once would otherwise use up all of its restarts in one look. What took its time has waited between its tries.
  const againAtMs = state.startedAtMs + retryAfterMs;
  if (facts.nowMs < againAtMs) return stay(state, againAtMs);
  const fresh = { ...again, ...carried(state), restarts: state.restarts + 1, startedAtMs: facts.nowMs };
  return enter({ ...fresh, bootId: facts.bootId }, 'waiting', facts);
}
