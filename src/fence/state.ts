/** A fence as its automaton sees it, and the moves that all of its phases are made of. */
import type { Darkness } from '../api/beside.ts';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { Refused, Unconfirmed } from '../api/power.ts';
import type { TaskOutcome } from '../api/task.ts';
import type { Planned } from './planned.ts';
import type { Switched, WasCut } from './switched.ts';

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
  /** The Node object that the fence was begun for; absent: an earlier version has begun it. */
  nodeUid?: string | undefined;
  /** The record that it was begun in; absent: that was made with it, or an earlier version has begun it. */
  recordUid?: string | undefined;
  /** The boot that the fence is about. */
  bootId: string;
  /** What was switched off, and not on again. */
  switched: readonly Switched[];
  /** What it was to switch off, as it was configured when it began. */
  planned?: readonly Planned[] | undefined;
  /** By which devices it may have switched the machine off before it was begun anew; it has not been seen on since. */
  told?: readonly string[] | undefined;
  /** Feeds that it has told, and that nobody can tell any more to go on: the machine may run without them. */
  lost?: readonly { method: string; device: string }[] | undefined;
  /** What it has cut before, and has seen on since. */
  wasCut?: WasCut | undefined;
  /** How often it was found off while it should boot, and was switched on once more. */
  offAgain?: number | undefined;
  /** How many other nodes there were, where its devices cannot say whose power it is. */
  others?: { count: number; atMs: number; young?: readonly string[] };
  /** The step that has failed, of a fence in error. */
  failedIn?: StoredFence['step'];
  /** What did not go on when it was told last, by the names of the methods; the others were told all the same. */
  missed?: readonly string[] | undefined;
  /** A failed method is not tried again before this. */
  notBeforeMs?: number;
  /** Who fell silent when this one was cut. */
  swapped?: readonly string[] | undefined;
  /** Its devices had confirmed that it was off, and it has reported from the same boot since: what that means. */
  neverOff?: string | undefined;
  /** What has cut it off from its storage does not say so any more: nothing goes by it. */
  isUnconfirmed?: boolean | undefined;
  /** It has failed, and is not begun anew: nothing would come of it. A machine that is to go on is tried all the same. */
  isForGood?: boolean | undefined;
  message?: string;
}

/** So long the API server has to refuse something before it is taken for its last word. */
export const refusedForMs = 60_000;

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
  /**
   * Ready, its Lease is renewed, and the trouble that the fence is for is over. Ready alone may be what Kubernetes has not
   * noticed yet.
   */
  isBack: boolean;
  /** It is Ready and renews its Lease, and until when its fence goes on all the same. */
  wantedStill?: string | undefined;
  /** Nothing of before can write there any more: what was cut off may be connected again (SAF-4). */
  isHarmless: boolean;
  /** It is not, and nothing but another boot will show that it is. */
  needsReboot?: boolean | undefined;
  bootId: string;
  /** By when its kubelet was last heard of, at the latest; absent: nobody knows. */
  heardMs?: number | undefined;
  task?: TaskNews;
  /** Its device says on although it was confirmed off: somebody else has switched it on, and what it says. */
  onAgain?: string | undefined;
  /** It was confirmed off, or cut off, and right before its pods go its device does not say so any more. */
  unconfirmed?: Unconfirmed | undefined;
  /** Nothing goes at the API server of what was decided. `isReliedOn`: others have been told that it is off, or detach by that. */
  refused?: (Refused & { isReliedOn: boolean }) | undefined;
  /** It refuses to say what the present try rests on. */
  refusedGrounds?: Refused | undefined;
  /** It was confirmed off, and its kubelet has long gone on renewing: it was never off. */
  isAliveSince: boolean;
  /** It is back in the boot in which its devices had confirmed that it was off, and what that means; absent: it is not. */
  neverOff?: string | undefined;
  /** Nothing was told, nothing has gone, and its kubelet has renewed since its devices said on: it is as it was. */
  isUnharmed?: boolean | undefined;
  /** Whether it was the right machine that went dark; absent: it was. */
  darkness?: Darkness | undefined;
  /** Who is silent beside it, where its devices cannot say whose power it is. */
  silentBeside?: readonly string[] | undefined;
  /** A crashed kernel writes its memory down: its power stays on until then. */
  dumpUntilMs?: number;
  /** All that may go has gone. */
  isReleased: boolean;
  /** Our taint still says that nothing runs there: nothing is switched on under it (S5). */
  isOutOfService?: boolean | undefined;
  /** Why it is not switched on if it was found off; absent: it is. */
  staysOff?: string | undefined;
  /** Because somebody has said that the machine is theirs, and may have their hands in it. */
  isTheirs?: boolean | undefined;
  /** Since when its devices have said off, with nothing told by us. */
  foundOffMs?: number | undefined;
  /** Something would be freed by cutting it. */
  isWorthIt: boolean;
  /** Its first devices say that its power is off, and are believed: nothing is cut, and no brake holds that back (STM-1). */
  isFoundOff: boolean;
  /** Nothing may be begun just now: a storm, or as many fences as may run, or nobody has approved. */
  isBraked: boolean;
  /** The trouble that it is for goes on, or a person asks for it. */
  isCalledFor: boolean;
  /** Whether it goes on is not known yet: whoever leads by now has neither seen the node renew nor missed it for long enough. */
  isUnsettled?: boolean | undefined;
  /** It was begun for an earlier Node object of this name: what it has cut is the machine's, and nothing else is. */
  isOfPredecessor?: boolean | undefined;
  /** Commands that were on record before: all but the one that this process has recorded itself and not sent. */
  mayBeTold: readonly string[];
  /** An administrator stopped the fence: nothing moves. */
  isStopped: boolean;
  /** It was so until now. Meanwhile its machine has booted, and its kubelet is silent again. */
  isLostAgain?: boolean | undefined;
  /** The policy was paused: nothing more is switched off or released, and what was switched off is switched on (SAF-12). */
  isPaused: boolean;
}

