/** What is kept of Nodes for the guard of drains. */
import type { CordonFacts } from '../api/drain-view.ts';
import type { KubeObject } from '../kube/client.ts';

export function projectCordon(object: KubeObject): CordonFacts {
  const { metadata, spec } = object as KubeObject & { spec?: { unschedulable?: boolean } };
  return { name: metadata.name, cordoned: spec?.unschedulable === true, labels: metadata.labels ?? {} };
}
