/** What is kept of Nodes for the guard of drains. */
import type { CordonFacts } from '../api/drain-view.ts';
import type { PlannedNode } from '../api/plans.ts';
import { isBeingDrained } from '../api/plans.ts';
import type { KubeObject } from '../kube/client.ts';

export function projectCordon(object: KubeObject): CordonFacts {
  const { metadata, spec } = object as KubeObject & Pick<PlannedNode, 'spec'>;
  const cordoned = isBeingDrained({ metadata, spec });
  const isOnlyOurs = spec?.unschedulable === true && !cordoned;
  return { name: metadata.name, cordoned, ...(isOnlyOurs ? { isOnlyOurs } : {}), labels: metadata.labels ?? {} };
}
