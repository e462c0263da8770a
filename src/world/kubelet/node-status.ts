/** The objects by which a kubelet shows its node to the cluster. */
import type { Machine } from '../machines/machine.ts';
import type { Condition } from '../objects/meta.ts';
import type { Lease, Node, NodeInfo, Taint } from '../objects/nodes.ts';
import type { WantedStatus } from '../objects/status-patch.ts';
import { apiMicroTime, apiTime } from '../objects/times.ts';
import type { CsiNode } from '../objects/volumes.ts';

export interface NodeSpec {
  name: string;
  zone?: string;
  labels?: Record<string, string>;
  /** Set when the Node is created, as by the kubelet's --register-with-taints. */
  taints?: readonly Taint[];
  capacity?: Record<string, string>;
  address: string;
  kubeletPort: number;
  /** First three bytes of the addresses of its pods. */
  podNetwork: string;
  /** CSI drivers installed on the node. */
  drivers: readonly string[];
  /** What its firmware calls the machine, where a device is to be told from another by it; default: its name. */
  systemUuid?: string;
  /** What it reports as its boot, whenever it was booted: of the kernel below, where nodes are containers. */
  bootId?: string;
}

export type ConditionOverride = 'True' | 'False' | 'Unknown';

export interface NodeState {
  nowMs: number;
  volumesInUse: readonly string[] | undefined;
  /** Conditions that report something else than health. */
  overrides: ReadonlyMap<string, ConditionOverride>;
  /** Its machine is going down in good order, and says so. */
  isShuttingDown: boolean;
}

const defaultCapacity = { cpu: '16', memory: '64Gi', pods: '110', 'ephemeral-storage': '100Gi' };
const attachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';

const healthy = {
  MemoryPressure: ['False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  DiskPressure: ['False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  PIDPressure: ['False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  Ready: ['True', 'KubeletReady', 'kubelet is posting ready status'],
} as const;

export function registeredLabels({ name, zone, labels }: NodeSpec): Record<string, string> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': 'amd64',
    ...(zone === undefined || zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }),
    ...labels,
  };
}

/** Without the annotation the attach-detach controller would ignore the node's volumes. */
export const registeredAnnotations: Readonly<Record<string, string>> = { [attachAnnotation]: 'true' };

export function newNode(spec: NodeSpec, machine: Machine, state: NodeState): Node {
  const { conditions, fields } = wantedNodeStatus(spec, machine, state);
  return {
    metadata: { name: spec.name, labels: registeredLabels(spec), annotations: { ...registeredAnnotations } },
    spec: spec.taints === undefined ? {} : { taints: [...spec.taints] },
    status: { ...fields, conditions },
  };
}

/** `volumesAttached` is not among the fields: it belongs to the attach-detach controller. */
export function wantedNodeStatus(spec: NodeSpec, machine: Machine, state: NodeState): WantedStatus {
  const capacity = spec.capacity ?? defaultCapacity;
  const fields: Record<string, unknown> = {
    addresses: [
      { type: 'InternalIP', address: spec.address },
      { type: 'Hostname', address: spec.name },
    ],
    capacity,
    allocatable: capacity,
    nodeInfo: nodeInfo(spec, machine),
    daemonEndpoints: { kubeletEndpoint: { Port: spec.kubeletPort } },
  };
  if (state.volumesInUse !== undefined) fields['volumesInUse'] = state.volumesInUse;
  return { conditions: conditions(state), fields };
}

const goingDown = ['False', 'KubeletNotReady', 'node is shutting down'] as const;

function conditions({ nowMs, overrides, isShuttingDown }: NodeState): Condition[] {
  const time = apiTime(nowMs);
  const reported = isShuttingDown ? { ...healthy, Ready: goingDown } : healthy;
  const own = Object.entries(reported).map(([type, [status, reason, message]]) => ({ type, status, reason, message }));
  const others = [...overrides.keys()].filter((type) => !(type in healthy));
  const all = [...own, ...others.map((type) => ({ type, status: 'False', reason: `No${type}`, message: '' }))];
  return all.map(({ type, status, reason, message }) => {
    const override = overrides.get(type);
    const shown =
      override === undefined || override === status
        ? { type, status, reason, message }
        : { type, status: override, reason: `${type}Is${override}`, message: 'as the simulation wants it' };
    return { ...shown, lastHeartbeatTime: time, lastTransitionTime: time };
  });
}

export function nodeInfo(
  { systemUuid, bootId }: Pick<NodeSpec, 'systemUuid' | 'bootId'>,
  machine: Pick<Machine, 'serial' | 'bootId'>,
): NodeInfo {
  return {
    machineID: machine.serial,
    systemUUID: systemUuid ?? machine.serial,
    bootID: bootId ?? machine.bootId,
    kernelVersion: '6.12.0',
    osImage: 'Simulated Linux',
    containerRuntimeVersion: 'simulated://1.0.0',
    kubeletVersion: 'v1.36.3',
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: 'amd64',
  };
}

export function ownerOf(node: Node): { apiVersion: string; kind: string; name: string; uid: string }[] {
  const { name, uid } = node.metadata;
  return uid === undefined ? [] : [{ apiVersion: 'v1', kind: 'Node', name, uid }];
}

export function newCsiNode(spec: NodeSpec, node: Node): CsiNode {
  return {
    metadata: { name: spec.name, ownerReferences: ownerOf(node) },
    spec: { drivers: csiNodeDrivers(spec) },
  };
}

export function csiNodeDrivers(spec: NodeSpec): CsiNode['spec']['drivers'] {
  return spec.drivers.map((name) => ({ name, nodeID: spec.name, topologyKeys: null }));
}

/**
 * `previous`: what is kept of a lease that exists, its owner included: that of a Node which was deleted and registered
 * anew goes with the old one, and is made again.
 */
export function renewedLease(
  nodeName: string,
  timing: { nowMs: number; durationSeconds: number },
  node: Node | undefined,
  previous?: Lease,
): Lease {
  const known = previous?.metadata.ownerReferences ?? [];
  const owner = known.length > 0 || node === undefined ? known : ownerOf(node);
  return {
    ...previous,
    metadata: {
      ...previous?.metadata,
      name: nodeName,
      namespace: 'kube-node-lease',
      ...(owner.length === 0 ? {} : { ownerReferences: owner }),
    },
    spec: {
      ...previous?.spec,
      holderIdentity: nodeName,
      leaseDurationSeconds: timing.durationSeconds,
      renewTime: apiMicroTime(timing.nowMs),
    },
  };
}
