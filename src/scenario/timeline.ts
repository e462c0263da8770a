/** The history that a person reads: what changed that matters, and who did it. Heartbeats and bookkeeping are left out. */
import type { KubeObject } from '../kube/client.ts';
import type { ReplicaObject, StorageNode } from '../world/longhorn/objects.ts';
import { conditionOf, keyOf } from '../world/objects/meta.ts';
import type { Node } from '../world/objects/nodes.ts';
import type { Pod } from '../world/objects/pods.ts';
import type { VolumeAttachment } from '../world/objects/volumes.ts';
import type { StoredChange, StoredFence } from './cluster-state.ts';

export interface TimelineEntry {
  at: number;
  actor: string;
  what: string;
  object: string;
}

type Describe = (now: KubeObject | undefined, before: KubeObject | undefined) => string[];

export function describeChange({ type, object, previous }: StoredChange): string[] {
  const describe = kinds[object.kind ?? ''];
  if (describe === undefined) return [];
  return describe(type === 'DELETED' ? undefined : object, previous);
}

export function objectName(object: KubeObject): string {
  return `${(object.kind ?? '').toLowerCase()}/${keyOf(object)}`;
}

const kinds: Record<string, Describe> = {
  Node: (now, before) => nodeChanges(now, before),
  Pod: (now, before) => podChanges(now as Pod | undefined, before as Pod | undefined),
  VolumeAttachment: (now, before) => attachmentChanges(now as VolumeAttachment, before as VolumeAttachment),
  NodeFence: (now, before) => fenceChanges(now, before),
  RemedyPolicy: existence,
  DrainPolicy: existence,
  StatefulSet: existence,
  Deployment: existence,
  DaemonSet: existence,
  Job: existence,
  PodDisruptionBudget: existence,
  Replica: (now, before) => replicaChanges(now, before),
  StorageNode: (now, before) => storageNodeChanges(now, before),
};

function existence(now: KubeObject | undefined, before: KubeObject | undefined): string[] {
  if (before === undefined) return ['created'];
  if (now === undefined) return ['deleted'];
  return now.metadata.generation !== before.metadata.generation ? ['changed'] : [];
}

function nodeChanges(now: Node | undefined, before: Node | undefined): string[] {
  if (now === undefined || before === undefined) return existence(now, before);
  const ready = conditionOf(now, 'Ready')?.status;
  const taints = (node: Node): string[] => (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  const had = new Set(taints(before));
  const has = new Set(taints(now));
  const { bootID } = now.status?.nodeInfo ?? {};
  return [
    ...(ready === conditionOf(before, 'Ready')?.status ? [] : [`Ready is ${ready}`]),
    ...[...has].filter((taint) => !had.has(taint)).map((taint) => `tainted ${taint}`),
    ...[...had].filter((taint) => !has.has(taint)).map((taint) => `untainted ${taint}`),
    ...(now.spec?.unschedulable === before.spec?.unschedulable
      ? []
      : [now.spec?.unschedulable === true ? 'cordoned' : 'uncordoned']),
    ...(bootID === before.status?.nodeInfo?.bootID ? [] : ['reports a new boot']),
  ];
}

function podChanges(now: Pod | undefined, before: Pod | undefined): string[] {
  if (now === undefined || before === undefined) {
    const placed = now?.spec.nodeName === undefined ? [] : [`bound to ${now.spec.nodeName}`];
    return [...existence(now, before), ...placed];
  }
  const deleted = now.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
  const ready = conditionOf(now, 'Ready')?.status === 'True';
  return [
    ...(now.spec.nodeName === before.spec.nodeName ? [] : [`bound to ${now.spec.nodeName}`]),
    ...(now.status?.phase === before.status?.phase ? [] : [`is ${now.status?.phase} on ${now.spec.nodeName}`]),
    ...(now.status?.phase === 'Running' && ready !== (conditionOf(before, 'Ready')?.status === 'True')
      ? [ready ? 'is ready' : 'is not ready']
      : []),
    ...(deleted ? ['terminating'] : []),
  ];
}

function attachmentChanges(now: VolumeAttachment | undefined, before: VolumeAttachment | undefined): string[] {
  const { spec } = now ?? before ?? {};
  const what = `${spec?.source.persistentVolumeName} of ${spec?.nodeName}`;
  if (before === undefined) return [`attaching ${what}`];
  if (now === undefined) return [`detached ${what}`];
  const attached = now.status?.attached === true;
  return [
    ...(attached && before.status?.attached !== true ? [`attached ${what}`] : []),
    ...(now.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined
      ? [`detaching ${what}`]
      : []),
    ...(now.status?.detachError !== undefined && before.status?.detachError === undefined
      ? [`detaching ${what} failed`]
      : []),
  ];
}

function fenceChanges(now: StoredFence | undefined, before: StoredFence | undefined): string[] {
  const fence = now?.status?.fence;
  const earlier = before?.status?.fence;
  const releases = now?.status?.releases ?? [];
  const known = before?.status?.releases?.length ?? 0;
  return [
    ...(now === undefined || before === undefined ? existence(now, before) : []),
    ...(fence === undefined || (fence.step === earlier?.step && fence.status === earlier?.status)
      ? []
      : [`${fence.step} is ${fence.status}`]),
    ...releases.slice(known).map(({ basis }) => `recorded a release on the basis ${basis}`),
  ];
}

function replicaChanges(now: ReplicaObject | undefined, before: ReplicaObject | undefined): string[] {
  const { volumeName, nodeID } = (now ?? before)?.spec ?? {};
  if (now === undefined || before === undefined) {
    return existence(now, before).map((what) => `${what}: ${volumeName} on ${nodeID}`);
  }
  const requested = now.spec?.evictionRequested === true;
  const failed = (now.spec?.failedAt ?? '') !== '' && (before.spec?.failedAt ?? '') === '';
  const healthy = (now.spec?.healthyAt ?? '') !== '' && (before.spec?.healthyAt ?? '') === '';
  return [
    ...(requested === (before.spec?.evictionRequested === true) ? [] : [requested ? 'asked to leave' : 'may stay']),
    ...(failed ? [`failed: ${volumeName} on ${nodeID}`] : []),
    ...(healthy ? [`is whole: ${volumeName} on ${nodeID}`] : []),
  ];
}

function storageNodeChanges(now: StorageNode | undefined, before: StorageNode | undefined): string[] {
  const evicting = now?.status?.autoEvicting === true;
  if (now === undefined || evicting === (before?.status?.autoEvicting === true)) return [];
  return [evicting ? 'auto-evicting' : 'not auto-evicting any more'];
}
