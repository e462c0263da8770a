/**
 * What happens next to a node in trouble, by the ladder of its policy and by the fence that the ladder calls for: from
 * what is known and stored alone. Whoever performs it stores the answer first, and runs the method then.
 */
import { isUnderFence } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { TaskOutcome } from '../api/release-view.ts';
import type { FenceContext, FenceFacts, FenceLimits, FenceState } from './automaton.ts';
import { beginFence, isSettled, transition } from './automaton.ts';
import type { ConfigResult, FenceConfig, Method } from '../api/fence-config.ts';
import type { StoredFence } from './stored.ts';
import { stateOf, storedOf } from './stored.ts';

export interface FenceCase {
  nowMs: number;
  status: NodeFenceStatus | undefined;
  /** The ladder calls for a fence just now. */
  isWanted: boolean;
  cleanResources: boolean;
  bootId: string;
  config: ConfigResult;
  limits: FenceLimits;
  task?: { outcome: TaskOutcome; message?: string };
  isBack: boolean;
  onAgain?: string | undefined;
  dumpUntilMs?: number | undefined;
  isReleased: boolean;
  isStopped: boolean;
  /** Why nothing may be begun. */
  brake?: FenceHold;
}

export interface FenceHold {
  reason: string;
  message: string;
  recheckAtMs?: number;
}

export interface FenceDecision {
  /** Absent: there is none, or it was cancelled. */
  fence?: StoredFence;
  run?: Method;
  /** Why it does not go on although its time has come. */
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
  const first = before === undefined ? beginFence(fenceCase.nowMs, fenceCase.bootId) : stateOf(before);
  const facts = factsOf(fenceCase);
  let state = first;
  let decided: FenceDecision = { isCancelled: false };
  for (let moves = 0; ; moves += 1) {
    if (moves > maxMoves) throw new Error(`the fence goes round in circles in phase ${state.phase}`);
    // The answer of a method counts once, for the state that it was asked in.
    const context = { facts: state === first ? facts : withoutTask(facts), config, limits: fenceCase.limits };
    const moved = transition(state, context);
    if (moved.kind === 'cancelled') return { isCancelled: true };
    const { run, recheckAtMs } = moved;
    decided = {
      isCancelled: false,
      ...(run === undefined ? {} : { run }),
      ...(recheckAtMs === undefined ? {} : { recheckAtMs }),
    };
    if (moved.state === state) break;
    state = moved.state;
  }
  const fence = stored(state, fenceCase, config);
  const hold =
    fenceCase.brake !== undefined && isHeldBack(state, { facts, config, limits: fenceCase.limits })
      ? fenceCase.brake
      : undefined;
  return { ...decided, fence, ...(hold === undefined ? {} : { hold }) };
}

/** It has done nothing that cannot be taken back, and has not ended. */
function canBeCancelled({ phase, irrevocableSince }: StoredFence): boolean {
  return irrevocableSince === undefined && phase !== 'failed' && phase !== 'finished';
}

function stored(state: FenceState, fenceCase: FenceCase, config: FenceConfig): StoredFence {
  const { nowMs, status } = fenceCase;
  const cleanResources = status?.fence?.cleanResources ?? fenceCase.cleanResources;
  return storedOf(state, { before: status?.fence, config, cleanResources, nowMs });
}

/** Whether it would go on without the brake. */
function isHeldBack(state: FenceState, context: FenceContext): boolean {
  const free = transition(state, { ...context, facts: { ...withoutTask(context.facts), isBraked: false } });
  return free.kind === 'state' && free.state !== state;
}

function factsOf(fenceCase: FenceCase): FenceFacts {
  return {
    nowMs: fenceCase.nowMs,
    isBack: fenceCase.isBack,
    bootId: fenceCase.bootId,
    onAgain: fenceCase.onAgain,
    isReleased: fenceCase.isReleased,
    ...(fenceCase.dumpUntilMs === undefined ? {} : { dumpUntilMs: fenceCase.dumpUntilMs }),
    isStopped: fenceCase.isStopped,
    isBraked: fenceCase.brake !== undefined,
    ...(fenceCase.task === undefined ? {} : { task: fenceCase.task }),
  };
}

function withoutTask(facts: FenceFacts): FenceFacts {
  const rest = { ...facts };
  delete rest.task;
  return rest;
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
  const { status, nowMs, bootId } = fenceCase;
  const empty: FenceConfig = { isolation: [], powerManagement: [], recovery: [] };
  if (fenceCase.isBack && status?.fence?.irrevocableSince === undefined) return { isCancelled: true };
  // What was begun waits where it is: a mistake in a ConfigMap must not leave a machine without power for good.
  if (status?.fence !== undefined && isUnderFence(status.fence)) {
    return { fence: { ...status.fence, message }, isCancelled: false };
  }
  const state = status?.fence === undefined ? beginFence(nowMs, bootId) : stateOf(status.fence);
  const failed = state.phase === 'failed' ? state : { ...state, phase: 'failed' as const, phaseStartedAtMs: nowMs };
  const fence = storedOf(
    { ...failed, message },
    { before: status?.fence, config: empty, cleanResources: fenceCase.cleanResources, nowMs },
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
