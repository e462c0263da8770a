/**
 * Who else acts on nodes, and by what on the Node object it is told that they are at it (ADM-6). One table: what is new is one line
 * more. The names are theirs: what they call it otherwise is not noticed, and nothing is left to them. What objects beside the Node
 * say is read by observe/others-at-work.ts.
 */

export interface OtherActor {
  by: string;
  /** `reboots`: it comes back by itself. Whatever else it is, the node is theirs. */
  does: 'removes' | 'remedies' | 'maintains' | 'switchesOff' | 'reboots';
  /** Which object says so, such as `FenceAgentsRemediation far/node-3`; absent: the Node itself. */
  object?: string;
  /** Since when, as it is written there. */
  since?: string;
}

/** What objects beside the Node say of who is at it. */
export interface Elsewhere {
  found: readonly OtherActor[];
  /** It is not known yet: so long somebody has been asking. */
  openForMs?: number;
}

type Mark = OtherActor & ({ taint: string } | { annotation: string });

/**
 * A mark that only says that somebody might is none: DeletionCandidateOfClusterAutoscaler, `rebalance-recommendation` of AWS,
 * `node.cluster.x-k8s.io/outdated-revision` of Cluster API.
 */
const marks: readonly Mark[] = [
  { by: 'the cluster autoscaler', does: 'removes', taint: 'ToBeDeletedByClusterAutoscaler' },
  { by: 'Karpenter', does: 'removes', taint: 'karpenter.sh/disrupted' },
  // As it was called before its version 1.
  { by: 'Karpenter', does: 'removes', taint: 'karpenter.sh/disruption' },
  { by: 'AWS, which interrupts a spot instance,', does: 'removes', taint: 'aws-node-termination-handler/spot-itn' },
  {
    by: 'an auto-scaling group of AWS',
    does: 'removes',
    taint: 'aws-node-termination-handler/asg-lifecycle-termination',
  },
  // By a reboot, or by a stop after which it is started elsewhere.
  { by: 'maintenance of AWS', does: 'reboots', taint: 'aws-node-termination-handler/scheduled-maintenance' },
  { by: 'Google, which ends the instance,', does: 'removes', taint: 'cloud.google.com/impending-node-termination' },
  { by: 'Self Node Remediation', does: 'remedies', taint: 'medik8s.io/remediation' },
  { by: 'Fence Agents Remediation', does: 'remedies', taint: 'remediation.medik8s.io/fence-agents-remediation' },
  { by: 'Fence Agents Remediation', does: 'remedies', taint: 'medik8s.io/fence-agents-remediation' },
  { by: 'kured', does: 'reboots', annotation: 'weave.works/kured-reboot-in-progress' },
];

export interface MarkedNode {
  metadata: { annotations?: Record<string, string> | undefined; deletionTimestamp?: string | undefined };
  spec?: { taints?: readonly { key: string }[] | undefined } | undefined;
}

export function othersAt({ metadata, spec }: MarkedNode): OtherActor[] {
  const found = marks
    .filter((mark) =>
      'taint' in mark
        ? spec?.taints?.some(({ key }) => key === mark.taint) === true
        : metadata.annotations?.[mark.annotation] !== undefined,
    )
    .map(({ by, does }) => ({ by, does }));
  // Whoever waits for its end has a finalizer on it: Karpenter, or what a provider has put there.
  const isDeleted = metadata.deletionTimestamp !== undefined;
  return isDeleted ? [...found, { by: 'whoever deletes its Node object', does: 'removes' }] : found;
}

const doing: Record<OtherActor['does'], string> = {
  removes: 'removes it',
  remedies: 'remedies it',
  maintains: 'keeps it for maintenance',
  switchesOff: 'switches its machine off',
  reboots: 'reboots it',
};

export function toldOther({ by, does, object, since }: OtherActor): string {
  const from = since === undefined ? '' : ` since ${since}`;
  return `${by} ${doing[does]}${object === undefined ? '' : ` (${object}${from})`}`;
}
