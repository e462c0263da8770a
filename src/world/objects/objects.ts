/** The parts of Kubernetes objects that the simulated fleet reads or writes, and their notation of time. */
import type { KubeObject } from '../../kube/client.ts';

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastHeartbeatTime?: string;
  lastProbeTime?: string | null;
  observedGeneration?: number;
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
}

export interface NodeInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  /** Required by the API; empty in current versions. */
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
}

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: Taint[]; podCIDR?: string };
  status?: {
    conditions?: Condition[];
    addresses?: { type: string; address: string }[];
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    nodeInfo?: NodeInfo;
    daemonEndpoints?: { kubeletEndpoint: { Port: number } };
    volumesInUse?: string[];
    volumesAttached?: { name: string; devicePath: string }[];
  };
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

export interface Pod extends KubeObject {
  spec: {
    nodeName?: string;
    nodeSelector?: Record<string, string>;
    containers: Container[];
    volumes?: PodVolumeSource[];
    tolerations?: Toleration[];
    readinessGates?: { conditionType: string }[];
    terminationGracePeriodSeconds?: number;
    activeDeadlineSeconds?: number;
    restartPolicy?: string;
    hostNetwork?: boolean;
  };
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
  };
}

export interface PersistentVolumeClaim extends KubeObject {
  spec?: { volumeName?: string };
  status?: { phase?: string };
}

export interface PersistentVolume extends KubeObject {
  spec: { csi?: { driver: string; volumeHandle: string } };
}

export interface CsiDriver extends KubeObject {
  spec: { attachRequired?: boolean };
}

export interface CsiNode extends KubeObject {
  spec: { drivers: { name: string; nodeID: string; topologyKeys: string[] | null }[] };
}

export interface Lease extends KubeObject {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
}

export interface VolumeAttachment extends KubeObject {
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName?: string } };
  status?: {
    attached: boolean;
    attachError?: { time: string; message: string };
    detachError?: { time: string; message: string };
  };
}

export { csiDrivers, persistentVolumeClaims, persistentVolumes } from '../../kube/resources.ts';

/** Set on the copy in the API of a pod that a kubelet runs from a file of its own. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror';

export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
}

/** `Time` of the API: whole seconds. */
export function apiTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

/** `MicroTime` of the API. */
export function apiMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, -1)}000Z`;
}
