/** How the methods of one step are gone through: what is stored before a command, and what the end of a try says. */
import type { Level, Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { timeOf } from '../api/facts.ts';
import { commandKey } from '../api/task.ts';
import type { FenceContext, FenceFacts, FenceState, Moved, Phase, TaskNews, Transition } from './state.ts';
import { enter, fail, move, refusedForMs, stay } from './state.ts';
import { takenOut } from './planned.ts';
import type { Switched, SwitchedStep, Undo } from './switched.ts';
import {
  connected,
  cutsOf,
  entryFor,
  isConfirmed,
  notSwitchedOn,
  notUndone,
  seenOn,
  unconfirmed,
  withEntry,
} from './switched.ts';

/** A device that has just failed, or its network, may need a moment; so may a command that was only late. */
export const retryAfterMs = 10_000;
/** And so often what does not go on, when it has been tried as often as a step is. */
const onAgainAfterMs = 60_000;
interface OffPlan {
  levels: readonly Level[];
  step: SwitchedStep;
  next: Phase;
}

/** One method after the other; a failure is tried again, then the next level, then it is an error. */
export function switchOff(state: FenceState, context: FenceContext, plan: OffPlan): Transition {
  const { facts } = context;
  const { step } = plan;
  const methods = plan.levels[state.level]?.off ?? [];
  if (methods.length === 0) return fail(state, facts, `no method of ${step} is configured any more that switches off`);
  const lost = takenOut(state.planned, step, plan.levels[state.level]);
  if (lost !== undefined) return fail(state, facts, lost);
  const next = methods.findIndex((method) => !isConfirmed(state.switched, step, method));
  const method = methods[next];
  // What had failed for good and was found off since begins anew by that, and not without end.
  const restarts = state.restarts + (state.isForGood === true ? 1 : 0);
  // What was found of devices is about an earlier cut.
  if (method === undefined) return enter({ ...state, restarts, neverOff: undefined }, plan.next, facts, state.level);
  if (next !== state.method) return move({ ...state, method: next });
  const { task } = facts;
  const sentAtMs = entryFor(state.switched, step, method)?.sentAtMs;
  const isSent = method.action !== 'off' || sentAtMs !== undefined;
  if (task !== undefined && !isSent) return answered(state, context, { step, method, task });
  if (hasEnded(task)) return learnt(state, context, { ...plan, method, task });
  const { notBeforeMs = 0 } = state;
  if (task === undefined && facts.nowMs < notBeforeMs) return stay(state, notBeforeMs);
  if (facts.isPaused) return stay(state);
  if (isSent) return { kind: 'state', state, ...toldAgain(facts, method, sentAtMs) };
  // What is off already is told nothing, and no command of ours is on record: whoever leads next may not give one either.
  const isFirst = step === 'power-management' && plan.levels[0] === plan.levels[state.level];
  if (isFirst && facts.isFoundOff) return { kind: 'state', state, run: method, isQuestion: true };
  // Until a command may have been sent, nothing was begun: whatever holds fences back holds this one.
  if (facts.isBraked) return stay(state);
  const beside = step === 'isolation' || facts.silentBeside === undefined ? {} : { silentBeside: facts.silentBeside };
  const sent = { sentAtMs: facts.nowMs, ...beside };
  return move({ ...state, switched: withEntry(state.switched, { step, method }, sent) });
}

type GoesOn = Pick<Extract<Transition, { kind: 'state' }>, 'run' | 'isQuestion' | 'waitsFor'>;

/**
 * What this process has put on record a moment ago is told now. To tell it again later is another cut, and so is to tell what another
 * process has recorded, and may have told, whoever wanted the first one: it has to be called for, what holds cuts back holds it as
 * well, and otherwise only whether it is off by now is asked. That nobody knows yet whether it is called for does not say that its
 * trouble is over: until then it has its slot.
 */
function toldAgain(facts: FenceFacts, method: Method, sentAtMs = facts.nowMs): GoesOn {
  const isOurs = !facts.mayBeTold.includes(commandKey(method.name, timeOf(sentAtMs)));
  const isAnother = facts.task === undefined && !(isOurs && facts.nowMs < sentAtMs + retryAfterMs);
  if (!isAnother || (facts.isCalledFor && !facts.isBraked)) return { run: method };
  if (facts.isFoundOff) return { run: method, isQuestion: true };
  return facts.isCalledFor || facts.isUnsettled === true ? {} : { waitsFor: NOT_TOLD_AGAIN };
}

const NOT_TOLD_AGAIN =
  'what it was told for is over, and it is not told again: its fence is over when the node is back';

/**
 * Nothing is on record that was told: it was asked whether it is off already. Where it is not, it is decided anew, from the
 * beginning: as long as a cut has to wait, and by the brake that holds cuts back.
 */
function answered(
  state: FenceState,
  { facts }: FenceContext,
  { step, method, task }: { step: SwitchedStep; method: Method; task: TaskNews },
): Transition {
  switch (task.outcome) {
    case 'running':
      return stay(state);
    case 'succeeded': {
      // One that was told something says nothing of what is on record here (S40).
      if (task.told !== false) return move({ ...state, notBeforeMs: facts.nowMs });
      const switched = withEntry(state.switched, { step, method }, { confirmedAtMs: facts.nowMs });
      return move({ ...state, switched });
    }
    // What was told nothing in the end, and has been heard: another try is another task.
    case 'dropped':
      return move({ ...state, notBeforeMs: facts.nowMs });
    case 'failed':
    case 'unknown':
      // It had failed for good before it was found off.
      if (state.isForGood === true) return fail(state, facts, task.message ?? `${method.name} does not say off`);
      return enter({ ...state, switched: unconfirmed(state.switched, step) }, 'waiting', facts);
  }
}

/** What the end of a try says: whether it is off, and whether anything was sent. */
function learnt(
  state: FenceState,
  { facts, limits }: FenceContext,
  { levels, step, method, task }: OffPlan & { method: Method; task: TaskNews },
): Transition {
  const { sentAtMs: known, silentBeside } = entryFor(state.switched, step, method) ?? {};
  // What an earlier try has told stays told, whatever came of this one.
  const isUnsent = known === undefined || (task.told === false && known >= (state.notBeforeMs ?? 0));
  const sent = isUnsent ? {} : { sentAtMs: known, ...(silentBeside === undefined ? {} : { silentBeside }) };
  const record = (times: Pick<Switched, 'confirmedAtMs'>): Switched[] =>
    withEntry(state.switched, { step, method }, { ...sent, ...times });
  if (task.outcome === 'succeeded') {
    return move({ ...state, switched: record({ confirmedAtMs: facts.nowMs }) });
  }
  const switched = record({});
  const message = task.message ?? `${method.name} did not succeed`;
  const { refusedGrounds: refused } = facts;
  // What it rested on is not so any more: decided anew. What may not even be read is said, and counts as a failure in the end.
  if (task.outcome === 'dropped' && (refused === undefined || refused.forMs < refusedForMs)) {
    return move({ ...state, switched, ...(refused === undefined ? {} : { message }) });
  }
  if (state.retries < limits.retries) {
    const notBeforeMs = facts.nowMs + retryAfterMs;
    const anew = unconfirmed(switched, step);
    return move({ ...state, switched: anew, retries: state.retries + 1, method: 0, message, notBeforeMs });
  }
  const hasNext = state.level + 1 < levels.length;
  if (!hasNext) return fail({ ...state, switched }, facts, message);
  const notBeforeMs = facts.nowMs;
  // Part of the ways to a storage cuts nothing off: what a level that has failed has closed is to be opened again, and no proof (S40).
  const left = step === 'isolation' ? unconfirmed(switched, step) : switched;
  return move({ ...state, switched: left, level: state.level + 1, method: 0, retries: 0, message, notBeforeMs });
}

const mayStillCome = 'its device may still do what it was told: that is undone three minutes later';

type OnContext = Pick<FenceContext, 'facts' | 'limits'>;

/** One method after the other, whatever came of the one before: what one cannot switch on another may. */
export function switchOn(state: FenceState, { method, isQuestion }: Undo, { facts }: OnContext): Moved {
  const { task } = facts;
  const { notBeforeMs = 0 } = state;
  if (task === undefined && facts.nowMs < notBeforeMs) {
    // What its last try has come to is said otherwise.
    const isFirst = facts.isOfPredecessor === true && state.message === undefined;
    return { ...stay(state, notBeforeMs), ...(isFirst ? { waitsFor: mayStillCome } : {}) };
  }
  switch (task?.outcome) {
    case undefined:
    case 'running':
      return { kind: 'state', state, run: method, ...(isQuestion ? { isQuestion } : {}) };
    // Nothing was told, and nothing has failed: what keeps it is said, and its device is not asked without end.
    case 'dropped': {
      const message = task?.message ?? `${method.name} was not told`;
      return move({ ...state, message, notBeforeMs: facts.nowMs + retryAfterMs });
    }
    case 'succeeded':
      return state.phase === 'poweringOn' ? move({ ...state, method: state.method + 1 }) : isBackOn(state, method);
    case 'failed':
    case 'unknown': {
      const message = isQuestion ? notEnded(state, method) : (task?.message ?? `${method.name} did not succeed`);
      const missed = [...(state.missed ?? []), method.name];
      return move({ ...state, method: state.method + 1, missed, message });
    }
  }
}

/** It has not gone on, and was the last of so many. */
export function hasFailedLast({ state }: Moved, count: number): boolean {
  return state.missed !== undefined && state.method >= count;
}

/** What undoes itself leaves the list that is counted in. */
function isBackOn(state: FenceState, method: Method): Moved {
  const powered = seenOn(state, method);
  if (powered !== state) return move(powered);
  const switched = connected(state.switched, method);
  const isOwn = state.switched.some((one) => one.step === 'isolation' && one.method === method.name);
  return move({ ...state, switched, method: state.method + (isOwn ? 0 : 1) });
}

/** Nobody but a person can switch it on, and nobody has. */
function notEnded(state: FenceState, method: Method): string {
  const device = deviceHash(method);
  const cut = cutsOf(state.switched).find((one) => one.device === device);
  return cut === undefined ? notSwitchedOn(method) : notUndone(cut);
}

/** All were told: those that have failed are told again, so often as a step is tried. Undefined: none has. */
export function toldInVain(
  state: FenceState,
  undo: readonly Undo[],
  { facts, limits }: OnContext,
): Transition | undefined {
  const { missed, ...rest } = state;
  if (missed === undefined) return undefined;
  const message = state.message ?? `${missed.join(', ')} did not succeed`;
  const isTold = undo.some(({ method, isQuestion }) => missed.includes(method.name) && !isQuestion);
  if (isTold && state.retries < limits.retries) {
    return move({ ...rest, retries: state.retries + 1, method: 0, notBeforeMs: facts.nowMs + retryAfterMs });
  }
  return state.phase === 'poweringOn' ? onLater(rest, message, { facts, limits }) : fail(rest, facts, message);
}

/**
 * A machine that we have cut is not left off because its device fails: what holds cuts back does not hold this back. The tries
 * count like those of the whole fence, so that the ladder goes on; then they go on as well.
 */
function onLater(state: FenceState, message: string, { facts, limits }: OnContext): Transition {
  const isLast = state.restarts >= limits.restarts;
  const counted = isLast ? { isForGood: true } : { restarts: state.restarts + 1 };
  return move({ ...state, ...counted, method: 0, message, notBeforeMs: facts.nowMs + onAgainAfterMs });
}

export function hasEnded(task: TaskNews | undefined): task is TaskNews {
  return task !== undefined && task.outcome !== 'running';
}
