/** What is kept of Nodes and DrainPolicies for the guard of drains. */
import type { CordonFacts, DrainPolicyFacts } from '../api/drain-view.ts';
import type { WireChoice } from '../api/node-choice.ts';
import { choiceOf } from '../api/node-choice.ts';
import type { KubeObject } from '../kube/client.ts';

interface WireDrainPolicy extends KubeObject {
  spec?: WireChoice & {
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
  const { policy, namespace, enforcement } = spec ?? {};
  const choice = choiceOf(spec ?? {}, metadata);
  if (choice === undefined || policy === undefined || namespace === undefined || enforcement === undefined) {
    return undefined;
  }
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    ...choice,
    policy,
    namespace,
    enforcement,
  };
}
