/**
 * The fence automaton: one pure transition function over the phases of a fence.
 *
 * Told by the words of NodeFence, `waiting` and `isolating` are new, `isolated` to `poweringOn` are running, `booting` and
 * `recovering` are done, then final; `failed` is error. A transition changes one thing at a time and says which method
 * has to run now. Whoever performs it stores the state first: a method never begins before its phase is on record, and
 * `begun` with it, from which on nothing is cancelled any more (S23).
 *
 * `off` is reached only when every method of the level was confirmed by a query after the action. It is the one phase
 * in which pods go on the strength of power, and nothing is switched on before they have (FEN-10).
 */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';
import type { TaskOutcome } from '../api/release-view.ts';

type StoredFence = NonNullable<NodeFenceStatus['fence']>;

export type Phase = StoredFence['phase'];

export interface FenceState {
  phase: Phase;
  /** Which level of the step, and which of its methods. */
  level: number;
  method: number;
  /** How often the present step was tried again, and the whole fence. */
  retries: number;
  restarts: number;
  startedAtMs: number;
  phaseStartedAtMs: number;
  /** The boot that the fence is about. */
  bootId: string;
  /** A method was begun whose effect has to be undone, or awaited. */
  begun: boolean;
  /** A failed method is not tried again before this. */
  notBeforeMs?: number;
  message?: string;
}

export interface FenceLimits {
  isolateAfterMs: number;
  powerManagementAfterMs: number;
  bootTimeoutMs: number;
  retries: number;
  restarts: number;
  /** The provider removes a machine that is off: it is not switched on again. */
  machineRemoved?: boolean;
}

export interface FenceFacts {
  nowMs: number;
  /** Ready, and its Lease was renewed since the fence began: Ready alone may be what Kubernetes has not noticed yet. */
  isBack: boolean;
  bootId: string;
  task?: { outcome: TaskOutcome; message?: string };
  /** Its device says on although it was confirmed off: somebody else has switched it on, and what it says. */
  onAgain?: string | undefined;
  /** A crashed kernel writes its memory down: its power stays on until then. */
  dumpUntilMs?: number;
  /** All that may go has gone. */
  isReleased: boolean;
  /** Nothing may be begun just now: a storm, or as many fences as may run, or nobody has approved. */
  isBraked: boolean;
  /** An administrator stopped the fence: nothing moves. */
  isStopped: boolean;
}

export type Transition =
  /** The node came back before anything was begun: there is no fence any more. */
  { kind: 'cancelled' } | { kind: 'state'; state: FenceState; run?: Method; recheckAtMs?: number };

export function beginFence(nowMs: number, bootId: string): FenceState {
  return {
    phase: 'waiting',
    level: 0,
    method: 0,
    retries: 0,
    restarts: 0,
    startedAtMs: nowMs,
    phaseStartedAtMs: nowMs,
    bootId,
    begun: false,
  };
}

/** A device that has just failed, or its network, may need a moment; so may a command that was only late. */
export const retryAfterMs = 10_000;

export interface FenceContext {
  facts: FenceFacts;
  config: FenceConfig;
  limits: FenceLimits;
}

/** Whether the fence is over, one way or the other, or begins nothing by itself any more. */
export function isSettled({ phase, restarts }: FenceState, limits: FenceLimits): boolean {
  return phase === 'finished' || (phase === 'failed' && restarts >= limits.restarts);
}

/** Changes nothing where nothing is due; asked again, it says the same. */
export function transition(state: FenceState, context: FenceContext): Transition {
  if (context.facts.isStopped) return stay(state);
  switch (state.phase) {
    case 'waiting':
      return waiting(state, context);
    case 'isolating':
      return runStep(state, context, { levels: context.config.isolation, side: 'off', next: 'isolated' });
    case 'isolated':
      return isolated(state, context);
    case 'poweringOff':
      return poweringOff(state, context);
    case 'off':
      return off(state, context);
    case 'poweringOn':
      return runStep(state, context, { levels: context.config.powerManagement, side: 'on', next: 'booting' });
    case 'booting':
      return booting(state, context);
    case 'recovering':
      return runStep(state, context, { levels: context.config.recovery, side: 'on', next: 'finished' });
    case 'finished':
      return stay(state);
    case 'failed':
      return failed(state, context);
  }
}

function waiting(state: FenceState, { facts, config, limits }: FenceContext): Transition {
  if (facts.isBack) return state.begun ? enter(state, 'recovering', facts) : { kind: 'cancelled' };
  const isolateAtMs = state.startedAtMs + limits.isolateAfterMs;
  const powerAtMs = state.startedAtMs + limits.powerManagementAfterMs;
  const isPowerFirst = powerAtMs < isolateAtMs;
  const dueAtMs = isPowerFirst ? Math.max(powerAtMs, facts.dumpUntilMs ?? 0) : isolateAtMs;
  if (facts.nowMs < dueAtMs) return stay(state, dueAtMs);
  if (facts.isBraked) return stay(state);
  if (isPowerFirst) return begin(state, 'poweringOff', facts);
  return config.isolation.length === 0 ? enter(state, 'isolated', facts) : begin(state, 'isolating', facts);
}

