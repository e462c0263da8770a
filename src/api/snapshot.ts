/**
 * A cluster as it was at one moment, reduced to what decides where pods can run and what becomes of them when a node dies. It
 * holds nothing that is secret: no environment, no commands, no attributes of volumes.
 */
import type { Using } from './forbidden.ts';
import type { NamedData, WrittenDevice } from './fence-config.ts';
import type { DriverFacts, LiveNode, PodFacts, TaintFacts, VolumeFacts } from './release-view.ts';
import type { SpentBudget } from './spent-budget.ts';

export interface Snapshot {
  /** By the clock of the API server. */
  takenAt: string;
  nodes: readonly SnapshotNode[];
  pods: readonly SnapshotPod[];
  sets: readonly SnapshotSet[];
  claims: readonly SnapshotObject[];
  volumes: readonly SnapshotVolume[];
  classes: readonly SnapshotClass[];
  drivers: readonly (DriverFacts & { object: SnapshotObject })[];
  budgets: readonly SnapshotBudget[];
  /** RemedyPolicies, as they are written, the oldest first. */
  policies: readonly (SnapshotObject & { spec: object } & Pick<Using, 'refused'>)[];
  /** ConfigMaps of fences and their templates. */
  maps: readonly NamedData[];
  /** FenceDevices that people have written. */
  devices: readonly { written: WrittenDevice; object: SnapshotObject }[];
  /** Replicas of Longhorn's volumes that are whole, by the name of the volume. */
  replicas: readonly { volume: string; node: string }[];
  /** What could not be read, and why: nothing may be concluded about it. */
  unread: readonly { what: string; why: string }[];
}

/** An object as a person would apply it again. */
export interface SnapshotObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    creationTimestamp?: string;
    labels?: Readonly<Record<string, string>>;
    annotations?: Readonly<Record<string, string>>;
    ownerReferences?: readonly object[];
  };
  readonly [field: string]: unknown;
}

export interface SnapshotNode extends LiveNode {
  zone: string;
  /** What pods may use of it: quantities by resource. */
  allocatable: Readonly<Record<string, string>>;
  /** Those of ours that say what may be done to it. */
  annotations: Readonly<Record<string, string>>;
  /** Of its Lease; absent: it has none. */
  leaseSeconds?: number;
}

export interface SnapshotPod extends PodFacts {
  /** Absent: it is on none. */
  node?: string;
  isReady: boolean;
  object: SnapshotObject & { spec: SnapshotPodSpec };
}

export interface SnapshotPodSpec {
  nodeName?: string;
  nodeSelector?: Readonly<Record<string, string>>;
  affinity?: SnapshotAffinity;
  tolerations?: readonly (Partial<TaintFacts> & { operator?: string; tolerationSeconds?: number })[];
  volumes?: readonly ({ name: string } & Readonly<Record<string, unknown>>)[];
  containers: readonly SnapshotContainer[];
  initContainers?: readonly SnapshotContainer[];
  readonly [field: string]: unknown;
}

export interface SnapshotContainer {
  name: string;
  image?: string;
  resources?: { requests?: Readonly<Record<string, string | number>> };
  restartPolicy?: string;
}

export interface SnapshotAffinity {
  nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: SnapshotNodeSelector };
  podAffinity?: object;
  podAntiAffinity?: object;
}

export interface SnapshotNodeSelector {
  nodeSelectorTerms?: readonly {
    matchExpressions?: readonly SnapshotRequirement[];
    matchFields?: readonly SnapshotRequirement[];
  }[];
}

export interface SnapshotRequirement {
  key: string;
  operator: string;
  values?: readonly string[];
}

/** What makes pods and looks after their number. */
export interface SnapshotSet {
  kind: 'StatefulSet' | 'ReplicaSet' | 'DaemonSet' | 'Deployment';
  namespace: string;
  name: string;
  uid: string;
  /** Of a ReplicaSet: the Deployment that made it. */
  owner?: { kind: string; name: string; uid: string };
  replicas: number;
  /** The lowest number of its pods. */
  start: number;
  /** `podManagementPolicy: OrderedReady`, which is also the default. */
  isOrdered: boolean;
  /** Of a Deployment. */
  strategy?: string;
  object: SnapshotObject & {
    spec: { template?: { spec?: SnapshotPodSpec; metadata?: object }; readonly [field: string]: unknown };
  };
}

export interface SnapshotVolume {
  facts: VolumeFacts & { known: true };
  /** Where it can be reached from; absent: everywhere. */
  affinity?: SnapshotNodeSelector;
  claim?: { namespace: string; name: string };
  className: string;
  object: SnapshotObject;
}

export interface SnapshotClass {
  name: string;
  provisioner: string;
  object: SnapshotObject;
}

export interface SnapshotBudget {
  namespace: string;
  name: string;
  /** It allows no disruption. */
  spent: readonly SpentBudget[];
  object: SnapshotObject;
}
