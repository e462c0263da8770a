/** What would be free if nothing ran on a node any more: whether there is anything to gain from cutting it (SAF-18). */
import { belongsToNode, isOver } from '../api/facts.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { Gain } from '../api/steps.ts';
import { attachmentsHere, knownVolumes } from './checks.ts';
import { staysBehind } from './latecomers.ts';

/** One that a release would free; undefined: there is none. Whoever acts on its account looks whether it is still there. */
export function gainOf(nodeCase: NodeCase): Gain | undefined {
  const pod = nodeCase.pods.find((one) => !stays(nodeCase, one));
  if (pod !== undefined) {
    const { namespace, name, uid } = pod;
    return { kind: 'pod', namespace, name, uid };
  }
  const kept = new Set(nodeCase.pods.flatMap((one) => knownVolumes(nodeCase, one)).map(({ volume }) => volume));
  const attachment = attachmentsHere(nodeCase).find(({ volume }) => !kept.has(volume));
  return attachment && { kind: 'attachment', name: attachment.name, uid: attachment.uid };
}

/** It is over, or would be there again, or stays whatever becomes of the node. */
function stays(nodeCase: NodeCase, pod: PodFacts): boolean {
  if (belongsToNode(pod) || isOver(pod)) return true;
  // Made for this very node it runs nowhere else; only a volume of its could be used elsewhere.
  return (pod.isPinned && pod.claims.length === 0) || staysBehind(nodeCase, pod);
}
