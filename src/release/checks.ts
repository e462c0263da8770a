/** The questions that several ways of release ask of a pod. Each answers with an objection, or with nothing. */
import { clockTime, isOfDaemonSet, isOver } from '../api/facts.ts';
import { isSilent, reappearedOf } from '../api/life.ts';
import type { AttachmentFacts, DriverFacts, NodeCase, PodFacts, VolumeFacts } from '../api/release-view.ts';
import type { STUCK } from '../api/reasons.ts';
import { ownOf } from '../api/own.ts';

export type StuckReason = keyof (typeof STUCK)['reason'];

export interface Objection {
  reason: StuckReason;
  /** For people; says which volume, which rule, what to do. */
  message: string;
  /** By the API server's clock: when this objection falls by itself. */
  untilMs?: number;
}

export type Check = (nodeCase: NodeCase, pod: PodFacts) => Objection | undefined;

/** deletionTimestamp and the Date of an answer are whole seconds: this much later it has passed for certain. */
const roundingMs = 1000;

export function objection(reason: StuckReason, message: string, untilMs?: number): Objection {
  return untilMs === undefined ? { reason, message } : { reason, message, untilMs };
}

export function nodeDown({ node }: NodeCase): Objection | undefined {
  if (node === undefined || node.ready === 'False' || node.ready === 'Unknown') return undefined;
  return node.ready === 'True'
    ? objection('NodeReady', 'the node is Ready')
    : objection('NodeNotDown', 'the node has no Ready condition, so that nothing is known of it');
}

export function nodeExists({ node }: NodeCase): Objection | undefined {
  return node === undefined ? objection('NodeGone', 'there is no Node object of this name any more') : undefined;
}

/** A mirror pod is what a kubelet runs from its own files: its object says nothing, and comes back. */
export function notMirror(_: NodeCase, pod: PodFacts): Objection | undefined {
  return pod.mirror ? objection('MirrorPod', 'its kubelet runs it from a file') : undefined;
}

export function notDaemon(_: NodeCase, pod: PodFacts): Objection | undefined {
  return isOfDaemonSet(pod)
    ? objection('DaemonSetPod', `DaemonSet ${pod.owner?.name} would make it again on this node`)
    : undefined;
}

export function terminating(_: NodeCase, pod: PodFacts): Objection | undefined {
  return pod.deletionAtMs === undefined ? objection('NotTerminating', 'nobody has asked it to go') : undefined;
}

/** By the API server's clock, so that an operator with a wrong one does not delete early. */
export function timeIsUp({ serverNowMs }: NodeCase, pod: PodFacts): Objection | undefined {
  const untilMs = (pod.deletionAtMs ?? Infinity) + roundingMs;
  if (serverNowMs >= untilMs) return undefined;
  return objection('TimeNotUp', `its time to terminate is up at ${clockTime(untilMs)}`, untilMs);
}

/**
 * Whoever renews a Lease lives. With Ready Unknown it is Kubernetes that has not heard of it for its whole grace period,
 * and only what was renewed since counts; with False it may be a kubelet that reports trouble, and must have been
 * silent for as long as we watch it.
 */
export function kubeletSilent({ node, lease }: NodeCase): Objection | undefined {
  if (lease === undefined || node === undefined) return undefined;
  const alive = node.ready === 'Unknown' ? lease.renewedSinceNotReady : !isSilent(lease);
  if (!alive) return undefined;
  // Not when: what is told must not change with every renewal, or it would be told as often.
  return objection('KubeletAlive', `the kubelet of ${node.name} renews its Lease`);
}

/** Kubernetes has not said so yet, but the kubelet renews its Lease again: the node is on its way back (S23). */
export function notComingBack(nodeCase: NodeCase): Objection | undefined {
  return nodeCase.node?.ready === 'Unknown' ? kubeletSilent(nodeCase) : undefined;
}

/** A kubelet that lives writes what it has mounted. */
export function nothingReappeared(nodeCase: NodeCase): Objection | undefined {
  const back = reappearedOf(nodeCase);
  if (back === undefined) return undefined;
  return objection('KubeletAlive', `${back} is in volumesInUse of ${nodeCase.name} again: a kubelet wrote it`);
}

/** A fence that has failed, or runs, is just when nobody knows what the machine does (S3). */
export function fenceSettled({ fence, policy }: NodeCase): Objection | undefined {
  const status = fence?.status.fence?.status;
  if (status === undefined || status === 'final') return undefined;
  if (status === 'error') {
    if (policy.kind === 'one' && policy.policy.riskAfterFailedFence) return undefined;
    return objection('FenceUnsettled', 'its fence has failed, and riskAfterFailedFence is false');
  }
  return objection('FenceUnsettled', `its fence is ${status}`);
}

export function volumesOf({ volumes }: Pick<NodeCase, 'volumes'>, pod: PodFacts): VolumeFacts[] {
  return pod.claims.map(({ claim }) => {
    const key = `${pod.namespace}/${claim}`;
    const known = volumes[key];
    return known ?? { claim: key, known: false, reason: 'Unreadable', message: `claim ${key} has not been read` };
  });
}

export type KnownVolume = Extract<VolumeFacts, { known: true }>;

export function isKnown(volume: VolumeFacts): volume is KnownVolume {
  return volume.known;
}

/**
 * A volume for one node that is attached to two is in disorder, and nobody knows who writes. Of a pod that is over it is
 * where it should be: with the replacement.
 */
export function attachedOnce(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  if (isOver(pod)) return undefined;
  for (const volume of knownVolumes(nodeCase, pod)) {
    if (isShared(volume)) continue;
    const other = nodeCase.attachments.find(
      (one) => one.volume === volume.volume && one.node !== nodeCase.name && one.attached,
    );
    if (other !== undefined) {
      return objection('AttachedElsewhere', `volume ${volume.volume} is attached to ${other.node} as well`);
    }
  }
  return undefined;
}

/** Of a listed provisioner: by its CSI driver, or, for volumes of the old kind, by whoever made it. */
export function isListed(volume: VolumeFacts, provisioners: readonly string[]): volume is KnownVolume {
  const provisioner = volume.known ? (volume.csi?.driver ?? volume.provisionedBy) : undefined;
  return provisioners.some((name) => name === provisioner);
}

export function isShared({ accessModes }: KnownVolume): boolean {
  return accessModes.includes('ReadWriteMany');
}

export function attachmentsHere({ attachments, name }: NodeCase): AttachmentFacts[] {
  return attachments.filter(({ node }) => node === name);
}

/** Of a node on which nothing runs: all that is known of what the pod used. */
export function knownVolumes(nodeCase: NodeCase, pod: PodFacts): KnownVolume[] {
  return volumesOf(nodeCase, pod).filter(isKnown);
}

export function driverOf(drivers: NodeCase['drivers'], name: string): DriverFacts | undefined {
  return ownOf(drivers, name);
}