/** How a try is doing, or has ended. `told`: a command may have gone out, in it or in an earlier one; absent: nobody knows. */
export interface TaskNews {
  outcome: TaskOutcome | 'dropped';
  message?: string;
  told?: boolean;
  onAgain?: string;
}

export type Transition =
  /** The node came back before anything was switched: there is no fence any more. */
  | { kind: 'cancelled' }
  | { kind: 'state'; state: FenceState; run?: Method; isQuestion?: boolean; recheckAtMs?: number; waitsFor?: string };

/** There is a fence still. */
export type Moved = Extract<Transition, { kind: 'state' }>;

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
    switched: [],
  };
}

export interface FenceContext {
  facts: FenceFacts;
  config: FenceConfig;
  limits: FenceLimits;
}

/** Whether the fence is over, one way or the other, or begins nothing by itself any more. */
export function isSettled(state: FenceState, limits: FenceLimits): boolean {
  return state.phase === 'finished' || hasFailedForGood(state, limits);
}

/** As it is in the automaton, and as it is stored. */
export function hasFailedForGood(
  fence: Pick<FenceState, 'phase' | 'restarts' | 'isForGood' | 'swapped' | 'neverOff'>,
  limits: Pick<FenceLimits, 'restarts'>,
): boolean {
  const { phase, restarts, isForGood, swapped, neverOff } = fence;
  if (isForGood === true) return true;
  return phase === 'failed' && (swapped !== undefined || neverOff !== undefined || restarts >= limits.restarts);
}

/** The node is back: what was switched is undone, or there never was a fence. That its devices are wrong is not forgotten. */
export function comeBack(state: FenceState, facts: FenceFacts): Transition {
  const isTouched = state.switched.length > 0 || state.told !== undefined || state.lost !== undefined;
  if (!isTouched && state.neverOff !== undefined) return fail(state, facts, state.neverOff);
  return isTouched ? enter(state, 'recovering', facts) : { kind: 'cancelled' };
}

export function isRebooted(state: FenceState, facts: FenceFacts): boolean {
  return facts.bootId !== '' && facts.bootId !== state.bootId;
}

/** The boot that was waited for has come: the node is back in another one, or was while the fence stood still. */
export function hasBooted(state: FenceState, facts: FenceFacts): boolean {
  return isRebooted(state, facts) && (facts.isBack || facts.isLostAgain === true);
}

const stepOf: Partial<Record<Phase, StoredFence['step']>> = {
  waiting: 'isolation',
  isolating: 'isolation',
  isolated: 'isolation',
  recovering: 'recovery',
};

export function fail(state: FenceState, facts: FenceFacts, message: string): Transition {
  const failedIn = stepOf[state.phase] ?? 'power-management';
  const { missed: _, isUnconfirmed: __, ...rest } = state;
  return move({ ...rest, phase: 'failed', failedIn, phaseStartedAtMs: facts.nowMs, message });
}

export function enter(state: FenceState, phase: Phase, facts: FenceFacts, level = 0): Transition {
  const { notBeforeMs: _, failedIn: __, isForGood: ___, missed: ____, isUnconfirmed: _____, ...rest } = state;
  return move({ ...rest, phase, level, method: 0, retries: 0, phaseStartedAtMs: facts.nowMs });
}

export function move(state: FenceState): Moved {
  return { kind: 'state', state };
}

export function stay(state: FenceState, recheckAtMs?: number): Moved {
  return recheckAtMs === undefined ? { kind: 'state', state } : { kind: 'state', state, recheckAtMs };
}
