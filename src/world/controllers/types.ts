/** The parts of Kubernetes objects that its controllers read or write, wider than what a kubelet needs of them. */
import type { KubeObject, ObjectMeta } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';
import type { Condition, ContainerStatus, PodVolumeSource } from '../objects/objects.ts';

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

/** Of a label selector or of a node affinity; the latter also knows Gt and Lt. */
export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface NodeSelectorTerm {
  matchExpressions?: Requirement[];
  matchFields?: Requirement[];
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey: string;
}

export interface Affinity {
  nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] } };
  podAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] };
  podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] };
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  schedulerName?: string;
  containers: { name: string; image?: string; resources?: { requests?: Record<string, string> } }[];
  volumes?: PodVolumeSource[];
  tolerations?: Toleration[];
  affinity?: Affinity;
  terminationGracePeriodSeconds?: number;
  restartPolicy?: string;
  hostNetwork?: boolean;
  hostname?: string;
  subdomain?: string;
  priority?: number;
  schedulingGates?: object[];
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string>; finalizers?: string[] };
  spec: PodSpec;
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] };
  status?: {
    conditions?: Condition[];
    allocatable?: Record<string, string>;
    volumesInUse?: string[];
    volumesAttached?: { name: string; devicePath: string }[];
  };
}

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
  status?: Record<string, unknown> & { disruptedPods?: Record<string, string>; conditions?: Condition[] };
}

export interface PersistentVolumeClaim extends KubeObject {
  spec?: {
    volumeName?: string;
    accessModes?: string[];
    storageClassName?: string;
    volumeMode?: string;
    selector?: LabelSelector;
    resources?: { requests?: { storage?: string } };
  };
  status?: Record<string, unknown> & { phase?: string };
}

export interface PersistentVolume extends KubeObject {
  spec: {
    csi?: { driver: string; volumeHandle: string };
    capacity?: { storage?: string };
    accessModes?: string[];
    storageClassName?: string;
    volumeMode?: string;
    persistentVolumeReclaimPolicy?: string;
    claimRef?: { apiVersion?: string; kind?: string; namespace: string; name: string; uid?: string };
    nodeAffinity?: { required?: { nodeSelectorTerms: NodeSelectorTerm[] } };
  };
  status?: Record<string, unknown> & { phase?: string };
}

export interface StorageClass extends KubeObject {
  provisioner: string;
  reclaimPolicy?: string;
  volumeBindingMode?: string;
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status?: { attached: boolean; attachError?: { message?: string }; detachError?: { message?: string } };
}

/** With `blockOwnerDeletion`, which the client itself has no use for. */
export function ownersOf(object: KubeObject): OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return ownersOf(object).find(({ controller }) => controller === true);
}

export function controlledBy(owner: KubeObject, resource: Resource): OwnerReference {
  return {
    apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
    kind: resource.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function keyOf({ metadata: { namespace, name } }: { metadata: Pick<ObjectMeta, 'name' | 'namespace'> }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function conditionOf(
  object: { status?: { conditions?: Condition[] } } | undefined,
  type: string,
): Condition | undefined {
  // Asked of every pod whenever its owner looks at it: a loop costs a fraction of `find`.
  for (const condition of object?.status?.conditions ?? noConditions) if (condition.type === type) return condition;
  return undefined;
}

const noConditions: readonly Condition[] = [];

export function isReady(object: { status?: { conditions?: Condition[] } } | undefined): boolean {
  return conditionOf(object, 'Ready')?.status === 'True';
}

export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
}
