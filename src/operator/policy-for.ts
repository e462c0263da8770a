import type { LiveNode, PolicyMatch } from '../api/release-view.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { ClusterView } from '../observe/cluster-view.ts';

/** Where there is no Node object the policy last recorded for it applies (POD-3); none recorded means none. */
export function policyFor(
  { policies }: ClusterView,
  node: LiveNode | undefined,
  recorded: string | undefined,
): PolicyMatch {
  if (node !== undefined) return matchPolicy(policies, node.labels);
  const policy = policies.find(({ name }) => name === recorded);
  return policy === undefined ? { kind: 'none' } : { kind: 'one', policy };
}
