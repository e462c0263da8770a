/** Whether a node needs a closer look, from what is seen of it anyway. It has to be cheap: it is asked of every node. */
import { isStatus } from '../api/facts.ts';
import type { Sighting } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';

type Concern = (seen: Sighting, judgement: Judgement) => boolean | undefined;

/** The first that has an answer gives it. */
const concerns: readonly Concern[] = [hasOpenRecord, alarmIsDue, isMarked, isGone, isDown, isTroubled];

export function needsAttention(seen: Sighting, judgement: Judgement): boolean {
  for (const concern of concerns) {
    const answer = concern(seen, judgement);
    if (answer !== undefined) return answer;
  }
  return false;
}

/** What an alarm depends on besides time and incidents: the policies, and that there is such a node. */
export function alarmStamp({ policies }: Sighting, { reason }: Judgement): string {
  return `${reason === 'NodeGone'},${policies.stamp}`;
}

function hasOpenRecord({ hasOpenRecord: isOpen }: Sighting): true | undefined {
  return isOpen || undefined;
}

/**
 * An alarm about repeated trouble ends, or is raised by an edit of a policy, while the node is well and nobody attends to
 * it. One look finds out how it stands, and when that has to be found out again.
 */
function alarmIsDue(seen: Sighting, judgement: Judgement): true | undefined {
  const { problems, looked } = seen.alarm;
  const isWatched = problems === 'alarmed' || (problems === 'counted' && seen.policies.hasAlarms);
  if (!isWatched) return undefined;
  return looked === undefined || looked.isDue || looked.stamp !== alarmStamp(seen, judgement) || undefined;
}

/** It carries a taint that means something to us, or a note of ours: what we put there goes, also where the record is gone. */
function isMarked({ view }: Sighting): true | undefined {
  return (view.node?.marks ?? []).length > 0 || undefined;
}

function isGone(_: Sighting, { reason }: Judgement): false | undefined {
  return reason === 'NodeGone' ? false : undefined;
}

/** One that is down in a cluster without policy or gate is left to Kubernetes. */
function isDown({ gates, policies }: Sighting, { verdict }: Judgement): true | undefined {
  return (verdict === 'down' && (gates.NonGracefulFailover || policies.count > 0)) || undefined;
}

/** A policy has a ladder for what is seen of the node. */
function isTroubled({ view, policies }: Sighting, { verdict }: Judgement): boolean {
  const conditions = view.node?.conditions ?? [];
  // Whether its machine is off already is asked at once, whatever the ladders wait for.
  if (verdict === 'suspect' && policies.fencesSilence) return true;
  return policies.thresholds.some(({ condition, lease }) =>
    lease === undefined
      ? conditions.some(({ type, status }) => type === condition?.type && isStatus(status, condition.status))
      : verdict === 'suspect',
  );
}
