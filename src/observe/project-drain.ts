/** What is kept of Nodes and DrainPolicies for the guard of drains. */
import type { CordonFacts, DrainPolicyFacts } from '../api/drain-view.ts';
import type { KubeObject } from '../kube/client.ts';

interface WireDrainPolicy extends KubeObject {
  spec?: {
    nodeSelector?: {
      matchLabels?: Record<string, string>;
      matchExpressions?: { key: string; operator: string; values?: string[] }[];
    };
    policy?: DrainPolicyFacts['policy'];
    namespace?: string;
    enforcement?: DrainPolicyFacts['enforcement'];
  };
}

export function projectCordon(object: KubeObject): CordonFacts {
  const { metadata, spec } = object as KubeObject & { spec?: { unschedulable?: boolean } };
  return { name: metadata.name, cordoned: spec?.unschedulable === true, labels: metadata.labels ?? {} };
}

/** Undefined: it lacks what its CRD fills in, and is not in force. */
export function projectDrainPolicy(object: KubeObject): DrainPolicyFacts | undefined {
  const { metadata, spec } = object as WireDrainPolicy;
  const { nodeSelector, policy, namespace, enforcement } = spec ?? {};
  if (nodeSelector === undefined || policy === undefined || namespace === undefined || enforcement === undefined) {
    return undefined;
  }
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    selector: {
      matchLabels,
      matchExpressions: matchExpressions.map(({ key, operator, values = [] }) => ({ key, operator, values })),
    },
    policy,
    namespace,
    enforcement,
  };
}
