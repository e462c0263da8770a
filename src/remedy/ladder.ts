/**
 * The ladder: what counts as trouble, which remedy is on, how long it is waited for, and when the next one is due (REM-1,
 * REM-4). Pure: it says which remedy has to run; how it ends is told to it.
 */
import { isStatus, timeOf } from '../api/facts.ts';
import { silentAfterMs } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, TroubleFacts } from '../api/release-view.ts';

export type LadderState = NodeFenceStatus['ladders'][number];

/** Eight times as long, and not longer: the node may really be dead this time. */
const maxDoublings = 3;

/** How the remedy that the ladder names is doing. `revocable`: nothing was begun yet that has to be brought to its end. */
export type RemedyOutcome = 'revocable' | 'running' | 'succeeded' | 'failed';

export interface LadderFacts extends TroubleFacts {
  nowMs: number;
  outcome: RemedyOutcome;
  /** Its machine is found off: the rung whose fence finds so for good, and which no earlier one can help any more (EVD-2). */
  offRung?: number | undefined;
}

export interface LadderDecision {
  /** Absent: there is no trouble, or the last of it is over. */
  ladder?: LadderState;
  /** Which remedy has to be running now. */
  remedy?: string;
  recheckAtMs?: number;
}

/** A policy cannot call silent what need not have renewed its Lease yet. */
function staleAfterMs({ staleForMs }: { staleForMs: number }, { leaseDurationMs }: TroubleFacts): number {
  return silentAfterMs({ durationMs: leaseDurationMs }, staleForMs);
}

/** One rung, reached once. */
export function keyOf({ threshold, position, phase, startedAt }: LadderState): string {
  return `${threshold} ${phase === 'recovering' ? 'recovery' : 'rung'} ${position} ${startedAt}`;
}

export function thresholdMet({ condition, lease }: LadderThreshold, facts: TroubleFacts): boolean {
  if (lease !== undefined)
    return facts.leaseSilentMs !== undefined && facts.leaseSilentMs >= staleAfterMs(lease, facts);
  if (condition === undefined) return false;
  const seen = facts.conditions.find(({ type }) => type === condition.type);
  return seen !== undefined && isStatus(seen.status, condition.status) && seen.forMs >= condition.forMs;
}

/** The same without the time: whether the trouble that started the ladder goes on. */
export function isTroubled({ condition, lease }: LadderThreshold, facts: TroubleFacts): boolean {
  if (condition === undefined) return thresholdMet({ key: '', lease, remedies: [], recovery: [] }, facts);
  const seen = facts.conditions.find(({ type }) => type === condition.type);
  return seen !== undefined && isStatus(seen.status, condition.status);
}

/** Trouble that keeps going away and coming back is given longer to go away by itself, each time twice as long (REM-6). */
export function afterFlaps(thresholds: readonly LadderThreshold[], flaps: number): LadderThreshold[] {
  const factor = 2 ** Math.min(flaps, maxDoublings);
  return thresholds.map(({ condition, lease, ...rest }) => ({
    ...rest,
    condition: condition && { ...condition, forMs: condition.forMs * factor },
    lease: lease && { ...lease, staleForMs: lease.staleForMs * factor },
  }));
}

/** How long trouble has to stay away until its incident is over: what comes back sooner is the same. */
export function flapWindowMs(thresholds: readonly LadderThreshold[]): number {
  return Math.max(0, ...thresholds.flatMap(({ remedies }) => remedies.map(({ periodMs }) => periodMs)));
}

/** When the first threshold will be met if nothing changes. */
export function nextDueMs(thresholds: readonly LadderThreshold[], facts: TroubleFacts): number | undefined {
  const waits = thresholds.flatMap((threshold) => {
    const { condition, lease } = threshold;
    if (lease !== undefined && facts.leaseSilentMs !== undefined)
      return [staleAfterMs(lease, facts) - facts.leaseSilentMs];
    const seen = facts.conditions.find(({ type }) => type === condition?.type);
    const isBad = condition !== undefined && seen !== undefined && isStatus(seen.status, condition.status);
    return isBad ? [condition.forMs - seen.forMs] : [];
  });
  const due = waits.filter((ms) => ms > 0);
  return due.length === 0 ? undefined : Math.min(...due);
}

