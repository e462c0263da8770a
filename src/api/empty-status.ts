/** The status of a NodeFence that was just made; apart from its schema, so that the operator does not load that. */
import { nodeFenceName } from './fence-names.ts';
import type { NodeFence, NodeFenceStatus } from './node-fence.ts';

/** What the API server fills in; an object that was just made has no status at all. */
export const EMPTY_STATUS: NodeFenceStatus = {
  epoch: 0,
  ladders: [],
  jobs: [],
  evidence: [],
  releases: [],
  stuck: [],
  applied: [],
  problems: [],
  history: [],
  conditions: [],
};

/** What is known of a node that has no record yet. */
export function emptyRecord(node: string): NodeFence {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: nodeFenceName(node) },
    spec: { node, stop: false },
    status: EMPTY_STATUS,
  };
}
