/**
 * What the API server holds, as it happens: every write is told here once, in order. It belongs to the simulation, not
 * to anybody in it, so it needs no watch and is never behind.
 */
import type { KubeObject } from '../kube/client.ts';
import type { ReplicaObject, StorageNode } from '../world/longhorn/objects.ts';
import { keyOf } from '../world/objects/meta.ts';
import type { Node } from '../world/objects/nodes.ts';
import type { Pod } from '../world/objects/pods.ts';
import type { PersistentVolume, VolumeAttachment } from '../world/objects/volumes.ts';
import type { PodDisruptionBudget } from '../world/objects/workloads.ts';

export interface StoredChange {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
  previous: KubeObject | undefined;
}

export interface StoredEvent extends KubeObject {
  reason?: string;
  count?: number;
  deprecatedCount?: number;
  series?: { count?: number };
}

export interface StoredFence extends KubeObject {
  spec?: {
    node?: string;
    policy?: string;
    stop?: boolean;
    requested?: { by: string; at: string; withoutPolicy?: boolean };
  };
  status?: {
    holder?: string;
    fence?: {
      step?: string;
      status?: string;
      phase?: string;
      startedAt?: string;
      stepStartedAt?: string;
      message?: string;
      switched?: StoredSwitch[];
      releasedAt?: string;
      waitsFor?: string;
      cleanResources?: boolean;
      bootId?: string;
    };
    incident?: { id: string; nodeUid?: string };
    approval?: { at?: string; incident?: string };
    hold?: { reason?: string; message?: string; since?: string };
    return?: { stage?: string; waitsFor?: string; soakUntil?: string };
    releases?: StoredRelease[];
    stuck?: { namespace: string; name: string; reason: string; message: string }[];
    conditions?: { type: string; status: string; reason?: string }[];
  };
}

/** What the operator has written down of something that it switches off. */
export interface StoredSwitch {
  step: string;
  method: string;
  device?: string;
  storage?: string[];
  commandSentAt?: string;
  confirmedAt?: string;
}

/** Whether a command may have been sent, as far as is written down. */
export function hasSent(fence: StoredFence | undefined): boolean {
  return (fence?.status?.fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt !== undefined);
}

/** What the operator has written down of something that it lets go. */
export interface StoredRelease {
  podsGoneAt?: string;
  basis: string;
  by?: string;
  nodeUid: string;
  bootId?: string;
  recordedAt: string;
  endedAt?: string;
  pods?: { namespace: string; name: string; uid: string }[];
  attachments?: string[];
  volumes?: string[];
}

export interface StoredPolicy extends KubeObject {
  spec?: {
    allNodes?: boolean;
    selector?: { matchLabels?: Record<string, string> };
    priority?: number;
    mode?: string;
    thresholds?: {
      condition?: { type: string; status: string; for?: string };
      remedies?: { name: string }[];
    }[];
    remedies?: { name: string }[];
    release?: {
      riskAfterFailedFence?: boolean;
      safeDetach?: string[];
      podDeletion?: string;
      volumeAttachmentRecovery?: string;
      owners?: { group: string; kind: string }[];
    };
    storm?: {
      maxUnresponsive?: number | string;
      maxConcurrent?: number;
      podsPerMinute?: number;
      cooldown?: string;
      skipWhen?: { type: string; status: string }[];
    };
  };
}

export interface StoredDrainPolicy extends KubeObject {
  spec?: { policy?: string; priority?: number; selector?: { matchLabels?: Record<string, string> } };
}

export class ClusterState {
  readonly pods = new Map<string, Pod>();
  readonly nodes = new Map<string, Node>();
  readonly attachments = new Map<string, VolumeAttachment>();
  readonly fences = new Map<string, StoredFence>();
  readonly budgets = new Map<string, PodDisruptionBudget>();
  readonly volumes = new Map<string, PersistentVolume>();
  readonly drivers = new Map<string, KubeObject>();
  readonly policies = new Map<string, StoredPolicy>();
  readonly drainPolicies = new Map<string, StoredDrainPolicy>();
  readonly replicas = new Map<string, ReplicaObject>();
  readonly storageNodes = new Map<string, StorageNode>();
  /** The last that was known of each Node, also when it is gone. */
  readonly lastNodes = new Map<string, Node>();
  readonly #eventCounts = new Map<string, { reason: string; count: number }>();
  readonly #kinds: Record<string, Map<string, KubeObject>> = {
    Pod: this.pods,
    Node: this.nodes,
    VolumeAttachment: this.attachments,
    NodeFence: this.fences,
    PodDisruptionBudget: this.budgets,
    PersistentVolume: this.volumes,
    CSIDriver: this.drivers,
    RemedyPolicy: this.policies,
    DrainPolicy: this.drainPolicies,
    Replica: this.replicas,
    StorageNode: this.storageNodes,
  };

  apply(change: StoredChange): void {
    const { type, object } = change;
    if (object.kind === 'Event') {
      this.#countEvent(object);
      return;
    }
    const kind = this.#kinds[object.kind ?? ''];
    if (kind === undefined) return;
    if (type === 'DELETED') kind.delete(keyOf(object));
    else kind.set(keyOf(object), object);
    if (object.kind === 'Node') this.lastNodes.set(object.metadata.name, object);
  }

  /** How often something of this reason was reported, repetitions in a series included. */
  eventCount(reason: string): number {
    let sum = 0;
    for (const event of this.#eventCounts.values()) if (event.reason === reason) sum += event.count;
    return sum;
  }

  eventReasons(): Set<string> {
    return new Set([...this.#eventCounts.values()].map(({ reason }) => reason));
  }

  #countEvent(event: StoredEvent): void {
    const count = event.series?.count ?? event.deprecatedCount ?? event.count ?? 1;
    const key = event.metadata.uid ?? keyOf(event);
    const known = this.#eventCounts.get(key);
    // An event that expires has happened all the same.
    this.#eventCounts.set(key, { reason: event.reason ?? '', count: Math.max(count, known?.count ?? 0) });
  }
}