/** One ladder, as if there were no other. */
export function climb(state: LadderState | undefined, threshold: LadderThreshold, facts: LadderFacts): LadderDecision {
  // The policy was edited, or another one is in force, and this rung is no more: what stands on the node is undone by its
  // return, and trouble that goes on begins the ladder that there is.
  if (state === undefined || !hasRung(threshold, state)) {
    if (facts.offRung !== undefined) return onOffRung(threshold, facts.offRung, facts);
    return thresholdMet(threshold, facts) ? onRung(threshold, 0, facts) : {};
  }
  const isFree = state.phase === 'waiting' || (state.phase === 'running' && facts.outcome === 'revocable');
  if (isFree && facts.offRung !== undefined && facts.offRung > state.position) {
    return onOffRung(threshold, facts.offRung, facts);
  }
  // Nobody says so any more: whatever else is wrong with it has the time that the policy gives.
  if (isFree && state.isFoundOff === true && facts.offRung === undefined) return climb(undefined, threshold, facts);
  const isOver = !isTroubled(threshold, facts);
  switch (state.phase) {
    case 'running':
      return running(state, threshold, facts, isOver);
    case 'waiting':
      return isOver ? recover(state, threshold, facts) : waiting(state, threshold, facts);
    case 'exhausted':
      return isOver ? recover(state, threshold, facts) : { ladder: state };
    case 'recovering':
      return recovering(state, threshold, facts);
  }
}

function hasRung({ remedies, recovery }: LadderThreshold, { phase, position, remedy }: LadderState): boolean {
  return (phase === 'recovering' ? recovery[position] : remedies[position]?.name) === remedy;
}

function running(state: LadderState, threshold: LadderThreshold, facts: LadderFacts, isOver: boolean): LadderDecision {
  switch (facts.outcome) {
    case 'revocable':
      return isOver ? recover(state, threshold, facts) : { ladder: state, remedy: state.remedy };
    case 'running':
      return { ladder: state, remedy: state.remedy };
    // What failed may have helped all the same, and what follows is harsher.
    case 'failed':
    case 'succeeded': {
      if (isOver) return recover(state, threshold, facts);
      const untilMs = facts.nowMs + (threshold.remedies[state.position]?.periodMs ?? 0);
      const ladder: LadderState = { ...state, phase: 'waiting', until: timeOf(untilMs) };
      return waiting(ladder, threshold, facts);
    }
  }
}

/** The remedy has done its work; the trouble has its period to go away. */
function waiting(state: LadderState, threshold: LadderThreshold, facts: LadderFacts): LadderDecision {
  const untilMs = Date.parse(state.until ?? '');
  if (facts.nowMs < untilMs) return { ladder: state, recheckAtMs: untilMs };
  return onRung(threshold, state.position + 1, facts, state);
}

function onRung(
  threshold: LadderThreshold,
  position: number,
  { nowMs }: LadderFacts,
  before?: LadderState,
): LadderDecision {
  const rung = threshold.remedies[position];
  const startedAt = timeOf(nowMs);
  if (rung === undefined) {
    if (before === undefined) return {};
    return {
      ladder: {
        threshold: before.threshold,
        position: before.position,
        remedy: before.remedy,
        phase: 'exhausted',
        startedAt,
      },
    };
  }
  const ladder: LadderState = { threshold: threshold.key, position, remedy: rung.name, phase: 'running', startedAt };
  return { ladder, remedy: rung.name };
}

function onOffRung(threshold: LadderThreshold, position: number, facts: LadderFacts): LadderDecision {
  const { ladder, ...rest } = onRung(threshold, position, facts);
  return ladder === undefined ? rest : { ...rest, ladder: { ...ladder, isFoundOff: true } };
}

/** Recovery remedies one after the other; `position` counts them. */
function recover(state: LadderState, { recovery }: LadderThreshold, { nowMs }: LadderFacts): LadderDecision {
  const [first] = recovery;
  if (first === undefined) return {};
  const ladder: LadderState = {
    threshold: state.threshold,
    position: 0,
    remedy: first,
    phase: 'recovering',
    startedAt: timeOf(nowMs),
  };
  return { ladder, remedy: first };
}

function recovering(state: LadderState, { recovery }: LadderThreshold, facts: LadderFacts): LadderDecision {
  if (facts.outcome === 'running' || facts.outcome === 'revocable') return { ladder: state, remedy: state.remedy };
  const position = state.position + 1;
  const next = recovery[position];
  if (next === undefined) return {};
  return { ladder: { ...state, position, remedy: next, startedAt: timeOf(facts.nowMs) }, remedy: next };
}
