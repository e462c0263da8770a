/** What a kubelet refuses to run although it was bound to its node, in the words of the stock one. */
import { quantity } from '../controllers/quantities.ts';
import { matchesAffinity } from '../controllers/scheduler-fit.ts';
import { requestsOf } from '../controllers/scheduler-nodes.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { mirrorAnnotation } from '../objects/pods.ts';
import { untolerated } from '../objects/tolerations.ts';

export interface Refusal {
  reason: string;
  message: string;
}

/**
 * The stock kubelet asks this again for every pod when it starts, so a taint that came while it was down ends pods that
 * ran before. Pods from its own files are exempt. `others`: the pods that it has let in, and that have not ended.
 */
export function refusalOf(pod: Pod, node: Node, others: readonly Pod[]): Refusal | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return undefined;
  return shortageOf(pod, node, others) ?? mismatchOf(pod, node);
}

function mismatchOf(pod: Pod, node: Node): Refusal | undefined {
  if (!matchesAffinity(pod, node)) {
    return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  }
  const taint = untolerated(node.spec?.taints, pod.spec.tolerations, ['NoExecute']);
  return taint && failed('TaintToleration', "node(s) had taints that the pod didn't tolerate");
}

function failed(predicate: string, why: string): Refusal {
  return { reason: predicate, message: `Pod was rejected: Predicate ${predicate} failed: ${why}` };
}

/** Processors are counted in thousandths. */
function shortageOf(pod: Pod, node: Node, others: readonly Pod[]): Refusal | undefined {
  const { allocatable } = node.status ?? {};
  if (allocatable === undefined) return undefined;
  const wanted = demandOf(pod);
  const used = others.map(demandOf);
  for (const [name, unit] of [
    ['pods', 1],
    ['cpu', 1000],
    ['memory', 1],
  ] as const) {
    if (allocatable[name] === undefined || wanted[name] === 0) continue;
    const capacity = Math.round(quantity(allocatable[name]) * unit);
    const requested = Math.round(wanted[name] * unit);
    const taken = Math.round(used.reduce((sum, demand) => sum + demand[name], 0) * unit);
    if (taken + requested <= capacity) continue;
    const figures = `requested: ${requested}, used: ${taken}, capacity: ${capacity}`;
    return {
      reason: `OutOf${name}`,
      message: `Pod was rejected: Node didn't have enough resource: ${name}, ${figures}`,
    };
  }
  return undefined;
}

function demandOf(pod: Pod): { pods: number; cpu: number; memory: number } {
  return { pods: 1, ...requestsOf(pod) };
}
