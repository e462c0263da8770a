/** What is on a node and could be elsewhere. */
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished, isOfTheNode } from '../../world/objects/pods.ts';
import type { ClusterState } from '../cluster-state.ts';

/** It does not belong to its node, and is not over. */
export function isMovable(pod: Pod): boolean {
  return !isOfTheNode(pod) && !isFinished(pod);
}

/** Something is bound or attached there that could be elsewhere. */
export function hasWork({ pods, attachments }: ClusterState, node: string): boolean {
  const isBound = [...pods.values()].some((pod) => pod.spec.nodeName === node && isMovable(pod));
  return isBound || [...attachments.values()].some(({ spec }) => spec.nodeName === node);
}
