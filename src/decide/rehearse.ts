/**
 * What would be done about a node under `mode: DryRun`, rung by rung (SAF-12): the very decision that acts, about a case in which
 * the policy acts, every remedy has succeeded as soon as it was begun, and what was released is gone. Trouble goes on as it is
 * seen to, so that the ladder is climbed to its end unless the node comes back by itself.
 *
 * It is kept apart from what was done, in the record and here: the rehearsed case is made from the rehearsal, and nothing of it
 * flows back into the real one.
 */
import { isUnderFence } from '../api/facts.ts';
import { MAX_REHEARSED } from '../api/fence-names.ts';
import type { NodeCase, PresentCase } from '../api/release-view.ts';
import type { TaskSign } from '../api/task.ts';
import { powerSays } from '../fence/belief.ts';
import { asDecided } from './as-decided.ts';
import type { ReleaseDecision } from './decide-release.ts';
import { decideRelease } from './decide-release.ts';
import type { PlannedRun, RemedyDecision } from './decide-remedy.ts';
import { decideRemedy } from './decide-remedy.ts';
import { isWell } from './is-back.ts';
import type { Rehearsing } from './rehearsed-case.ts';
import { rehearsedCase } from './rehearsed-case.ts';
import { withSteps } from './rehearsed-steps.ts';

export interface Rehearsed {
  rehearsal: Rehearsing;
  /** What would be decided now: for what it wants to know. */
  remedy: RemedyDecision;
  trouble: ReleaseDecision['trouble'];
  recheckAtMs: number;
}

/** More than that follow from one look only if the rehearsal goes round in circles. */
const maxMoves = 100;

/** Undefined: its policy does not only rehearse, or what was done for real has to come to its end first. */
export function rehearse(nodeCase: NodeCase): Rehearsed | undefined {
  const { node, policy, fence } = nodeCase;
  if (node === undefined || policy.kind !== 'one' || policy.policy.mode !== 'DryRun') return undefined;
  if (isUnderFence(fence?.status.fence) || fence?.status.fence?.phase === 'failed') return undefined;
  const present = { ...nodeCase, node };
  let stands = begun(present);
  let task: TaskSign | undefined;
  for (let moves = 0; ; moves += 1) {
    const seen = rehearsedCase(present, stands, task);
    const remedy = decideRemedy(seen);
    const release = decideRelease(asDecided(seen, remedy), remedy, fence?.status.epoch ?? 0);
    const run = remedy.run?.key === task?.key ? undefined : remedy.run;
    const next = withSteps(stands, { nodeCase: seen, remedy, release, run });
    const isFull = next.steps.length >= MAX_REHEARSED || moves >= maxMoves;
    if (isFull || (run === undefined && next.pods.length === stands.pods.length)) {
      return { rehearsal: next, remedy, trouble: release.trouble, recheckAtMs: release.recheckAtMs };
    }
    if (run !== undefined) task = succeeded(seen, run);
    stands = next;
  }
}

/** Where it stands. What was really done before the policy was told to rehearse is where it begins. */
function begun(nodeCase: PresentCase): Rehearsing {
  const { rehearsal, incident, ladders = [] } = nodeCase.fence?.status ?? {};
  if (rehearsal === undefined || rehearsal.incident !== incident?.id) return { steps: [], ladders, pods: [] };
  const { incident: _, waitsFor: __, fence, ...known } = rehearsal;
  // A machine that is back would have come back from its fence as well.
  return fence === undefined || isWell(nodeCase) ? known : { ...known, fence };
}

function succeeded(nodeCase: PresentCase, { do: what, key }: PlannedRun): TaskSign {
  const told = powerSays(nodeCase).says !== 'off';
  return { key, outcome: 'succeeded', ...(what === 'switch' ? { told } : {}) };
}
