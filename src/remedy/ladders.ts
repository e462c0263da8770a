/**
 * All ladders of a node together (SAF-11). Every threshold has its own, and one that is open or exhausted hides no other
 * trouble. There is one remedy at a time: whoever has begun something goes on with it, otherwise the harshest that is due comes
 * first. A fence is the fence of the node, so that all ladders that call for one share it.
 */
import { fenceRung } from '../api/facts.ts';
import type { LadderThreshold, TroubleFacts } from '../api/release-view.ts';
import type { LadderState, RemedyOutcome } from './ladder.ts';
import { climb, keyOf } from './ladder.ts';

export interface Remedies {
  /** How the remedy of a ladder is doing. */
  outcomeOf: (ladder: LadderState) => RemedyOutcome;
  kindOf: (remedy: string) => string | undefined;
  /** A fence is under way, whichever ladder has begun it and whether or not that is still there. */
  isFenced: boolean;
  /** Its devices say that its machine is off, and are believed. */
  isFoundOff: boolean;
}

export interface LaddersDecision {
  ladders: readonly LadderState[];
  /** The one whose remedy has to be running now. */
  on?: LadderState;
  recheckAtMs?: number;
}

/** The mildest first. */
const harshness = ['uncordon', 'cordon', 'drain', 'podTemplate', 'fence', 'deleteMachine'];

interface Step {
  before: LadderState | undefined;
  after: LadderState | undefined;
  outcome: RemedyOutcome;
  recheckAtMs?: number | undefined;
}

type DueStep = Step & { after: LadderState };

export function climbAll(
  states: readonly LadderState[],
  thresholds: readonly LadderThreshold[],
  facts: TroubleFacts & { nowMs: number },
  remedies: Remedies,
): LaddersDecision {
  const steps = thresholds.map((threshold): Step => {
    const before = states.find((state) => state.threshold === threshold.key);
    const outcome = before === undefined ? 'revocable' : remedies.outcomeOf(before);
    const offRung = remedies.isFoundOff ? fenceRung(threshold, remedies.kindOf) : undefined;
    const { ladder: after, recheckAtMs } = climb(before, threshold, { ...facts, outcome, offRung });
    return { before, after, outcome, recheckAtMs };
  });
  const on = turnOf(steps, remedies);
  const ladders = steps.flatMap((step) => kept(step, on, remedies));
  const times = steps.flatMap(({ recheckAtMs }) => recheckAtMs ?? []);
  return {
    ladders,
    ...(on === undefined ? {} : { on: on.after }),
    ...(times.length === 0 ? {} : { recheckAtMs: Math.min(...times) }),
  };
}

/** A remedy of it has to run, or runs. */
export function isOn({ phase }: LadderState): boolean {
  return phase === 'running' || phase === 'recovering';
}

function isDue(step: Step): step is DueStep {
  return step.after !== undefined && isOn(step.after);
}

/** Whose turn it is. */
function turnOf(steps: readonly Step[], remedies: Remedies): DueStep | undefined {
  const due = steps.filter(isDue);
  const begun = due.find(
    ({ before, after, outcome }) => outcome === 'running' && before && keyOf(before) === keyOf(after),
  );
  if (begun !== undefined) return begun;
  const fences = due.filter((step) => isFence(step, remedies));
  // A fence that was begun by a ladder that is no more is brought to its end before another remedy begins.
  const waiting = remedies.isFenced ? fences : due.filter((step) => !isTooEarly(step, steps));
  const rank = ({ after }: DueStep): number => harshness.indexOf(remedies.kindOf(after.remedy) ?? '');
  // Sorting is stable: of two that are as harsh, the one that had its turn goes on, then the first of the policy.
  return waiting.toSorted((a, b) => rank(b) - rank(a) || Number(wasOn(b)) - Number(wasOn(a)))[0];
}

/** What brings the node back waits while there is other trouble. */
function isTooEarly(step: DueStep, steps: readonly Step[]): boolean {
  if (step.after.phase !== 'recovering') return false;
  return steps.some(({ after }) => after !== undefined && after.phase !== 'recovering');
}

function wasOn({ before }: Step): boolean {
  return before !== undefined && isOn(before);
}

function isFence({ after }: DueStep, { kindOf }: Remedies): boolean {
  return after.phase === 'running' && kindOf(after.remedy) === 'fence';
}

/** What is stored of it: one whose turn it is not stays where it was. */
function kept(step: Step, on: DueStep | undefined, remedies: Remedies): LadderState[] {
  const { before, after, outcome } = step;
  if (after === undefined) return [];
  const isShared = on !== undefined && isFence(on, remedies) && isDue(step) && isFence(step, remedies);
  if (!isDue(step) || step === on || isShared) return [after];
  // How it has ended is known in this pass only.
  const hasEnded = wasOn(step) && (outcome === 'succeeded' || outcome === 'failed');
  if (hasEnded) return [after];
  return before === undefined ? [] : [before];
}
