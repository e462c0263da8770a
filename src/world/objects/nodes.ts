/** Nodes and their Leases. */
import type { KubeObject } from '../../kube/client.ts';
import type { Condition, Requirement } from './meta.ts';

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
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
  spec?: { unschedulable?: boolean; taints?: Taint[]; podCIDR?: string; providerID?: string };
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

/** Which nodes an affinity of a pod or of a volume allows. */
export interface NodeSelectorTerm {
  matchExpressions?: Requirement[];
  matchFields?: Requirement[];
}

export interface Lease extends KubeObject {
  spec?: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
}
