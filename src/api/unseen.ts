/**
 * What no report of a kubelet can show. It lists in `volumesInUse` what is attached to its node, and nothing else: a volume of a
 * driver that does without attaching is never there, one of the old kind or an inline one under a name that only its driver knows.
 * That such a name is missing says nothing: whether its pod has ended shows in another boot of the machine alone (SAF-4). Nor does
 * anything show the end of a pod without volumes; but whatever it does, its kubelet ends it within the time that it may take.
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

/** What Kubernetes gives a pod to end that says nothing else. */
export const USUAL_GRACE_SECONDS = 30;

/** How long it may go on once its kubelet knows that it is gone; undefined: a volume of its own shows when it has ended. */
export function hiddenForSeconds({ pods }: Pick<NodeCase, 'pods'>, pod: PodFacts): number | undefined {
  const isShared = (claim: string): boolean =>
    pods.some(
      ({ uid, namespace, claims }) =>
        uid !== pod.uid && namespace === pod.namespace && claims.some((one) => one.claim === claim),
    );
  return pod.claims.every(({ claim }) => isShared(claim)) ? pod.endsWithinSeconds : undefined;
}

/** A driver without an object of its own attaches, as Kubernetes has it. */
function isAttachless({ drivers }: Known, name: string): boolean {
  return ownOf(drivers, name)?.attachless === true;
}
