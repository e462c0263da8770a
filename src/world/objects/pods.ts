/** Pods, and the template that workloads make them from. */
import type { KubeObject } from '../../kube/client.ts';
import type { Condition, LabelSelector } from './meta.ts';
import { controllerOf } from './meta.ts';
import type { NodeSelectorTerm } from './nodes.ts';

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
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

export interface PodVolumeSource {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  /** A claim made for this pod alone, named after both. */
  ephemeral?: object;
}

export interface Container {
  name: string;
  image?: string;
  args?: string[];
  resources?: { requests?: Record<string, string> };
  volumeMounts?: { name: string; mountPath: string }[];
}

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  schedulerName?: string;
  containers: Container[];
  volumes?: PodVolumeSource[];
  tolerations?: Toleration[];
  affinity?: Affinity;
  readinessGates?: { conditionType: string }[];
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  restartPolicy?: string;
  hostNetwork?: boolean;
  hostname?: string;
  subdomain?: string;
  priority?: number;
  schedulingGates?: object[];
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state: ContainerState;
  /** How the container before this one ended. */
  lastState?: ContainerState;
}

export interface ContainerState {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; finishedAt: string; startedAt?: string; containerID?: string };
}

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    startTime?: string;
    hostIP?: string;
    hostIPs?: { ip: string }[];
    podIP?: string;
    podIPs?: { ip: string }[];
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string>; finalizers?: string[] };
  spec: PodSpec;
}

/** Set on the copy in the API of a pod that a kubelet runs from a file of its own. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** What runs on a node because of the node: a drain leaves it there. */
export function isOfTheNode(pod: Pod): boolean {
  return pod.metadata.annotations?.[mirrorAnnotation] !== undefined || controllerOf(pod)?.kind === 'DaemonSet';
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
}

/** The names of the claims that a pod uses, those made for it alone included. */
export function claimsOf({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${metadata.name}-${volume.name}`];
  });
}
