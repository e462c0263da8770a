/**
 * By the policy of the user, who accepts the risk (POD): terminating pods of a node that is down, whose time is up, of
 * the owners and the storage that the policy names. Nothing proves that they have stopped.
 */
import type { NodeCase, OwnerKind, PodDeletion, PodFacts, PolicyFacts } from '../api/release-view.ts';
import type { Check, KnownVolume, Objection } from './checks.ts';
import { notInMaintenance } from './maintenance.ts';
import {
  attachedOnce,
  fenceSettled,
  isListed,
  nodeDown,
  notComingBack,
  notDaemon,
  notMirror,
  nothingReappeared,
  objection,
  terminating,
  timeIsUp,
  volumesOf,
} from './checks.ts';
import type { Way } from './way.ts';

const statefulSet: OwnerKind = { group: 'apps', kind: 'StatefulSet' };
const replicaSet: OwnerKind = { group: 'apps', kind: 'ReplicaSet' };

/** The owner that is the controller decides; a pod of any other owner, or of none, is never deleted by force. */
function coveredOwners(podDeletion: PodDeletion, owners: readonly OwnerKind[]): readonly OwnerKind[] {
  switch (podDeletion) {
    case 'do-nothing':
      return [];
    case 'delete-statefulset-pod':
      return [statefulSet, ...owners];
    case 'delete-deployment-pod':
      return [replicaSet];
    case 'delete-both-statefulset-and-deployment-pod':
      return [statefulSet, replicaSet, ...owners];
  }
}

const deletionChecks: readonly Check[] = [
  notMirror,
  policyInForce,
  ownerCovered,
  notInMaintenance,
  nodeDown,
  terminating,
  timeIsUp,
  listedVolume,
  attachedOnce,
  fenceSettled,
  notComingBack,
  nothingReappeared,
];

/** For pods that `podDeletion` leaves alone: the volume goes, the old pod's object stays (POD-7). */
const recoveryChecks: readonly Check[] = [
  notMirror,
  notDaemon,
  policyInForce,
  recoveryWanted,
  leftAlone,
  notInMaintenance,
  nodeDown,
  terminating,
  timeIsUpIfWaiting,
  listedVolume,
  replacementWaits,
  attachedOnce,
  fenceSettled,
  notComingBack,
  nothingReappeared,
];

function policyInForce({ policy }: NodeCase): Objection | undefined {
  return policy.kind === 'one' ? undefined : objection('NoPolicy', 'no RemedyPolicy selects the node');
}

function policyOf({ policy }: Pick<NodeCase, 'policy'>): PolicyFacts | undefined {
  return policy.kind === 'one' ? policy.policy : undefined;
}

export function ownerCovered(nodeCase: Pick<NodeCase, 'policy'>, pod: PodFacts): Objection | undefined {
  const { name, podDeletion = 'do-nothing', owners = [] } = policyOf(nodeCase) ?? {};
  const { owner } = pod;
  const covered = coveredOwners(podDeletion, owners);
  if (covered.some(({ group, kind }) => group === owner?.group && kind === owner.kind)) return undefined;
  if (podDeletion === 'do-nothing') return objection('DoNothing', `podDeletion of policy ${name} is do-nothing`);
  const belongs = owner === undefined ? 'no controller' : `a ${owner.kind}${ofGroup(owner)}`;
  return objection('OwnerNotCovered', `it belongs to ${belongs}, and podDeletion of policy ${name} is ${podDeletion}`);
}

/** Said where a reader could take it for another one. */
function ofGroup({ group }: OwnerKind): string {
  return ['', 'apps', 'batch'].includes(group) ? '' : ` of ${group}`;
}

/** One volume of the listed storage is enough: the risk is accepted for the pod as a whole. */
export function listedVolume(nodeCase: Pick<NodeCase, 'policy' | 'volumes'>, pod: PodFacts): Objection | undefined {
  const volumes = volumesOf(nodeCase, pod);
  const provisioners = policyOf(nodeCase)?.provisioners ?? [];
  if (volumes.some((volume) => isListed(volume, provisioners))) return undefined;
  const missing = volumes.find((volume) => !volume.known);
  if (missing?.known === false) return objection('VolumeUnknown', missing.message);
  if (volumes.length === 0) return objection('NoPersistentVolume', 'it has no persistent volume');
  return objection(
    'NoListedVolume',
    `none of its volumes is of ${provisioners.join(', ') || 'any listed provisioner'}`,
  );
}

function listedVolumes(nodeCase: NodeCase, pod: PodFacts): KnownVolume[] {
  const provisioners = policyOf(nodeCase)?.provisioners ?? [];
  return volumesOf(nodeCase, pod).filter((volume) => isListed(volume, provisioners));
}

function recoveryWanted(nodeCase: NodeCase): Objection | undefined {
  const { name, volumeAttachmentRecovery } = policyOf(nodeCase) ?? {};
  if (volumeAttachmentRecovery !== 'never') return undefined;
  return objection('RecoveryNever', `volumeAttachmentRecovery of policy ${name} is never`);
}

/** What will be deleted needs no recovery: it would only be the same risk, earlier. */
function leftAlone(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  if (ownerCovered(nodeCase, pod) !== undefined) return undefined;
  return objection('TimeNotUp', `podDeletion of policy ${policyOf(nodeCase)?.name} covers it`);
}

function timeIsUpIfWaiting(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  return policyOf(nodeCase)?.volumeAttachmentRecovery === 'wait' ? timeIsUp(nodeCase, pod) : undefined;
}

function replacementWaits(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  const listed = listedVolumes(nodeCase, pod);
  if (listed.some(({ claim }) => nodeCase.awaited.includes(claim))) return undefined;
  const volumes = listed.map(({ volume }) => volume).join(', ');
  return objection('NoReplacement', `no other pod waits for ${volumes}`);
}

function author({ policy }: NodeCase): string | undefined {
  return policy.kind === 'one' ? `policy ${policy.policy.name}` : undefined;
}

const acceptedRisk = {
  basis: 'AcceptedRisk',
  by: author,
  frees: listedVolumes,
  // A kubelet that reports False lives and renews; who accepts the risk accepts that too.
  toleratesLife: ({ node }: NodeCase) => node?.ready === 'False',
  grounds: () => ({ basis: 'AcceptedRisk' }) as const,
  stillStands: (nodeCase: NodeCase, { by }: { by?: string | undefined }) =>
    nodeCase.policy.kind === 'one' && by === author(nodeCase),
} as const;

export const byPolicy: Way = {
  ...acceptedRisk,
  name: 'policy',
  checks: deletionChecks,
  podStays: false,
  restsOnVolumes: false,
  unopened: ['NoPolicy'],
};

export const byAttachmentRecovery: Way = {
  ...acceptedRisk,
  name: 'attachment recovery',
  checks: recoveryChecks,
  podStays: true,
  restsOnVolumes: true,
  unopened: ['NoPolicy', 'RecoveryNever'],
};
