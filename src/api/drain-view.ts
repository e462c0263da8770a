/**
 * What the drain guard decides from, and what it decides: facts of a storage system with replicas, its pods and their
 * budgets, and the cordons of nodes. Types only.
 *
 * Whatever could not be read is `unknown`, a value of its own: a copy that may be healthy is guarded like one that is,
 * and never counted upon like one that is.
 */
import type { DRAIN_POLICIES, ENFORCEMENTS } from './policy-defaults.ts';
import type { NodeChoice } from './node-choice.ts';
import type { DRAINING, EVENTS, GUARDING } from './reasons.ts';

export type DrainPolicyName = (typeof DRAIN_POLICIES)[number];

/** A DrainPolicy, projected to what matters. */
export interface DrainPolicyFacts extends NodeChoice {
  name: string;
  uid: string;
  generation: number;
  policy: DrainPolicyName;
  /** Where the storage system runs. */
  namespace: string;
  enforcement: (typeof ENFORCEMENTS)[number];
}

/** Who keeps the budgets: we, the storage system by itself, or nobody because we are only to watch. */
export type EffectiveEnforcement = 'enforce' | 'storage' | 'observe';

/** Which DrainPolicy is in force for a node, and what may be done under it. */
export type DrainPolicyMatch =
  | {
      kind: 'one';
      name: string;
      /** By which drains of the node really wait: where the storage system keeps the budgets, its own. */
      policy: DrainPolicyName;
      enforcement: EffectiveEnforcement;
      /** What the policy asks for, where the storage system guards less than that; and by what. */
      lacks?: { wanted: DrainPolicyName; own: DrainPolicyName | 'unknown' };
      /** Which others select the node just as specifically and are younger. */
      over?: readonly string[];
    }
  | { kind: 'none' };

/** One object exactly as it was read. */
export interface ObjectVersion {
  name: string;
  uid: string;
  resourceVersion: string;
}

/** One copy of a volume. */
export interface ReplicaFacts extends ObjectVersion {
  /** Absent: not written yet. */
  volume?: string;
  /** Absent: on no node yet, or not written. */
  node?: string;
  disk?: string;
  /** `empty`: it never held data. `rebuilding`: it does not hold all of it. */
  copy: 'healthy' | 'rebuilding' | 'failed' | 'empty' | 'unknown';
  /** What the storage system has written down of it, by which its own guard goes: it may lag behind what is so. */
  recorded: 'healthy' | 'failed' | 'empty';
  activity: 'running' | 'stopped' | 'unknown';
  evictionRequested: boolean;
  /** The DrainPolicy for which we asked it to leave; absent: we did not. */
  requestedFor?: string;
  deleting: boolean;
  /** What has to be there before the mark of a request can be added. */
  annotated: boolean;
}

export interface VolumeFacts {
  name: string;
  attachment: 'attached' | 'detached' | 'unknown';
  /** Absent: not written. */
  sizeBytes?: number;
  /** How many copies there should be; absent: not written. */
  wantedReplicas?: number;
  /** Two replicas may share a node; absent: as the storage system does in general. */
  softAntiAffinity?: boolean;
  /** Nodes through which it is written; absent: none is known. */
  usedOn?: readonly string[];
}

export interface DiskFacts {
  name: string;
  evictionRequested: boolean;
  /** It takes no new replica. */
  closed: boolean;
  /** Absent: not known. */
  roomBytes?: number;
}

/** A node as the storage system sees it. */
export interface StorageNodeFacts extends ObjectVersion {
  ready: boolean | 'unknown';
  /** A user wants every replica gone from it. */
  evictionRequested: boolean;
  closed: boolean;
  autoEvicting: boolean;
  /** The object has a status to which something can be added. */
  reported: boolean;
  disks: readonly DiskFacts[];
}

/** A pod that serves the replicas of one node; known also while no such pod runs. */
export interface StoragePodFacts {
  name: string;
  node: string;
  /** Labels that it has and no pod of another node. */
  labels: Readonly<Record<string, string>>;
  /** It runs and answers, as far as the storage system says. */
  serving: boolean | 'unknown';
}

export interface BudgetFacts extends ObjectVersion {
  ours: boolean;
  /** Of one of ours: the node that it was made for. */
  node?: string;
  /** Being taken away by us: nobody may count on it any more. */
  withdrawing: boolean;
  deleting: boolean;
  /** Lets no pod go, as far as it is about one. */
  blocks: boolean;
  /** UIDs of the DrainPolicies that it names as its owners: when the last of them is gone, Kubernetes deletes it. */
  owners: readonly string[];
  /** Absent: it selects no pod. */
  selector?: { matchLabels: Readonly<Record<string, string>>; hasExpressions: boolean };
}

