/**
 * What is known of a node, and what is thought of it: the words that watching, judging and reporting share.
 *
 * Types and constants only, and none of the schemas, so that the operator does not load them.
 */
import type { Pulse } from './life.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export interface NodeCondition {
  type: string;
  status: ConditionStatus;
  reason: string;
  /** `lastTransitionTime` as written, by the clock of whoever wrote it. */
  since: string;
}

/** A Node, projected to what matters. */
export interface NodeFacts {
  name: string;
  uid: string;
  bootId: string;
  /** Which machine it says that it is, by hashes. */
  machine: readonly string[];
  /** By what that is told from another one that had its name before. */
  machineId: string;
  /** When its Node was made, by the API server's clock. */
  createdAt?: string;
  /** Where its kubelet, or its crashed kernel, sends from. */
  addresses: readonly string[];
  zone: string;
  /** It is labelled as one of the control plane; absent: it is not. */
  isControlPlane?: true;
  /** It is labelled as one of those that run etcd. */
  isEtcd?: true;
  unschedulable: boolean;
  /** Its taints that mean something to us, and what we have noted on it ourselves, by key. */
  marks: readonly string[];
  conditions: NodeCondition[];
  /** `lastHeartbeatTime` of Ready as written, by the clock of the node; absent: it has not reported. */
  heartbeatTime?: string;
}

/** A node's heartbeat in kube-node-lease. */
export interface LeaseFacts extends Pulse {
  /** `renewTime` as written, by the node's own clock. For people: ages are never computed from it in the operator. */
  renewTime: string;
  /** A quorum read, made after `unchangedForMs` had passed the limit, found it still the same. */
  confirmed: boolean;
  /** How long ago its kubelet was last seen to write the status of its node, by our own clock; absent: it was not. */
  reportedForMs?: number;
}

export interface NodeView {
  name: string;
  /** Absent: there is no such Node object. */
  node?: NodeFacts;
  lease?: LeaseFacts;
  /** Its power is watched, and was found off; absent: it was not, or nobody watches. */
  power?: { says: 'off'; message: string };
  /** Everything that had happened this long ago is in here. */
  ageMs: number;
  /** Since the API server last answered anything. */
  silentMs: number;
}

/** None of them says dead: that takes proof of a kind that silence never is. `unknown` is not a mild form of down: it says that we cannot see, and nothing may be concluded from it. */
export const VERDICTS = ['healthy', 'suspect', 'down', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Why a node is judged as it is. API: alerts are built on these words. */
export const VERDICT_REASONS = {
  ReadyAndRenewing: 'Ready is True, and its Lease is being renewed.',
  ReadyWithoutLease: 'Ready is True; it has no Lease, so that its condition alone is judged.',
  LeaseStale: 'Ready still reads True, but its Lease has not been renewed for too long.',
  LeaseGone:
    'Ready still reads True, but its Lease was deleted, and no kubelet has made it again; ladders wait until Kubernetes has not heard of it either.',
  PoweredOff: 'Ready still reads True, but its devices say that it is off, and its kubelet does not answer.',
  NotReady: 'Ready is False: its kubelet reports that it cannot work.',
  ReadyUnknown:
    'Ready is Unknown: Kubernetes has not heard from its kubelet for its grace period (or was told by us that its machine is off: FencelinePoweredOff).',
  NodeGone: 'There is no Node object of this name.',
  NoReadyCondition: 'Its kubelet has not reported yet.',
  ApiSilent: 'The API server does not answer: we are blind, the node may be well.',
  ViewTooOld: 'What is known of it is too old to judge by.',
} as const;
export type VerdictReason = keyof typeof VERDICT_REASONS;

export interface EvidenceItem {
  source: 'Condition' | 'Lease' | 'NodeDeletion' | 'Power' | 'View';
  says: 'Alive' | 'Dead' | 'Unknown';
  detail: string;
}

export interface Judgement {
  verdict: Verdict;
  reason: VerdictReason;
  evidence: EvidenceItem[];
  /** Judge again after this time even if nothing changes. */
  recheckInMs: number;
  /** What has to be read live before the verdict can be given; until then it stays as it is. */
  wants?: 'liveLease';
}

/** From when on silence means something. */
export interface JudgeLimits {
  /** A Lease that has not been renewed for so long makes a node suspect, but none whose kubelet need not have renewed it yet. */
  leaseStaleForMs: number;
  /** An API server that has said nothing for so long leaves us blind. */
  silentForMs: number;
  /** Bookmarks come once a minute, so that a quiet view is up to that old and still good. */
  viewAgeMs: number;
}

/** Whether problems were counted that an alarm may be about, and whether one is raised. */
export interface AlarmSign {
  problems: 'none' | 'counted' | 'alarmed';
  /** When somebody last looked: at which state of the policies, and whether it is time to look again. */
  looked?: { stamp: string; isDue: boolean };
}
