/**
 * What is known of a node in trouble and of what hangs on it: the words that observing, releasing, returning and acting
 * share. Types and constants only, so that the operator does not load the schemas.
 */
import type { ConfigResult } from './fence-config.ts';
import type { Started, Using } from './forbidden.ts';
import type { Pulse, Signs } from './life.ts';
import type { MachineClaims } from './machine.ts';
import type { NodeChoice } from './node-choice.ts';
import type { Recorded } from './recorded.ts';
import type { SeenPause } from './seen-pause.ts';
import type { Plans } from './plans.ts';
import type { PortFacts, PowerFacts, Refusable, Unconfirmed } from './power.ts';
import type { ATTACHMENT_RECOVERY_POLICIES, BUDGET_POLICIES, MODES, POD_DELETION_POLICIES } from './policy-defaults.ts';
import type { SpentBudget } from './spent-budget.ts';
import type { StormFacts } from './storm-sign.ts';
import type { OtherNodes, Allowance, Beside, OwnNode, Placed, Surroundings } from './surroundings.ts';
import type { Begun } from './task.ts';
import type { AlarmSign, ConditionStatus, JudgeLimits, NodeView } from './view.ts';

export const QUARANTINE_KEY = 'fenceline.dev/quarantine';
export const FORCE_EVICTION_KEY = 'fenceline.dev/force-eviction';
export const OUT_OF_SERVICE_KEY = 'node.kubernetes.io/out-of-service';
export const CLOUD_SHUTDOWN_KEY = 'node.cloudprovider.kubernetes.io/shutdown';
/** While a remedy runs: since when, and in which pod. */
export const REMEDIATION_TIME_ANNOTATION = 'fenceline.dev/remediation-timestamp';
export const REMEDIATION_POD_ANNOTATION = 'fenceline.dev/remediation-podname';
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
export interface LiveNode extends MachineClaims {
  name: string;
  uid: string;
  resourceVersion: string;
  bootId: string;
  /** Another node has the same just now; whether it says anything of this one: see `sharesBoot`. */
  sharesBootId?: boolean;
  labels: Readonly<Record<string, string>>;
  ready: ConditionStatus | undefined;
  /** When its Node was made, by the API server's clock; `lastTransitionTime` and `lastHeartbeatTime` of Ready, as written. Absent: there is none. */
  createdAt?: string;
  readySince?: string;
  heartbeatTime?: string;
  taints: readonly TaintFacts[];
  volumesInUse: readonly string[];
  /** Who last wrote the list of taints, as far as the API server knows. */
  taintedBy?: string;
  /** All conditions but for times, which are by the clock of whoever wrote them. */
  conditions?: readonly { type: string; status: ConditionStatus }[];
  isCordoned?: boolean;
  /** By us: it is ours to take away; and for a drain of ours. */
  isOurCordon?: boolean;
  isDrainCordon?: boolean;
  /** It says that we cordoned it, and somebody has taken that away since. */
  hasOldCordonNote?: boolean;
  /** As it is written on the node. */
  maintenanceUntil?: string;
  /** What we noted of a remedy that runs. */
  remediation?: Remediation;
  /** What others have in mind with it. */
  plans?: Plans;
  /** Where its kubelet listens; absent: it does not say. */
  kubelet?: { address: string; port: number };
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
  /** As it was deleted with; 0: by force, and only finalizers keep the object. And how long a kubelet that ends it lets it take. */
  graceSeconds?: number;
  endsWithinSeconds: number;
  /** A copy in the API of what a kubelet runs from a file of its own. */
  mirror: boolean;
  labels: Readonly<Record<string, string>>;
  tolerations: readonly TolerationFacts[];
  /** No scheduler chose the node, or it could have chosen no other: whoever makes the pod again makes it here. */
  isPinned: boolean;
  /** Its claims, by the name of the volume in the pod. */
  claims: readonly { volume: string; claim: string }[];
  /** Volumes that lead to storage without a claim, such as `data (iscsi)`. */
  directVolumes: readonly string[];
  /** One of these may be attached to the node, under a name that only whoever attached it knows. */
  attachesDirectly: boolean;
  /** Somebody wants to do something before its object goes. */
  hasFinalizers: boolean;
  hasConditions: boolean;
  /** Where among its conditions DisruptionTarget is, if it is there, and Ready, if it is True. */
  disruptionAt?: number;
  readyAt?: number;
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
      /** Of the old kind, and attached to nodes: perhaps by a driver that it was migrated to, under a name of that one. */
      inTree?: boolean;
      provisionedBy?: string;
      accessModes: readonly string[];
    };

