/**
 * What happens next to a node in trouble, by the ladder of its policy and by the fence that the ladder calls for: from
 * what is known and stored alone. Whoever performs it stores the answer first, and runs the method then.
 */
import { hasCut, isUnderFence, timeOf } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { isStormHold } from '../api/storm-sign.ts';
import { transition } from './automaton.ts';
import { finish } from './booting.ts';
import type { TaskSign } from '../api/task.ts';
import { commandKey } from '../api/task.ts';
import { placed, tryKey, underWay } from './place.ts';
import type { FenceContext, FenceFacts, FenceLimits, FenceState, TaskNews } from './state.ts';
import { planOf } from './planned.ts';
import { beginFence, fail, isRebooted, isSettled } from './state.ts';
import type { ConfigResult, FenceConfig, Method } from '../api/fence-config.ts';
import type { StoredFence } from './stored.ts';
import { stateOf, storedOf } from './stored.ts';
import { carried, cutsOf, leftOff, lostOf, undone } from './switched.ts';

export interface FenceCase {
  nowMs: number;
  status: NodeFenceStatus | undefined;
  /** A fence that has ended, and may have left something cut off. */
  earlier?: StoredFence;
  /** The ladder calls for a fence just now. */
  isWanted: boolean;
  /** What the ladder is for goes on, or a person asks for it. */
  isCalledFor: boolean;
  /** Nobody knows that yet. */
  isUnsettled?: boolean;
  /** The command that this process has recorded, and not sent. */
  unsent?: string | undefined;
  cleanResources: boolean;
  /** Of the Node object that there is; absent: there is none. */
  nodeUid?: string;
  /** Of the record that there is; absent: it is made with what is decided. */
  recordUid?: string | undefined;
  bootId: string;
  heardMs?: number | undefined;
  config: ConfigResult;
  limits: FenceLimits;
  /** What was begun last, for whatever it was. */
  task?: TaskSign | undefined;
  isBack: boolean;
  wantedStill?: string | undefined;
  isHarmless: boolean;
  needsReboot?: boolean | undefined;
  onAgain?: string | undefined;
  unconfirmed?: FenceFacts['unconfirmed'];
  refused?: FenceFacts['refused'];
  refusedGrounds?: FenceFacts['refusedGrounds'];
  isAliveSince: boolean;
  neverOff?: string | undefined;
  isUnharmed?: boolean;
  darkness?: FenceFacts['darkness'];
  silentBeside?: FenceFacts['silentBeside'];
  /** How many other nodes there are, where its devices cannot say whose power it is. */
  others?: number | undefined;
  /** And which of them times do not tell from later ones. */
  youngOthers?: readonly string[] | undefined;
  dumpUntilMs?: number | undefined;
  isReleased: boolean;
  isOutOfService?: boolean;
  staysOff?: string | undefined;
  /** Because somebody has said that the machine is theirs. */
  isTheirs?: boolean | undefined;
  /** Since when its devices have said off, with nothing told by us. */
  foundOffMs?: number | undefined;
  isWorthIt: boolean;
  isFoundOff: boolean;
  isOfPredecessor?: boolean;
  isStopped: boolean;
  isLostAgain?: boolean;
  isPaused: boolean;
  /** Why nothing may be begun. */
  brake?: FenceHold;
}

export interface FenceHold {
  reason: string;
  message: string;
  recheckAtMs?: number;
  untilMs?: number;
}

export interface FenceDecision {
  /** Absent: there is none, or it was cancelled. */
  fence?: StoredFence;
  run?: Method;
  /** Its device is only asked, and not told anything. */
  isQuestion?: boolean;
  /** Why it does not go on although its time has come, or would not if that had. */
  hold?: FenceHold;
  isCancelled: boolean;
  recheckAtMs?: number;
}

/** More transitions than phases follow from one look only if the automaton goes round in circles. */
const maxMoves = 20;

export function decideFence(fenceCase: FenceCase): FenceDecision {
  const before = fenceCase.status?.fence;
  if (before === undefined && !fenceCase.isWanted) return { isCancelled: false };
  // Its policy was withdrawn or says otherwise now, and nothing was begun.
  if (before !== undefined && !fenceCase.isWanted && canBeCancelled(before)) return { isCancelled: true };
  if (!fenceCase.config.ok) return unconfigured(fenceCase, fenceCase.config.problems);
  const { config } = fenceCase.config;
  const known = before === undefined ? begun(fenceCase) : placed(stateOf(before), config, before);
  const first = planning(counted(known, fenceCase), config);
  const facts = factsOf(fenceCase, newsOf(fenceCase, first, config));
  let state = first;
  let decided: FenceDecision = { isCancelled: false };
  let waitsFor: string | undefined;
  for (let moves = 0; ; moves += 1) {
    if (moves > maxMoves) throw new Error(`the fence goes round in circles in phase ${state.phase}`);
    // The answer of a method counts once, for the state that it was asked in.
    const context = { facts: state === first ? facts : withoutTask(facts), config, limits: fenceCase.limits };
    const moved = transition(state, context);
    if (moved.kind === 'cancelled') return { isCancelled: true };
    const { run, isQuestion, recheckAtMs } = moved;
    waitsFor = moved.waitsFor;
    decided = {
      isCancelled: false,
      ...(run === undefined ? {} : { run }),
      ...(isQuestion === undefined ? {} : { isQuestion }),
      ...(recheckAtMs === undefined ? {} : { recheckAtMs }),
    };
    if (moved.state === state) break;
    state = moved.state;
  }
  const fence = { ...stored(state, fenceCase, config), ...(waitsFor === undefined ? {} : { waitsFor }) };
  const isHeld = isInStorm(state, fenceCase) || isHeldBack(state, { facts, config, limits: fenceCase.limits }, decided);
  const hold = isHeld ? fenceCase.brake : undefined;
  return { ...decided, fence, ...(hold === undefined ? {} : { hold }) };
}

