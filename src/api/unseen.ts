/**
 * What no report of a kubelet can show. It lists in `volumesInUse` what is attached to its node, and nothing else: a volume of a
 * driver that does without attaching is never there, one of the old kind or an inline one under a name that only its driver knows.
 * That such a name is missing says nothing: whether its pod has ended shows in another boot of the machine alone (SAF-4).
 */
import { nameInUse } from './facts.ts';
import type { NodeCase, PodFacts } from './release-view.ts';
import { ownOf } from './own.ts';

/** Stands for all whom nobody has read, among the UIDs of pods that were there: it is never found there again. */
export const UNREAD_PODS = 'unread';

type Known = Pick<NodeCase, 'volumes' | 'drivers'>;

/** The first such volume of a pod; undefined: all of them show. */
export function unseenVolume(known: Known, pod: PodFacts): string | undefined {
  for (const { claim } of pod.claims) {
    const key = `${pod.namespace}/${claim}`;
    const volume = known.volumes[key];
    if (volume?.known !== true) return `claim ${key}`;
    if (nameInUse(volume) === undefined || isAttachless(known, volume.csi?.driver ?? '')) return volume.volume;
  }
  return pod.directVolumes[0];
}

/** A driver without an object of its own attaches, as Kubernetes has it. */
function isAttachless({ drivers }: Known, name: string): boolean {
  return ownOf(drivers, name)?.attachless === true;
}