export interface DriverFacts {
  name: string;
  safeDetach: boolean;
  /** Its annotation says "false" in so many words, which no policy overrules. */
  deniesSafeDetach?: boolean;
  unpublishFence: boolean;
  /** It does without attaching (`attachRequired: false`): there is nothing whose detach could prove anything. */
  attachless?: boolean;
  /** An annotation of ours that is neither "true" nor "false". */
  malformed?: string;
}

export interface AttachmentFacts {
  name: string;
  uid: string;
  node: string;
  /** The name of the PersistentVolume, or what tells an inline one apart; empty: unreadable. */
  volume: string;
  /** Of a volume without a PersistentVolume. */
  inline?: boolean;
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
  /** The hash of the template from which the Job of a remedy is made. */
  templates: Readonly<Record<string, string>>;
  fence: {
    isolateAfterMs: number;
    powerManagementAfterMs: number;
    bootTimeoutMs: number;
    retries: number;
    restarts: number;
    /** Its Node object goes when the machine is off and nothing is left there. */
    machineRemoved: boolean;
    /** A machine that nobody of us switched off is switched on as well. */
    powerOnFoundOff: boolean;
    /** That its machine is off is said on the Node, too. */
    markOutOfService: boolean;
    /** How often devices are asked that cost little to ask; absent: nobody is before a node is suspect. */
    powerWatch?: { everyMs: number };
  };
  storm: {
    maxUnresponsive: number | string;
    maxConcurrent: number;
    /** After a storm nothing harsh is begun for so long. */
    cooldownMs: number;
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
export interface PolicyFacts extends SoakFacts, NodeChoice, Using {
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
  budgets: (typeof BUDGET_POLICIES)[number];
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

export interface LeaseSign extends Pulse {
  renewTime: string;
  /** It was seen to be renewed after the node was seen to be not Ready. */
  renewedSinceNotReady: boolean;
  /** It was seen to change at all; the first sight of a Lease says nothing about when it was renewed. */
  renewed?: boolean;
}

/** Seen of every node all the time, and cheap: whether somebody has to look closer is decided from this alone. */
export interface Sighting extends Started {
  name: string;
  view: NodeView;
  limits: JudgeLimits;
  policies: PolicySummary;
  /** Its record has something under way, or something to undo. */
  hasOpenRecord: boolean;
  alarm: AlarmSign;
  /** Its Lease was read live for this look already. */
  leaseWasRead?: boolean;
  /** What its devices said when they were asked about its power. */
  power?: PowerFacts;
}

/** What all policies together watch for. */
export interface PolicySummary {
  count: number;
  thresholds: readonly Pick<LadderThreshold, 'condition' | 'lease'>[];
  hasAlarms: boolean;
  /** One of them has a fence for silence, of whatever threshold: whether a machine is off is asked as soon as it is suspect. */
  fencesSilence: boolean;
  /** Changes with every edit of a policy. */
  stamp: string;
}

/** Conditions of the node, each with the time for which we have seen it so, by our own clock. */
export interface TroubleFacts {
  conditions: readonly { type: string; status: ConditionStatus; forMs: number }[];
  /** How long its Lease has been seen unchanged, or Kubernetes has not heard of one that has none; absent: nobody has found it so. */
  leaseSilentMs?: number;
  /** How long its Lease says that it lasts. */
  leaseDurationMs?: number;
}

export interface ZoneCount {
  zone: string;
  nodes: number;
  troubled: number;
}

/** How many nodes there are and how many of them are in trouble, this one counted among them. */
export interface TroubleCount extends StormFacts, Placed {
  nodes: number;
  /** Silent, not judged yet, or under fence: against everything. */
  troubled: number;
  unjudged: number;
  /** Who was there is counted, not who is: somebody has joined since the storm began, or was deleted. */
  isAsItBegan?: boolean;
  /** Zones with a name, in the order in which they were found. */
  zones: readonly ZoneCount[];
  /** By threshold of the policy: how many more have its condition, in all and by zone. */
  byThreshold: Readonly<Record<string, { troubled: number; zones: Readonly<Record<string, number>> }>>;
  /** Other nodes with a fence under way, and with another remedy that cannot be taken back. */
  fencing: readonly string[];
  remedying: readonly string[];
  /** Of a node that is one of such a group: how many there are, how many in trouble, and who else is under fence. */
  quorums?: readonly { of: string; nodes: number; troubled: number; busy: readonly string[] }[];
  /** When a fence that is under way elsewhere has last come a step further; absent: none is. */
  fencedAtMs?: number;
}

/**
 * Everything that a decision about one node rests on: a plain value that can be written as JSON and decided again. What is
 * large and never looked into, the pod templates of remedies, is in it by hash.
 */
export interface NodeCase extends Sighting, Recorded, Refusable, Begun, PortFacts, OtherNodes {
  /** The API server's clock, from the answer to the read of the node: never ahead of the truth. */
  serverNowMs: number;
  /** Who decides: the holder of what is recorded. */
  identity: string;
  /** Absent: there is no Node object. */
  node?: LiveNode;
  lease?: LeaseSign;
  policy: PolicyMatch;
  pods: readonly PodFacts[];
  /** Nobody has read its pods: that there are none in `pods` says nothing, and nothing is done before they are read. */
  isUnread?: true;
  /** By `namespace/claim`. */
  volumes: Readonly<Record<string, VolumeFacts>>;
  drivers: Readonly<Record<string, DriverFacts>>;
  /** Those of this node, and those elsewhere of the volumes that its pods use. */
  attachments: readonly AttachmentFacts[];
  /** Claims, as `namespace/claim`, that a pending pod on no node or another one waits for. */
  awaited: readonly string[];
  /** Budgets of the pods' namespaces that allow no disruption; absent: they could not be read. */
  budgets?: readonly SpentBudget[];
  /** A crashed kernel has reported itself from this address, when this was known of the node; and so long ago for the last time. */
  crash?: { bootId: string; address: string; signs: Signs; heardForMs: number };
  trouble: TroubleFacts;
  /** How the node is fenced, or what is wrong with what is written about it. */
  config: ConfigResult;
  count: TroubleCount;
  /** Absent: there is no fence yet that could have been called for. */
  around?: Surroundings;
  /** Absent: its own devices can say whose power it is, or a drill has shown it. */
  beside?: Beside;
  /** The same two for the fence that is only rehearsed: what was seen since that began says nothing of a real one. */
  rehearsed?: { around?: Surroundings; beside?: Beside };
  /** Absent: no policy limits it. */
  allowance?: Allowance;
  /** Whoever decides runs on this very node. Absent: on another one, or nobody knows. */
  own?: OwnNode;
  /** The Job that runs: its UID, and its pod once there is one. */
  job?: { name: string; uid: string; pod?: string };
  /** Its devices said on when they were asked before a release, in the phase of its fence that began then. */
  onAgain?: { since: string; message: string };
  /** What the devices said that could have cut it off from its storage; absent: nobody has asked them. */
  storage?: PowerFacts;
  /** Its devices were asked before a release and did not say off, in the phase that began then: for how long in a row. */
  unconfirmed?: Unconfirmed & { since: string };
  /** What came of the last knock at the port of its kubelet, and how long ago it was; without `port`: nothing yet. */
  kubelet?: { askedForMs: number; port?: 'open' | 'refused' | 'silent' | 'unknown' };
  /** Acts that this process has carried out on the node and that are not on record yet. */
  deeds?: number;
  /** Whether somebody has paused everything. */
  pause: SeenPause;
  /** Where the Jobs of remedies are made. */
  namespace: string;
}

/** With a Node object: of a machine that is gone nothing can be remedied. */
export type PresentCase = NodeCase & { node: LiveNode };
