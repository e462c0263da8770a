/**
 * What is known of a node in trouble and of what hangs on it: the words that observing, releasing, returning and acting
 * share. Types and constants only, so that the operator does not load the schemas.
 */
import type { FeatureGates } from './feature-gates.ts';
import type { NodeChoice } from './node-choice.ts';
import type { NodeFence } from './node-fence.ts';
import type { ATTACHMENT_RECOVERY_POLICIES, MODES, POD_DELETION_POLICIES } from './policy-defaults.ts';
import type { ConditionStatus } from './view.ts';

export const QUARANTINE_KEY = 'fenceline.dev/quarantine';
export const FORCE_EVICTION_KEY = 'fenceline.dev/force-eviction';
export const OUT_OF_SERVICE_KEY = 'node.kubernetes.io/out-of-service';
export const CLOUD_SHUTDOWN_KEY = 'node.cloudprovider.kubernetes.io/shutdown';
/** On a Node: we cordoned it, and may take that back. */
/** While a remedy runs: since when, and in which pod. */
export const REMEDIATION_TIME_ANNOTATION = 'fenceline.dev/remediation-timestamp';
export const REMEDIATION_POD_ANNOTATION = 'fenceline.dev/remediation-podname';
export const CORDONED_ANNOTATION = 'fenceline.dev/cordoned';
/** On a Node: somebody works on it until then, an RFC 3339 time. */
export const MAINTENANCE_ANNOTATION = 'fenceline.dev/maintenance-until';
/** On a CSIDriver: it detaches only what is not written to any more. */
export const SAFE_DETACH_ANNOTATION = 'fenceline.dev/safe-detach';
/** On a CSIDriver: its attacher understands the same annotation on a VolumeAttachment as the wish to fence. */
export const UNPUBLISH_FENCE_ANNOTATION = 'fenceline.dev/unpublish-fence';

export interface TaintFacts {
  key: string;
  effect: string;
  value?: string;
  timeAdded?: string;
}

/** A Node, read live. */
export interface LiveNode {
  name: string;
  uid: string;
  resourceVersion: string;
  bootId: string;
  labels: Readonly<Record<string, string>>;
  ready: ConditionStatus | undefined;
  taints: readonly TaintFacts[];
  volumesInUse: readonly string[];
  /** Who last wrote the list of taints, as far as the API server knows. */
  taintedBy?: string;
  /** By what devices and clouds know the machine. */
  systemUuid?: string;
  providerId?: string;
  /** All conditions but for times, which are by the clock of whoever wrote them. */
  conditions?: readonly { type: string; status: ConditionStatus }[];
  isCordoned?: boolean;
  /** As it is written on the node. */
  maintenanceUntil?: string;
  /** What we noted of a remedy that runs. */
  remediation?: Remediation;
}

