/** The resources of Longhorn, as far as the fate of replicas depends on them, and definitions that let all of them in. */
import type { KubeObject } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';
import type { Condition } from '../objects/meta.ts';

export const longhornNamespace = 'longhorn-system';

function resource(plural: string, kind: string): Resource {
  return { group: 'longhorn.io', version: 'v1beta2', plural, kind, namespaced: true };
}

export const storageNodes = resource('nodes', 'Node');
export const volumes = resource('volumes', 'Volume');
export const engines = resource('engines', 'Engine');
export const replicas = resource('replicas', 'Replica');
export const instanceManagers = resource('instancemanagers', 'InstanceManager');
export const settings = resource('settings', 'Setting');

export const allResources = [storageNodes, volumes, engines, replicas, instanceManagers, settings];

export interface DiskSpec {
  type: 'filesystem';
  path: string;
  allowScheduling: boolean;
  evictionRequested: boolean;
  storageReserved: number;
}

export interface DiskStatus {
  diskUUID: string;
  storageMaximum: number;
  storageAvailable: number;
  storageScheduled: number;
  scheduledReplica: Record<string, number>;
  conditions: Condition[];
}

export interface StorageNode extends KubeObject {
  spec?: { name?: string; allowScheduling?: boolean; evictionRequested?: boolean; disks?: Record<string, DiskSpec> };
  status?: { conditions?: Condition[]; diskStatus?: Record<string, DiskStatus>; autoEvicting?: boolean };
}

export interface ReplicaObject extends KubeObject {
  spec?: {
    volumeName?: string;
    volumeSize?: string;
    nodeID?: string;
    diskID?: string;
    engineName?: string;
    desireState?: string;
    healthyAt?: string;
    failedAt?: string;
    evictionRequested?: boolean;
    active?: boolean;
  };
  status?: { currentState?: string; instanceManagerName?: string };
}

export interface VolumeObject extends KubeObject {
  spec?: { size?: string; numberOfReplicas?: number; nodeID?: string; replicaSoftAntiAffinity?: string };
  status?: { state?: string; robustness?: string; currentNodeID?: string };
}

export interface EngineObject extends KubeObject {
  spec?: { volumeName?: string; nodeID?: string; desireState?: string };
  status?: { currentState?: string; replicaModeMap?: Record<string, string> };
}

export interface InstanceManagerObject extends KubeObject {
  spec?: { nodeID?: string; type?: string; dataEngine?: string; image?: string };
  status?: { currentState?: string };
}

export interface SettingObject extends KubeObject {
  value: string;
}

export const diskName = 'default-disk';
const image = 'example/instance-manager:1';

export function instanceManagerName(node: string): string {
  return `instance-manager-${node}`;
}

/** Those of the object and of its pod; a budget of Longhorn's own selects by all of them. */
export function instanceManagerLabels(node: string): Record<string, string> {
  return {
    'longhorn.io/component': 'instance-manager',
    'longhorn.io/data-engine': 'v1',
    'longhorn.io/instance-manager-type': 'aio',
    'longhorn.io/node': node,
  };
}

export function instanceManagerSpec(node: string): NonNullable<InstanceManagerObject['spec']> {
  return { nodeID: node, type: 'aio', dataEngine: 'v1', image };
}

export function diskIdOf(node: string): string {
  return `${node}-${diskName}`;
}

/** As the chart brings them, but without their schemas: whatever is written is kept. */
export function longhornDefinitions(): KubeObject[] {
  return allResources.map(({ group, version, plural, kind }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  }));
}
