/** What makes pods, and what protects them from being evicted. */
import type { KubeObject } from '../../kube/client.ts';
import type { Condition, LabelSelector } from './meta.ts';
import type { PodTemplate } from './pods.ts';
import type { PersistentVolumeClaim } from './volumes.ts';

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    serviceName?: string;
    podManagementPolicy?: string;
    minReadySeconds?: number;
    selector: LabelSelector;
    template: PodTemplate;
    ordinals?: { start?: number };
    volumeClaimTemplates?: PersistentVolumeClaim[];
    updateStrategy?: { type?: string; rollingUpdate?: { partition?: number } };
  };
  status?: Record<string, unknown> & { currentRevision?: string; updateRevision?: string; currentReplicas?: number };
}

export interface ControllerRevision extends KubeObject {
  revision: number;
  data?: { spec?: { template?: PodTemplate } };
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas?: number; minReadySeconds?: number; selector: LabelSelector; template: PodTemplate };
  status?: Record<string, unknown> & { replicas?: number; availableReplicas?: number; readyReplicas?: number };
}

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector: LabelSelector;
    template: PodTemplate;
    paused?: boolean;
    revisionHistoryLimit?: number;
    strategy?: { type?: string; rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string } };
  };
  status?: Record<string, unknown> & { conditions?: Condition[] };
}

export interface DaemonSet extends KubeObject {
  spec: {
    selector: LabelSelector;
    template: PodTemplate;
    updateStrategy?: { type?: string; rollingUpdate?: { maxUnavailable?: number | string } };
  };
  status?: Record<string, unknown>;
}

export interface Job extends KubeObject {
  spec: {
    parallelism?: number;
    completions?: number;
    backoffLimit?: number;
    activeDeadlineSeconds?: number;
    suspend?: boolean;
    podReplacementPolicy?: string;
    podFailurePolicy?: object;
    template: PodTemplate;
  };
  status?: Record<string, unknown> & {
    conditions?: Condition[];
    succeeded?: number;
    failed?: number;
    startTime?: string;
  };
}

export interface PodDisruptionBudget extends KubeObject {
  spec: { minAvailable?: number | string; maxUnavailable?: number | string; selector?: LabelSelector };
  status?: Record<string, unknown> & {
    disruptionsAllowed?: number;
    disruptedPods?: Record<string, string>;
    conditions?: Condition[];
  };
}