export interface TolerationFacts {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

/** A kind of controllers. The group tells apart what is called the same: only one of the StatefulSets is Kubernetes' own. */
export interface OwnerKind {
  group: string;
  kind: string;
}

export interface PodFacts {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** The controller among its owners; absent: a bare pod. */
  owner?: OwnerKind & { name: string; uid: string };
  phase: string;
  /** When its time to terminate is up, by the API server's clock; absent: it is not terminating. */
  deletionAtMs?: number;
  /** 0: it was force-deleted, and only finalizers keep the object. */
  graceSeconds?: number;
  /** A copy in the API of what a kubelet runs from a file of its own. */
  mirror: boolean;
  tolerations: readonly TolerationFacts[];
  /** Its claims, by the name of the volume in the pod. */
  claims: readonly { volume: string; claim: string }[];
  /** Volumes that lead to storage without a claim, such as `data (iscsi)`. */
  directVolumes: readonly string[];
  hasConditions: boolean;
  /** Where among its conditions DisruptionTarget is, if it is there. */
  disruptionAt?: number;
}

export type VolumeFacts =
  | {
      claim: string;
      known: false;
      reason: 'ClaimMissing' | 'ClaimUnbound' | 'VolumeMissing' | 'Unreadable';
      message: string;
    }
  | {
      claim: string;
      known: true;
      /** The name of the PersistentVolume. */
      volume: string;
      csi?: { driver: string; handle: string };
      local: boolean;
      provisionedBy?: string;
      accessModes: readonly string[];
    };

export interface DriverFacts {
  name: string;
  safeDetach: boolean;
  /** Its annotation says "false" in so many words, which no policy overrules. */
  deniesSafeDetach?: boolean;
  unpublishFence: boolean;
  /** An annotation of ours that is neither "true" nor "false". */
  malformed?: string;
}

export interface AttachmentFacts {
  name: string;
  uid: string;
  node: string;
  volume: string;
  driver: string;
  attached: boolean;
  deleting: boolean;
  fenceWanted: boolean;
  detachError?: string;
}

export type Mode = (typeof MODES)[number];
export type PodDeletion = (typeof POD_DELETION_POLICIES)[number];

/** Which pod remedies the node, and since when. */
export interface Remediation {
  since: string;
  pod: string;
}

/** One ladder of a policy. */
export interface LadderThreshold {
  /** What identifies it in stored state; its position would change with an edit of the policy. */
  key: string;
  condition?: { type: string; status: string; forMs: number } | undefined;
  lease?: { staleForMs: number } | undefined;
  remedies: readonly { name: string; periodMs: number; cleanResources: boolean }[];
  recovery: readonly string[];
}

/** What a policy wants done about trouble. */
export interface RemedyFacts {
  thresholds: readonly LadderThreshold[];
  /** What each remedy is: `fence`, `cordon`, `uncordon`, `drain`, `podTemplate`. */
  kinds: Readonly<Record<string, string>>;
  /** From which the Jobs of remedies are made, as users wrote them. */
  templates: Readonly<Record<string, object>>;
  fence: {
    isolateAfterMs: number;
    powerManagementAfterMs: number;
    bootTimeoutMs: number;
    retries: number;
    restarts: number;
    /** Its Node object goes when the machine is off and nothing is left there. */
    machineRemoved: boolean;
  };
  storm: {
    maxUnresponsive: number | string;
    maxConcurrent: number;
    /** Conditions under which a node is left alone. */
    skipWhen?: readonly { type: string; status: string }[];
  };
  /** Remedies that are on a ladder and cannot be run; the ladders that need them are not in force. */
  unsupported: readonly string[];
}

/** So many incidents of one condition within so long are worth the attention of a person. */
export interface AlarmFacts {
  condition: string;
  count: number;
  withinMs: number;
}

/** How long a node has to stay well before pods come back to it. */
export interface SoakFacts {
  soakMs: number;
  /** By what factor each failure within a day lengthens the soak, and how far. */
  backoff: number;
  maxSoakMs: number;
}

/** A RemedyPolicy, as far as the operator needs it. */
export interface PolicyFacts extends SoakFacts, NodeChoice {
  name: string;
  uid: string;
  generation: number;
  mode: Mode;
  podDeletion: PodDeletion;
  provisioners: readonly string[];
  /** Whose pods go where those of a StatefulSet do. */
  owners: readonly OwnerKind[];
  volumeAttachmentRecovery: (typeof ATTACHMENT_RECOVERY_POLICIES)[number];
  /** Drivers of which it says what their annotation could say. */
  safeDetach: readonly string[];
  assertions: readonly string[];
  riskAfterFailedFence: boolean;
  alarms: readonly AlarmFacts[];
  podsPerMinute: number;
  /** Absent: crashed kernels are not listened to. */
  kdump?: { timeoutMs: number };
  /** Absent: it has no ladders. */
  remedy?: RemedyFacts;
}

/** Which policy is in force for a node. */
export type PolicyMatch = { kind: 'none' } | { kind: 'one'; policy: PolicyFacts };

export interface LeaseSign {
  renewTime: string;
  /** By our own clock, since this version was first seen. */
  unchangedForMs: number;
  /** It was seen to be renewed after the node was seen to be not Ready. */
  renewedSinceNotReady: boolean;
  /** It was seen to change at all; the first sight of a Lease says nothing about when it was renewed. */
  renewed?: boolean;
}

/** Everything that a decision about one node rests on. */
export interface NodeCase {
  name: string;
  /** The API server's clock, from the answer to the read of the node: never ahead of the truth. */
  serverNowMs: number;
  /** Absent: there is no Node object. */
  node?: LiveNode;
  lease?: LeaseSign;
  policy: PolicyMatch;
  gates: FeatureGates;
  pods: readonly PodFacts[];
  /** By `namespace/claim`. */
  volumes: ReadonlyMap<string, VolumeFacts>;
  drivers: ReadonlyMap<string, DriverFacts>;
  /** Those of this node, and those elsewhere of the volumes that its pods use. */
  attachments: readonly AttachmentFacts[];
  /** Claims, as `namespace/claim`, that a pending pod on no node or another one waits for. */
  awaited: ReadonlySet<string>;
  fence?: NodeFence;
  /** A crashed kernel has reported itself from this address, when the node was known to be in this boot. */
  crash?: { bootId: string; address: string };
}

export interface PodRef {
  namespace: string;
  name: string;
  uid: string;
}

/** What a decision rests on, to be found unchanged by a live read right before each act (S15). */
export interface Grounds {
  node: string;
  /** Absent: the Node object is gone, and has to be gone still. */
  nodeUid?: string;
  bootId?: string;
  /** Taints that must be on the node: the quarantine, and an assertion that the release rests on. */
  taints: readonly { key: string; effect: string }[];
  /** The Lease must not have been renewed since, or made, if it is empty; absent where a living kubelet is no objection. */
  leaseRenewTime?: string;
  policy?: { name: string; uid: string; generation: number };
  /** Drivers whose annotation is taken at its word; one that the policy declares rests on the policy. */
  safeDrivers: readonly string[];
  /** Entries of volumesInUse that were taken out: one that is back proves a living kubelet. */
  freed: readonly string[];
  /** The record of the basis. */
  epoch: number;
  /** The machine has to be off, as its devices say when asked again (S4); whether Ready has noticed does not matter. */
  isOff?: boolean;
  /** The node is cut off from its storage, as its devices say now. */
  isCutOff?: boolean;
  /** Ready does not matter: trouble was seen by other signs. */
  mayBeReady?: boolean;
}

export type Action =
  | { do: 'taint'; key: string; effect: string }
  /** `pods`: the UIDs of all that may be on the node; one more, and the taint stays. */
  | { do: 'untaint'; key: string; effect: string; pods: readonly string[] }
  | { do: 'requestFence'; attachment: string; uid: string }
  | { do: 'freeVolumes'; volumes: readonly string[] }
  | { do: 'forceDelete'; pod: PodFacts; basis: string }
  | { do: 'failPod'; pod: PodFacts; basis: string }
  | { do: 'deleteAttachment'; attachment: string; uid: string }
  /** On the node, for as long as a remedy runs (REM-5). Absent: none does any more. */
  /** Of a machine that its provider has removed. */
  | { do: 'deleteNode' }
  | { do: 'noteRemediation'; remediation?: Remediation };

/** Steps run one after the other, the actions of one side by side; a failure ends the rest. */
export interface Step {
  actions: readonly Action[];
  /** Absent: the step can be taken back, and needs no more than its preconditions. */
  grounds?: Grounds;
}