function begun({ nowMs, nodeUid, recordUid, bootId, earlier }: FenceCase): FenceState {
  const state = { ...beginFence(nowMs, bootId), nodeUid, recordUid };
  if (earlier === undefined) return state;
  const { offAgain, planned, ...known } = stateOf(earlier);
  return {
    ...state,
    ...carried(known),
    ...(offAgain === undefined ? {} : { offAgain }),
    ...(known.bootId === bootId ? { planned } : {}),
  };
}

/** Once, and for as long as it is about the same boot: an edit may add to what has to be off, and take nothing from it. */
function planning(state: FenceState, config: FenceConfig): FenceState {
  if (state.planned !== undefined || !isCutting.has(state.phase)) return state;
  const planned = planOf(config);
  return planned.length === 0 ? state : { ...state, planned };
}

const isCutting: ReadonlySet<FenceState['phase']> = new Set(['waiting', 'isolating', 'isolated', 'poweringOff', 'off']);

/** Once, and for as long as the fence lasts: who is missing later was there then. */
function counted(state: FenceState, { others, youngOthers: young = [], nowMs }: FenceCase): FenceState {
  if (others === undefined || state.others !== undefined) return state;
  return { ...state, others: { count: others, atMs: nowMs, young } };
}

/** It has switched nothing, and has not ended, or failed before it was found off. */
function canBeCancelled(fence: StoredFence): boolean {
  return fence.isForGood !== true && !isUnderFence(fence) && fence.phase !== 'failed' && fence.phase !== 'finished';
}

/** It was begun anew, and nobody wants it any more: what an earlier try may have switched off is switched on, and no more. */
function isWithdrawn({ status, isWanted }: FenceCase): boolean {
  const fence = status?.fence;
  const isTold = fence?.told !== undefined || fence?.lost !== undefined;
  return !isWanted && isTold && beforePower.has(fence.phase);
}

const beforePower: ReadonlySet<string> = new Set(['waiting', 'isolated']);

function stored(state: FenceState, fenceCase: FenceCase, config: FenceConfig): StoredFence {
  const { nowMs, status } = fenceCase;
  const before = status?.fence;
  const cleanResources = before?.cleanResources ?? fenceCase.cleanResources;
  const isSamePhase = before?.phase === state.phase && before.stepStartedAt === timeOf(state.phaseStartedAtMs);
  const since = (isSamePhase ? before.releasedAt : undefined) ?? timeOf(nowMs);
  return storedOf(state, {
    config,
    cleanResources,
    ...(fenceCase.isReleased && isSamePhase ? { releasedAt: since } : {}),
  });
}

/**
 * A storm holds it back from its beginning, while its time runs: whoever asks meanwhile is told so, and thousands that are in one need not
 * wait for that to be known of some of them. Not one that looks like a storm until everybody is judged, which is in a moment.
 */
function isInStorm({ phase, told, lost }: FenceState, { brake }: FenceCase): boolean {
  if (phase !== 'waiting' || told !== undefined || lost !== undefined) return false;
  return brake !== undefined && isStormHold(brake.reason) && brake.recheckAtMs === undefined;
}

/** Whether it would go on without the brake. A try that goes on is not held back, whatever holds the next one. */
function isHeldBack(state: FenceState, context: FenceContext, { run }: FenceDecision): boolean {
  if (context.facts.task?.outcome === 'running') return false;
  const free = transition(state, { ...context, facts: { ...withoutTask(context.facts), isBraked: false } });
  return free.kind === 'state' && (free.state !== state || free.run !== undefined) && run === undefined;
}

/** How the try is doing that this state is about. */
function newsOf({ task }: FenceCase, state: FenceState, config: FenceConfig): TaskNews | undefined {
  const method = underWay(state, config);
  if (method === undefined || task?.key !== tryKey(state, method)) return undefined;
  // It may have ended long before it is heard: nothing is stored by a word that was not the last (S40).
  const { onAgain } = task;
  return onAgain === undefined ? task : { ...task, outcome: 'unknown', message: onAgain };
}

