/** One pass over one node: what was known, decided and done. Log, events and metrics all tell from this. */
import type { ActOutcome } from '../act/act-outcome.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { NodeDecision } from '../decide/decide-node.ts';

export interface Pass {
  nodeCase: NodeCase;
  decision: NodeDecision;
  acts: readonly ActOutcome[];
  /** As it is stored now. */
  fence: NodeFence | undefined;
  tookMs: number;
}
