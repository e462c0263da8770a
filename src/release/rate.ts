/**
 * At most so many pods per minute (STM-4): they all start elsewhere at once, and the rest of the cluster has to carry them.
 * What was let go once is followed to its end; only what is new counts.
 */
import type { ReleaseRecord } from '../api/node-fence.ts';
import { clockTime } from '../api/facts.ts';
import { objection } from './checks.ts';
import type { Outcome } from './release-node.ts';

export interface Allowance {
  /** How many more may go now. */
  pods: number;
  perMinute: number;
  /** When some more may. */
  untilMs: number;
}

export function withinRate(
  outcomes: readonly Outcome[],
  records: readonly ReleaseRecord[],
  allowance: Allowance,
): Outcome[] {
  const begun = new Set(records.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  let left = allowance.pods;
  return outcomes.map((outcome) => {
    if (!outcome.goes || begun.has(outcome.pod.uid)) return outcome;
    left -= 1;
    if (left >= 0) return outcome;
    const { untilMs, perMinute } = allowance;
    const message = `${perMinute} pods a minute may go; the next ones at ${clockTime(untilMs)}`;
    const { name: way } = outcome.way;
    return {
      pod: outcome.pod,
      goes: false,
      objections: [{ way, objection: objection('ReleaseRate', message, untilMs) }],
    };
  });
}
