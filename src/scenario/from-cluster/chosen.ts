/** Whether proposed policies would be in force at all for the nodes that fail: one that selects none of them changes nothing, and looks as if it were harmless. */
import { parseObject } from '../../api/parse.ts';
import { policyFacts } from '../../api/policy-facts.ts';
import type { PolicyFacts } from '../../api/release-view.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { SnapshotObject } from '../../api/snapshot.ts';
import { matchPolicy } from '../../judge/match-policy.ts';
import type { ScenarioDocument } from './document.ts';

/** One sentence for each proposed policy that is in force for none of them, or only because it is older, or comes first by name. */
export function chosenNotes(
  { spec }: ScenarioDocument,
  struck: ReadonlySet<string>,
  proposed: readonly string[],
): string[] {
  const policies = spec.objects.filter(({ kind }) => kind === 'RemedyPolicy').flatMap((one) => factsOf(one) ?? []);
  const { nodes } = spec.cluster as { nodes: readonly { name: string; labels: Record<string, string> }[] };
  const chosen = nodes
    .filter(({ name }) => struck.has(name))
    .map(({ name, labels }) => ({ node: name, match: matchPolicy(policies, labels) }));
  const idle = proposed.flatMap((name) => {
    if (chosen.some(({ match }) => match.kind === 'one' && match.policy.name === name)) return [];
    const others = new Set(chosen.flatMap(({ match }) => (match.kind === 'one' ? [match.policy.name] : [])));
    const why =
      others.size === 0 ? 'it selects none of them' : `policy ${[...others].join(', ')} comes before it there`;
    return [`proposed: policy ${name} is in force for no node that fails: ${why}`];
  });
  const ties = chosen.flatMap(({ match }) =>
    match.kind === 'one' && match.over.length > 0 ? [[match.policy.name, ...match.over].toSorted().join(' and ')] : [],
  );
  const told = [...new Set(ties)].map(
    (names) => `policies ${names} select the same nodes equally; in the cluster the older one is in force`,
  );
  return [...idle, ...told];
}

function factsOf(policy: SnapshotObject): PolicyFacts | undefined {
  const parsed = parseObject(RemedyPolicySchema, policy);
  // What is stored has its defaults; what is proposed has not.
  const { name } = policy.metadata;
  return parsed.ok ? policyFacts({ ...parsed.value, metadata: { name } }) : undefined;
}
