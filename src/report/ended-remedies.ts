/** Which remedies a pass has put on record as ended, and how. */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { ownOf } from '../api/own.ts';
import { ladderKey, remedyOf } from '../decide/of-case.ts';
import type { LabelsOf } from './metric-list.ts';
import type { Pass } from './pass.ts';

type Ladder = NodeFenceStatus['ladders'][number];

export function endedRemedies({ nodeCase, fence }: Pass): LabelsOf<'fenceline_remedies_total'>[] {
  const before = nodeCase.fence?.status.ladders ?? [];
  const after = fence?.status.ladders ?? [];
  const kinds = remedyOf(nodeCase)?.kinds ?? {};
  return before
    .filter((one) => isOn(one) && !after.some((other) => isOn(other) && ladderKey(other) === ladderKey(one)))
    .map((one) => {
      const kind = ownOf(kinds, one.remedy);
      const outcome = kind === 'fence' ? fenceOutcome(fence?.status.fence) : taskOutcome(nodeCase, one);
      // Its policy was edited, or another one is in force: what it was nobody says any more.
      return { kind: kind ?? 'unknown', outcome };
    });
}

/** Its remedy is due or runs. */
function isOn({ phase }: Ladder): boolean {
  return phase === 'running' || phase === 'recovering';
}

/** One that was cancelled, or that nobody wants any more, is dropped. */
function fenceOutcome(fence: NodeFenceStatus['fence']): string {
  if (fence?.phase === 'finished') return 'succeeded';
  return fence?.phase === 'failed' ? 'failed' : 'dropped';
}

function taskOutcome({ task }: Pass['nodeCase'], ladder: Ladder): string {
  if (task === undefined || task.key !== ladderKey(ladder) || task.outcome === 'running') return 'dropped';
  return task.outcome;
}
