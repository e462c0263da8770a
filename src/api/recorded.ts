/** What is on record of a node, as a decision sees it. */
import type { NodeFence } from './node-fence.ts';

export interface Recorded {
  fence?: NodeFence;
  /** Something of it was ahead of its time: that is put right in `fence`, and has to be stored (ahead.ts). */
  isMended?: boolean;
}
