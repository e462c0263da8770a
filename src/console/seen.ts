/** What is kept of the objects that the console watches: no more than it shows. */
import type { NodeFacts } from '../api/view.ts';
import { isAnnotated } from '../cli/node-annotations.ts';
import type { KubeObject } from '../kube/client.ts';
import { projectNode } from '../observe/project.ts';

export interface SeenNode {
  facts: NodeFacts;
  labels: Record<string, string>;
  /** As it is, where something is written on it that is for us. */
  annotated?: KubeObject;
}

export interface SeenPod {
  key: string;
  namespace: string;
  name: string;
  uid: string;
  /** Empty: it waits for one. */
  node: string;
  phase: string;
  ready: boolean;
  /** Since when it is ready. */
  readySince?: string;
  terminating: boolean;
  /** Names of its claims. */
  claims: string[];
  owner?: { kind: string; name: string };
  createdAt: string;
}

interface WirePod extends KubeObject {
  spec?: { nodeName?: string; volumes?: { persistentVolumeClaim?: { claimName?: string } }[] };
  status?: { phase?: string; conditions?: { type?: string; status?: string; lastTransitionTime?: string }[] };
}

interface Owned {
  ownerReferences?: { kind?: string; name?: string; controller?: boolean }[];
}

export function seenNode(object: KubeObject): SeenNode {
  const { labels = {} } = object.metadata;
  return { facts: projectNode(object), labels, ...(isAnnotated(object) ? { annotated: object } : {}) };
}

export function seenPod(object: KubeObject): SeenPod {
  const { metadata, spec, status } = object as WirePod;
  const { namespace = '', name, uid = '', deletionTimestamp, creationTimestamp = '' } = metadata;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const owner = (metadata as Owned).ownerReferences?.find(({ controller }) => controller === true);
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    node: spec?.nodeName ?? '',
    phase: status?.phase ?? 'Pending',
    ready: ready?.status === 'True',
    ...(ready?.lastTransitionTime === undefined ? {} : { readySince: ready.lastTransitionTime }),
    terminating: deletionTimestamp !== undefined,
    claims: spec?.volumes?.flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? []) ?? [],
    ...(owner === undefined ? {} : { owner: { kind: owner.kind ?? '', name: owner.name ?? '' } }),
    createdAt: creationTimestamp,
  };
}

/** What would be made again elsewhere. What belongs to its node is not. */
const movable: ReadonlySet<string> = new Set(['StatefulSet', 'ReplicaSet', 'Job']);

export function isMovable({ owner }: Pick<SeenPod, 'owner'>): boolean {
  return movable.has(owner?.kind ?? '');
}
