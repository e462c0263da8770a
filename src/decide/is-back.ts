/** Whether a node lives, as a fence and the way back see it. */
import { isRenewing } from '../api/life.ts';
import type { NodeCase } from '../api/release-view.ts';
import { isTroubled } from '../remedy/ladder.ts';
import { remedyOf } from './of-case.ts';

/**
 * Ready, and its kubelet renews: Ready alone may be what Kubernetes has not noticed yet. One that has no Lease is heard of by its
 * Node alone.
 */
export function isBack({ node, lease }: NodeCase): boolean {
  return node?.ready === 'True' && (lease === undefined || (lease.renewed === true && isRenewing(lease)));
}

/** And nothing that its policy looks for is wrong with it. */
export function isWell(nodeCase: NodeCase): boolean {
  const thresholds = remedyOf(nodeCase)?.thresholds ?? [];
  return isBack(nodeCase) && thresholds.every((threshold) => !isTroubled(threshold, nodeCase.trouble));
}
