/** Whether a node lives, as a fence and the way back see it. */
import { isRenewing } from '../api/life.ts';
import type { NodeCase } from '../api/release-view.ts';

/**
 * Ready, and its kubelet renews: Ready alone may be what Kubernetes has not noticed yet. One that has no Lease is heard of by its
 * Node alone.
 */
export function isBack({ node, lease }: NodeCase): boolean {
  return node?.ready === 'True' && (lease === undefined || (lease.renewed === true && isRenewing(lease)));
}
