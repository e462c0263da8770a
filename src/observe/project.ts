/** What is kept of Nodes and Leases. Total functions: an object half-written by somebody must not stop the watch. */
import { bootIdOf } from '../api/bounded-name.ts';
import { hash } from '../api/hash.ts';
import { machineIdOf } from '../api/learnt.ts';
import { leaseDurationMs } from '../api/life.ts';
import { claimsOf } from '../api/machine.ts';
import { CORDONED_ANNOTATION } from '../api/plans.ts';
import {
  CLOUD_SHUTDOWN_KEY,
  FORCE_EVICTION_KEY,
  OUT_OF_SERVICE_KEY,
  QUARANTINE_KEY,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
} from '../api/release-view.ts';
import type { ConditionStatus, NodeCondition, NodeFacts } from '../api/view.ts';
import type { KubeObject } from '../kube/client.ts';

interface WireCondition {
  type?: string;
  status?: string;
  reason?: string;
  lastTransitionTime?: string;
  /** Null where nobody has written it. */
  lastHeartbeatTime?: string | null;
}

interface WireNode extends KubeObject {
  spec?: { unschedulable?: boolean; taints?: { key?: string }[]; providerID?: string };
  status?: {
    conditions?: WireCondition[];
    nodeInfo?: { bootID?: string; systemUUID?: string; machineID?: string };
    addresses?: { address?: string }[];
  };
}

interface WireLease extends KubeObject {
  spec?: { renewTime?: string; leaseDurationSeconds?: unknown };
}

/** Conditions use the same few words on every node. Kept once, they cost nothing; bounded, they never will. */
const words = new Map<string, string>();
const maxWords = 1000;

function word(text: string | undefined): string {
  if (text === undefined) return '';
  const known = words.get(text);
  if (known !== undefined) return known;
  if (words.size < maxWords) words.set(text, text);
  return text;
}

/** As RKE2 and K3s label those that run etcd, with the control plane or without it. */
const etcdLabel = 'node-role.kubernetes.io/etcd';
/** The second one is that of older installers. */
const controlPlaneLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

export function projectNode(object: KubeObject): NodeFacts {
  const { metadata, spec, status } = object as WireNode;
  const heartbeatTime = status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    bootId: bootIdOf(status?.nodeInfo),
    machine: claimsOf({ systemUuid: status?.nodeInfo?.systemUUID ?? '', providerId: spec?.providerID ?? '' }).map(hash),
    machineId: machineIdOf(status?.nodeInfo, metadata.uid),
    ...(metadata.creationTimestamp === undefined ? {} : { createdAt: metadata.creationTimestamp }),
    addresses: (status?.addresses ?? []).flatMap(({ address }) => address ?? []),
    zone: word(metadata.labels?.['topology.kubernetes.io/zone']),
    ...(controlPlaneLabels.some((label) => metadata.labels?.[label] !== undefined) ? { isControlPlane: true } : {}),
    ...(metadata.labels?.[etcdLabel] === undefined ? {} : { isEtcd: true }),
    unschedulable: spec?.unschedulable ?? false,
    marks: marksOf(spec?.taints, metadata.annotations),
    conditions: (status?.conditions ?? []).map(projectCondition),
    ...(typeof heartbeatTime === 'string' ? { heartbeatTime } : {}),
  };
}

const meaningful = new Set([QUARANTINE_KEY, FORCE_EVICTION_KEY, OUT_OF_SERVICE_KEY, CLOUD_SHUTDOWN_KEY]);
/** What we have noted on it, and have to take away again. */
const notes = [CORDONED_ANNOTATION, REMEDIATION_TIME_ANNOTATION, REMEDIATION_POD_ANNOTATION];
const unmarked: readonly string[] = [];

/** Hardly any node has one; those that have none share the same empty list. */
function marksOf(
  taints: readonly { key?: string }[] = [],
  annotations: Readonly<Record<string, string>> = {},
): readonly string[] {
  const marks = [
    ...taints.flatMap(({ key }) => (key !== undefined && meaningful.has(key) ? [word(key)] : [])),
    ...notes.filter((key) => annotations[key] !== undefined),
  ];
  return marks.length === 0 ? unmarked : marks;
}

function projectCondition(condition: WireCondition): NodeCondition {
  return {
    type: word(condition.type),
    // Whatever is neither True nor False is unknown, and never read as one of them.
    status: (condition.status === 'True' || condition.status === 'False'
      ? condition.status
      : 'Unknown') satisfies ConditionStatus,
    reason: word(condition.reason),
    since: condition.lastTransitionTime ?? '',
  };
}

/** What is kept of a Lease: by the node's own clock when it was last renewed, and how long it lasts. */
export interface SeenLease {
  renewTime: string;
  durationMs?: number;
}

export function projectLease(object: KubeObject): SeenLease {
  const { renewTime = '', leaseDurationSeconds } = (object as WireLease).spec ?? {};
  const durationMs = leaseDurationMs(leaseDurationSeconds);
  return durationMs === undefined ? { renewTime } : { renewTime, durationMs };
}