export interface DrainNode {
  name: string;
  /** Absent: there is no Node of this name, so that nobody knows whether it is to be drained. */
  cordoned?: boolean;
  /** Cordoned by a fence or a remedy of ours, and drained by nobody. */
  isOnlyOurs?: boolean;
  policy: DrainPolicyMatch;
  /** Absent: the storage system does not know the node. */
  storage?: StorageNodeFacts;
}

/** A DrainPolicy as the owner of a budget. */
export interface BudgetOwner {
  name: string;
  uid: string;
}

/** Everything that a decision rests on, of one installation of one storage system. */
export interface DrainView {
  namespace: string;
  nodes: readonly DrainNode[];
  pods: readonly StoragePodFacts[];
  volumes: readonly VolumeFacts[];
  replicas: readonly ReplicaFacts[];
  /** All of that namespace, whoever made them. */
  budgets: readonly BudgetFacts[];
  /**
   * Every DrainPolicy of this installation, whomever it selects: each budget is owned by all of them, so that it goes with the last
   * one, also where no operator runs, and with none before.
   */
  owners: readonly BudgetOwner[];
  /** Replicas of one volume may share a node unless the volume says otherwise. */
  softAntiAffinity: boolean;
}

export type DrainingReason = keyof (typeof DRAINING)['reason'];
export type GuardingReason = keyof (typeof GUARDING)['reason'];
export type DrainEvent = keyof (typeof EVENTS)['reason'];

/** Why a drain of the node waits. */
export interface Block {
  reason: DrainingReason;
  message: string;
  volume?: string;
  replica?: string;
}

/** A copy elsewhere that the withdrawal of a budget counts upon; to be found like this by a live read right before. */
export interface CountedCopy {
  volume: string;
  replica: { name: string; uid: string };
  node: string;
  /** `selector`: the labels by which it is over the pod there, and over no other. */
  budget: { name: string; uid: string; selector: Readonly<Record<string, string>> };
  /** It has to run as well. */
  running?: true;
}

export type DrainAction =
  | {
      do: 'createBudget';
      node: string;
      name: string;
      selector: Readonly<Record<string, string>>;
      owners: readonly BudgetOwner[];
    }
  /** Put right in its place, so that the pod is at no moment without one: somebody edited it, or it has other owners. */
  | {
      do: 'repairBudget';
      node: string;
      budget: ObjectVersion;
      /** Absent: it keeps what it is to keep, and only its owners are others. */
      selector?: Readonly<Record<string, string>>;
      owners: readonly BudgetOwner[];
    }
  /** Says that it is about to go, so that nobody counts on it; taken back by `keepBudget`. */
  | { do: 'announceWithdrawal'; node: string; budget: ObjectVersion }
  | { do: 'keepBudget'; node: string; budget: ObjectVersion }
  /** Only if every copy it counts upon is still healthy, and its budget stands and is not being withdrawn (S31). */
  | { do: 'deleteBudget'; node: string; budget: ObjectVersion; counts: readonly CountedCopy[] }
  | { do: 'requestEviction'; node: string; replica: ReplicaFacts; policy: string; event: DrainEvent; message: string }
  | { do: 'withdrawEviction'; node: string; replica: ReplicaFacts; event: DrainEvent; message: string }
  | { do: 'setAutoEvicting'; node: string; storage: StorageNodeFacts; value: boolean };

export interface NodeDrainDecision {
  node: string;
  policy: DrainPolicyMatch;
  /** Undefined: there is no Node of this name. */
  cordoned: boolean | undefined;
  /** Whether a drain is to wait: now, or, of a node that is not cordoned, if it were. */
  blocked: boolean;
  /** Replicas are leaving because of the policy. */
  autoEvicting: boolean;
  /** The first of `blocks`, or why there is none. */
  reason: DrainingReason;
  message: string;
  blocks: readonly Block[];
  guarding: GuardingReason;
  guardingMessage: string;
}

export interface DrainDecision {
  nodes: readonly NodeDrainDecision[];
  /** In this order; those of one node that fail end what follows for it. */
  actions: readonly DrainAction[];
  /** The node whose budget is being withdrawn. */
  withdrawing?: string;
}

/** A Node as a drain sees it. Its labels are kept only here: a cluster without a DrainPolicy need not remember them. */
export interface CordonFacts {
  name: string;
  /** It is to be drained. */
  cordoned: boolean;
  /** It takes no pods because a fence or a remedy of ours has cordoned it, and nobody drains it. */
  isOnlyOurs?: boolean;
  labels: Readonly<Record<string, string>>;
}

/** What a storage system says of itself. */
export interface StorageFacts {
  nodes: readonly StorageNodeFacts[];
  pods: readonly StoragePodFacts[];
  volumes: readonly VolumeFacts[];
  replicas: readonly ReplicaFacts[];
  softAntiAffinity: boolean;
  /** It keeps budgets over its pods by itself, under this policy of its own; absent: it keeps none. */
  ownPolicy?: DrainPolicyName | 'unknown';
}