function isolated(state: FenceState, { facts, config, limits }: FenceContext): Transition {
  if (facts.isBack) return state.begun ? enter(state, 'recovering', facts) : { kind: 'cancelled' };
  if (config.powerManagement.length === 0) return stay(state);
  const powerAtMs = Math.max(state.startedAtMs + limits.powerManagementAfterMs, facts.dumpUntilMs ?? 0);
  if (facts.nowMs < powerAtMs) return stay(state, powerAtMs);
  return facts.isBraked ? stay(state) : begin(state, 'poweringOff', facts);
}

/** From here on the command may have reached the machine: only another boot proves that it is over. */
function poweringOff(state: FenceState, context: FenceContext): Transition {
  if (isRebooted(state, context.facts)) return enter(state, 'booting', context.facts);
  return runStep(state, context, { levels: context.config.powerManagement, side: 'off', next: 'off' });
}

function off(state: FenceState, { facts, config, limits }: FenceContext): Transition {
  if (isRebooted(state, facts)) return enter(state, 'booting', facts);
  // To cut it again would be a second time in the same fence (S20).
  if (facts.onAgain !== undefined) return fail(state, facts, facts.onAgain);
  if (!facts.isReleased) return stay(state);
  if (limits.machineRemoved === true) return enter(state, 'finished', facts);
  const level = config.powerManagement[state.level];
  // Nothing says how to switch it on: it stays off until somebody does.
  return level === undefined || level.on.length === 0 ? stay(state) : begin(state, 'poweringOn', facts, state.level);
}

function booting(state: FenceState, { facts, limits }: FenceContext): Transition {
  // Ready may be what Kubernetes has not noticed yet, and a Lease as old as the power cut.
  if (facts.isBack && isRebooted(state, facts)) return enter(state, 'recovering', facts);
  const untilMs = state.phaseStartedAtMs + limits.bootTimeoutMs;
  return facts.nowMs < untilMs ? stay(state, untilMs) : fail(state, facts, 'the node was not Ready in time');
}

/** A fence in error begins anew, so often as it may; then it stays until somebody acts, or the node is back rebooted. */
function failed(state: FenceState, { facts, limits }: FenceContext): Transition {
  if (facts.isBack && isRebooted(state, facts)) return enter({ ...state, bootId: facts.bootId }, 'recovering', facts);
  if (state.restarts >= limits.restarts || facts.isBraked) return stay(state);
  const { message: _, ...again } = state;
  const fresh = { ...again, retries: 0, level: 0, method: 0, restarts: state.restarts + 1, startedAtMs: facts.nowMs };
  return enter({ ...fresh, bootId: facts.bootId }, 'waiting', facts);
}

interface StepPlan {
  levels: readonly Level[];
  side: 'off' | 'on';
  next: Phase;
}

/** One method after the other; a failure is tried again, then the next level, then it is an error. */
function runStep(state: FenceState, { facts, limits }: FenceContext, plan: StepPlan): Transition {
  const methods = plan.levels[state.level]?.[plan.side] ?? [];
  const method = methods[state.method];
  if (method === undefined) return enter(state, plan.next, facts, state.level);
  const { notBeforeMs = 0 } = state;
  if (facts.task === undefined && facts.nowMs < notBeforeMs) return stay(state, notBeforeMs);
  switch (facts.task?.outcome) {
    case undefined:
    case 'running':
      return { kind: 'state', state, run: method };
    case 'succeeded':
      return move({ ...state, method: state.method + 1 });
    case 'failed':
    case 'unknown':
      return tryAgain(state, plan, { facts, limits, method });
  }
}

function tryAgain(
  state: FenceState,
  plan: StepPlan,
  { facts, limits, method }: { facts: FenceFacts; limits: FenceLimits; method: Method },
): Transition {
  const message = facts.task?.message ?? `${method.name} did not succeed`;
  const notBeforeMs = facts.nowMs + retryAfterMs;
  if (state.retries < limits.retries) {
    return move({ ...state, retries: state.retries + 1, method: 0, message, notBeforeMs });
  }
  // What was switched off by a level is switched on by the same one.
  const hasNext = plan.side === 'off' && state.level + 1 < plan.levels.length;
  if (hasNext) return move({ ...state, level: state.level + 1, method: 0, retries: 0, message });
  return fail(state, facts, message);
}

function isRebooted(state: FenceState, facts: FenceFacts): boolean {
  return facts.bootId !== '' && facts.bootId !== state.bootId;
}

function fail(state: FenceState, facts: FenceFacts, message: string): Transition {
  return move({ ...state, phase: 'failed', phaseStartedAtMs: facts.nowMs, message });
}

/** A phase whose first method takes effect on the world. */
function begin(state: FenceState, phase: Phase, facts: FenceFacts, level = 0): Transition {
  return enter({ ...state, begun: true }, phase, facts, level);
}

function enter(state: FenceState, phase: Phase, facts: FenceFacts, level = 0): Transition {
  const { notBeforeMs: _, ...rest } = state;
  return move({ ...rest, phase, level, method: 0, retries: 0, phaseStartedAtMs: facts.nowMs });
}

function move(state: FenceState): Transition {
  return { kind: 'state', state };
}

function stay(state: FenceState, recheckAtMs?: number): Transition {
  return recheckAtMs === undefined ? { kind: 'state', state } : { kind: 'state', state, recheckAtMs };
}
