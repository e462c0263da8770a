/** Of a node in a storm that has no record for that: it is told why nothing is done about it, as those are that have one. */
import type { NodeFence } from '../api/node-fence.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { stormWitness } from '../report/storm-witness.ts';
import type { NodeStatus } from './node-status.ts';

export function heldByStorm(
  { verdict, reason, explanation, zone }: NodeStatus,
  labels: Record<string, string>,
  { fences, policies }: { fences: readonly NodeFence[]; policies: readonly PolicyFacts[] },
): Pick<NodeStatus, 'recovery'> {
  if (verdict === 'healthy') return {};
  const match = matchPolicy(policies, labels);
  if (match.kind !== 'one') return {};
  const { storm } = stormWitness({ judgement: { verdict, reason }, policy: match.policy }, zone, fences);
  if (storm === undefined) return {};
  const hold = `${storm.hold.message} (as the record of ${storm.node} has it, which is in it too)`;
  return { recovery: { trouble: explanation, hold, releases: [], stuck: [] } };
}
