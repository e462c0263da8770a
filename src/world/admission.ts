/** What a kubelet refuses to run although it was bound to its node, in the words of the stock one. */
import type { Node, Pod, Taint, Toleration } from './objects.ts';
import { mirrorAnnotation } from './objects.ts';

export interface Refusal {
  reason: string;
  message: string;
}

/**
 * The stock kubelet asks this again for every pod when it starts, so a taint that came while it was down ends pods that
 * ran before. Pods from its own files are exempt.
 */
export function refusalOf(pod: Pod, node: Node): Refusal | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return undefined;
  const taints = node.spec?.taints ?? [];
  const tolerations = pod.spec.tolerations ?? [];
  const untolerated = taints.some(
    (taint) => taint.effect === 'NoExecute' && !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
  if (!untolerated) return undefined;
  return {
    reason: 'TaintToleration',
    message: "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  };
}

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}