function factsOf(fenceCase: FenceCase, task: TaskNews | undefined): FenceFacts {
  return {
    nowMs: fenceCase.nowMs,
    isBack: fenceCase.isBack,
    wantedStill: fenceCase.wantedStill,
    isHarmless: fenceCase.isHarmless,
    needsReboot: fenceCase.needsReboot,
    bootId: fenceCase.bootId,
    heardMs: fenceCase.heardMs,
    onAgain: fenceCase.onAgain,
    unconfirmed: fenceCase.unconfirmed,
    refused: fenceCase.refused,
    refusedGrounds: fenceCase.refusedGrounds,
    isAliveSince: fenceCase.isAliveSince,
    neverOff: fenceCase.neverOff,
    isUnharmed: fenceCase.isUnharmed,
    darkness: fenceCase.darkness,
    silentBeside: fenceCase.silentBeside,
    isReleased: fenceCase.isReleased,
    isOutOfService: fenceCase.isOutOfService,
    staysOff: fenceCase.staysOff,
    isTheirs: fenceCase.isTheirs,
    foundOffMs: fenceCase.foundOffMs,
    isWorthIt: fenceCase.isWorthIt,
    ...(fenceCase.dumpUntilMs === undefined ? {} : { dumpUntilMs: fenceCase.dumpUntilMs }),
    isFoundOff: fenceCase.isFoundOff,
    isStopped: fenceCase.isStopped,
    isLostAgain: fenceCase.isLostAgain,
    isPaused: fenceCase.isPaused || isWithdrawn(fenceCase),
    isBraked: fenceCase.brake !== undefined,
    isCalledFor: fenceCase.isCalledFor,
    isUnsettled: fenceCase.isUnsettled,
    isOfPredecessor: fenceCase.isOfPredecessor,
    mayBeTold: commandsOf(fenceCase.status?.fence).filter((command) => command !== fenceCase.unsent),
    ...(task === undefined ? {} : { task }),
  };
}

function commandsOf(fence: StoredFence | undefined): string[] {
  return (fence?.switched ?? []).flatMap(({ method, commandSentAt: at }) =>
    at === undefined ? [] : [commandKey(method, at)],
  );
}

function withoutTask(facts: FenceFacts): FenceFacts {
  const rest = { ...facts };
  delete rest.task;
  return rest;
}

/** Its machine is back in another boot, and nothing else is cut: no configuration is needed for what is left to be done. */
function backByItself(fenceCase: FenceCase, config: FenceConfig): StoredFence | undefined {
  const before = fenceCase.status?.fence;
  if (before === undefined || !fenceCase.isBack || before.swapped !== undefined) return undefined;
  const state = stateOf(before);
  const facts = factsOf(fenceCase, undefined);
  if (!isRebooted(state, facts) || cutsOf(state.switched).length > 0) return undefined;
  // It may run by one of several, and nobody can be asked by which.
  const left = leftOff({ ...state, bootId: facts.bootId }, config, true);
  const lost = lostOf(left, config);
  const moved = lost === undefined ? finish(undone(state), facts) : fail(left, facts, lost);
  return moved.kind === 'state' ? stored(moved.state, fenceCase, config) : undefined;
}

/** Nothing can be done, and nothing is concluded from that: it is an error for a person to mend. */
function unconfigured(
  fenceCase: FenceCase,
  problems: readonly { file: string; key: string; reason: string }[],
): FenceDecision {
  const message = problems
    .map(({ file, key, reason }) => `${file} ${key}: ${reason}`)
    .join('; ')
    .slice(0, 1024);
  const { status, nowMs } = fenceCase;
  const empty: FenceConfig = { isolation: [], powerManagement: [], recovery: [] };
  const isTouched = isUnderFence(status?.fence) || hasCut(status?.fence) || (status?.fence?.switched ?? []).length > 0;
  if (fenceCase.isBack && !isTouched) return { isCancelled: true };
  const over = backByItself(fenceCase, empty);
  if (over !== undefined) return { fence: over, isCancelled: false };
  // What was begun waits where it is: a mistake in a ConfigMap must not leave a machine without power for good.
  if (status?.fence !== undefined && isUnderFence(status.fence)) {
    return { fence: { ...status.fence, waitsFor: message }, isCancelled: false };
  }
  const state = status?.fence === undefined ? begun(fenceCase) : stateOf(status.fence);
  const lost = (state.lost ?? []).length === 0 ? [] : [lostOf(state, empty)];
  const isKnown = state.phase === 'failed';
  const failed = isKnown
    ? state
    : { ...state, phase: 'failed' as const, failedIn: 'isolation' as const, phaseStartedAtMs: nowMs };
  const fence = storedOf(
    { ...failed, message: [message, ...lost].join('; ') },
    { config: empty, cleanResources: fenceCase.cleanResources },
  );
  return { fence, isCancelled: false };
}

/** The remedy of the ladder, as its fence is doing. */
export function fenceOutcome(
  { fence, isCancelled }: FenceDecision,
  limits: FenceLimits,
): 'running' | 'succeeded' | 'failed' {
  if (isCancelled) return 'succeeded';
  if (fence === undefined) return 'running';
  if (fence.phase === 'finished') return 'succeeded';
  return isSettled(stateOf(fence), limits) ? 'failed' : 'running';
}
