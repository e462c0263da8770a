/** What an incident depends on in the policy: when it is worth an alarm, and when it is over. */
import type { AlarmFacts, NodeCase } from '../api/release-view.ts';
import { flapWindowMs } from '../remedy/ladder.ts';

/** Of a machine that is gone nobody has to be told any more. */
export function alarmsFor({ node, policy }: NodeCase): readonly AlarmFacts[] {
  return node === undefined || policy.kind !== 'one' ? [] : policy.policy.alarms;
}

/** Trouble that comes back within the period of a remedy is the same incident (REM-6). A machine that is gone stays away. */
export function stayAwayMs({ node, policy }: NodeCase): number {
  return node === undefined || policy.kind !== 'one' ? 0 : flapWindowMs(policy.policy.remedy?.thresholds ?? []);
}
