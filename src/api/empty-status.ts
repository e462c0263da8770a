/** The status of a NodeFence that was just made; apart from its schema, so that the operator does not load that. */
import type { NodeFenceStatus } from './node-fence.ts';

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
