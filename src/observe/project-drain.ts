/** What is kept of Nodes for the guard of drains. */
import type { KubeObject } from '../kube/client.ts';

/** A Node as a drain sees it. Its labels are kept only here: who has no DrainPolicy need not remember them. */
export interface CordonFacts {
  name: string;
  cordoned: boolean;
  labels: Readonly<Record<string, string>>;
}

export function projectCordon(object: KubeObject): CordonFacts {
  const { metadata, spec } = object as KubeObject & { spec?: { unschedulable?: boolean } };
  return { name: metadata.name, cordoned: spec?.unschedulable === true, labels: metadata.labels ?? {} };
}
