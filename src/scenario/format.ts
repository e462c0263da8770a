/** A scenario as it is understood, with every default filled in and every time in milliseconds since time 0. */
import type { Forbiddable } from '../api/forbidden.ts';
import type { KubeObject } from '../kube/client.ts';
import type { LonghornSpec } from '../world/longhorn/spec.ts';
import type { PortFault } from '../world/kubelet/kubelet.ts';
import type { BmcFault } from '../world/machines/bmc.ts';
import type { Taint } from '../world/objects/nodes.ts';

export interface Scenario {
  name: string;
  seed: number;
  cluster: ClusterSpec;
  objects: Manifest[];
  events: ScenarioEvent[];
  runForMs: number;
  expectations: Expectation[];
}

/** An object as a user applies it, and where it stands in the file. */
export interface Manifest {
  object: KubeObject & { apiVersion: string; kind: string };
  where: string;
}

export interface ClusterSpec {
  nodes: NodeSpec[];
  /** Nodes that are well and only count: nothing runs on them. */
  others: { zone: string; count: number }[];
  kubernetes: KubernetesSpec;
  operators: { count: number; onNodes: boolean };
  featureGates: Record<string, boolean>;
  /** What the operators were told to forbid. */
  forbid?: Forbiddable[];
  /** Storage with replicas on the disks of the nodes. */
  longhorn?: LonghornSpec;
}

export interface NodeSpec {
  name: string;
  zone: string;
  labels: Record<string, string>;
  /** With which it registers itself. */
  taints?: Taint[];
  /** What it has for pods; absent: plenty. */
  capacity?: Record<string, string>;
  /** What it reports as its boot, always the same, where nodes are containers. */
  bootId?: string;
  bmc: boolean;
  /** Whether its power device can say whose power it is. */
  identity: boolean;
  /** Its supplies, each with a device of its own; absent: one. */
  feeds?: string[];
  /** Its ways to the storage, each with a port of its own; absent: one. */
  ports?: string[];
}

export interface KubernetesSpec {
  nodeMonitorGracePeriodMs: number;
  forceDetachAfterMs: number;
  bootTimeMs: number;
  /** Of the Leases in which kubelets show that they live; they renew every quarter of it. */
  leaseDurationMs: number;
}

/** A node by name, or the one where a pod was at time 0. */
export type NodeRef = { node: string } | { podOf: PodRef; where: string };

export type PodRef = { namespace: string; name: string } | { namespace?: string; label: string };

export const nodeActs = [
  'powerOff',
  'powerOn',
  'reboot',
  'replaceMachine',
  'gracefulReboot',
  'gracefulShutdown',
  'hang',
  'resume',
  'partition',
  'heal',
  'storagePartition',
  'storageHeal',
  'kubeletStop',
  'kubeletStart',
  'leaseStop',
  'leaseStart',
  'cordon',
  'uncordon',
  'drain',
  'deleteNode',
  'kdump',
  'kdumpSent',
  'approve',
] as const;
export type NodeAct = (typeof nodeActs)[number];

export const operatorActs = ['crashOperator', 'isolateOperator', 'restoreOperator'] as const;
export const zoneActs = ['zonePartition', 'zoneHeal'] as const;
export const apiActs = ['apiDown', 'apiUp'] as const;
export const apiFaults = [
  'errors',
  'conflicts',
  'tooMany',
  'lost',
  'slow',
  'lags',
  'drops',
  'doubles',
  'breaks',
  'compacts',
  'deniesPods',
  'deniesNodes',
  'deniesPause',
  'deniesRecords',
  'failsPods',
  'failsNodes',
  'limitsPods',
  'limitsNodes',
  'hangsPods',
  'hangsNodes',
  'none',
] as const;
export type ApiFault = (typeof apiFaults)[number];
export const detachFaults = ['errors', 'hangs', 'none'] as const;
export const conditionStatuses = ['True', 'False', 'Unknown'] as const;

export type Act =
  | { do: NodeAct; node: NodeRef }
  | { do: (typeof operatorActs)[number]; operator: number }
  | { do: (typeof zoneActs)[number]; zone: string }
  | { do: (typeof apiActs)[number] }
  | { do: 'apply'; manifest: Manifest }
  | { do: 'delete'; kind: string; name: string; namespace?: string }
  | { do: 'taint'; node: NodeRef; key: string; value?: string; effect: string }
  | { do: 'untaint'; node: NodeRef; key: string }
  | { do: 'condition'; node: NodeRef; type: string; status: (typeof conditionStatuses)[number] }
  | { do: 'device'; node: NodeRef; feed?: string; fault: BmcFault }
  | { do: 'kubeletPort'; node: NodeRef; fault: PortFault }
  | { do: 'swapDevices'; nodes: [NodeRef, NodeRef]; feed?: string }
  | { do: 'swapPorts'; nodes: [NodeRef, NodeRef] }
  | { do: 'apiFault'; operator: number; fault: ApiFault }
  | { do: 'detach'; driver: string; fault: (typeof detachFaults)[number] }
  | { do: 'clockSkew'; operator: number; byMs: number }
  | { do: 'apiDate'; byMs: number; servers: number };

export interface ScenarioEvent {
  atMs: number;
  act: Act;
  where: string;
}

export type When = { type: 'at' | 'by'; atMs: number } | { type: 'never' | 'always' | 'end' };

export interface Expectation {
  when: When;
  state: State;
  /** As it was written, for the report. */
  text: unknown;
  where: string;
}

export const robustnesses = ['healthy', 'degraded', 'faulted'] as const;

export type State =
  | { of: 'pod'; pod: PodState }
  | { of: 'node'; node: NodeState }
  | { of: 'fence'; node: NodeRef; status?: string; step?: string }
  | { of: 'drain'; node: NodeRef; done: boolean }
  | { of: 'fencesAtMost'; count: number }
  | { of: 'fences'; count: number }
  | { of: 'event'; reason: string; count?: number }
  | { of: 'ledger'; volume: string; writersAtMost?: number; dataIntact?: boolean; moved?: boolean }
  | {
      of: 'volume';
      name: string;
      robustness?: (typeof robustnesses)[number];
      replicasOn?: NodeRef[];
      dataIntact?: boolean;
    }
  | { of: 'replica'; volume: string; node: NodeRef; evictionRequested: boolean }
  | { of: 'storageNode'; node: NodeRef; autoEvicting: boolean }
  | { of: 'budget'; node: NodeRef; blocks: boolean };

export interface PodState {
  ref: PodRef;
  running?: boolean;
  ready?: boolean;
  terminating?: boolean;
  deleted?: boolean;
  moved?: boolean;
  node?: NodeRef;
}

export interface NodeState {
  node: NodeRef;
  ready?: boolean;
  schedulable?: boolean;
  taints?: string[];
}
