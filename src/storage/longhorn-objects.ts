/** The resources of Longhorn and the fields of them that are read. Every field may be missing: objects are written in steps. */
import type { KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';

function resource(plural: string, kind: string): Resource {
  return { group: 'longhorn.io', version: 'v1beta2', plural, kind, namespaced: true };
}

export const storageNodes = resource('nodes', 'Node');
export const volumes = resource('volumes', 'Volume');
export const engines = resource('engines', 'Engine');
export { longhornReplicas as replicas } from '../kube/resources.ts';
export const instanceManagers = resource('instancemanagers', 'InstanceManager');
export const settings = resource('settings', 'Setting');

export interface Condition {
  type?: string;
  status?: string;
}

export interface NodeObject extends KubeObject {
  spec?: {
    allowScheduling?: boolean;
    evictionRequested?: boolean;
    disks?: Record<string, { allowScheduling?: boolean; evictionRequested?: boolean; storageReserved?: number }>;
  };
  status?: {
    conditions?: Condition[];
    autoEvicting?: boolean;
    diskStatus?: Record<
      string,
      {
        diskUUID?: string;
        storageMaximum?: number;
        storageAvailable?: number;
        storageScheduled?: number;
        conditions?: Condition[];
      }
    >;
  };
}

export interface VolumeObject extends KubeObject {
  spec?: { size?: string; numberOfReplicas?: number; replicaSoftAntiAffinity?: string };
  status?: { state?: string };
}

export interface EngineObject extends KubeObject {
  spec?: { volumeName?: string; nodeID?: string };
  status?: { currentState?: string; replicaModeMap?: Record<string, string> };
}

export interface ReplicaObject extends KubeObject {
  spec?: {
    volumeName?: string;
    nodeID?: string;
    diskID?: string;
    desireState?: string;
    healthyAt?: string;
    failedAt?: string;
    evictionRequested?: boolean;
  };
  status?: { currentState?: string; evictionRequested?: boolean };
}

export interface InstanceManagerObject extends KubeObject {
  spec?: { nodeID?: string; type?: string };
  status?: { currentState?: string };
}

export interface SettingObject extends KubeObject {
  value?: string;
}
