/** Which policy is in force for a node, as the operator finds it. */
import { refusalOf } from '../api/forbidden.ts';
import { policyFacts } from '../api/policy-facts.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { nodes, remedyPolicies } from '../kube/resources.ts';
import { apiFailure, taken } from './taken.ts';

export async function readPolicies(client: KubeClient): Promise<PolicyFacts[]> {
  const read = await client.list<KubeObject>(remedyPolicies);
  // Without the CRDs there are no policies; configurations may be there all the same.
  if (!read.ok && read.error.kind === 'notFound') return [];
  return taken(read).items.flatMap((policy): PolicyFacts | [] => policyAsTold(policy) ?? []);
}

/** With what the operator that runs says of it. */
export function policyAsTold(policy: KubeObject): PolicyFacts | undefined {
  const facts = policyFacts(policy);
  return facts && { ...facts, ...refusalOf(policy) };
}

/** Undefined: no policy selects it. */
export async function policyOfNode(client: KubeClient, node: string): Promise<PolicyFacts | undefined> {
  return (await nodeWith(client, node)).policy;
}

export async function nodeWith(
  client: KubeClient,
  node: string,
): Promise<{ node: KubeObject; policy: PolicyFacts | undefined }> {
  const read = await client.get({ resource: nodes, name: node });
  if (!read.ok) throw apiFailure(read.error, read.error.kind === 'notFound' ? `no such node: ${node}` : undefined);
  const match = matchPolicy(await readPolicies(client), read.value.metadata.labels ?? {});
  return { node: read.value, policy: match.kind === 'one' ? match.policy : undefined };
}
