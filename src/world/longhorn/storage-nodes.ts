/** Nodes as Longhorn sees them: their disks, what is left on them, and the instance manager that serves each. */
import type { Api } from '../controllers/api.ts';
import type { Informer } from '../controllers/informer.ts';
import { pods } from '../controllers/resources.ts';
import { controlledBy, isReady, isTerminating } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import type { DiskSpec, DiskStatus, InstanceManagerObject, StorageNode } from './objects.ts';
import {
  diskIdOf,
  diskName,
  instanceManagerLabels,
  instanceManagerName,
  instanceManagers,
  longhornNamespace,
} from './objects.ts';
import type { Wanted } from './publish.ts';
import type { Truth, TrueReplica, TrueVolume } from './truth.ts';

/** What is stored of one node: by Kubernetes, and by Longhorn. */
export interface NodeObjects {
  kube: Node | undefined;
  storage: StorageNode | undefined;
}

export function isCordoned({ kube }: NodeObjects): boolean {
  return kube?.spec?.unschedulable === true;
}

export function userWantsAway({ storage }: NodeObjects): boolean {
  return storage?.spec?.evictionRequested === true || storage?.spec?.disks?.[diskName]?.evictionRequested === true;
}

export function usedBytes(truth: Truth, node: string): number {
  let sum = 0;
  for (const { replicas, sizeBytes } of truth.volumes.values()) {
    for (const replica of replicas.values()) if (replica.node === node) sum += sizeBytes;
  }
  return sum;
}

export interface PlaceOptions {
  truth: Truth;
  nodes: readonly string[];
  objectsOf: (node: string) => NodeObjects;
  serves: (node: string) => boolean;
  diskBytes: number;
  softAntiAffinity: boolean;
}

/** The emptiest disk that may take it; one of a node without a copy first. */
export function placeFor(volume: TrueVolume, options: PlaceOptions): string | undefined {
  const { truth, nodes, objectsOf, serves, diskBytes, softAntiAffinity } = options;
  const holders = new Set([...volume.replicas.values()].map(({ node }) => node));
  const open = nodes.filter((node) => serves(node) && takesReplicas(objectsOf(node)));
  const roomy = open
    .map((node) => ({ node, used: usedBytes(truth, node), shares: holders.has(node) }))
    .filter(({ used, shares }) => used + volume.sizeBytes <= diskBytes && (softAntiAffinity || !shares));
  roomy.sort((a, b) => Number(a.shares) - Number(b.shares) || a.used - b.used || (a.node < b.node ? -1 : 1));
  return roomy[0]?.node;
}

function takesReplicas(objects: NodeObjects): boolean {
  const { kube, storage } = objects;
  if (kube === undefined || !isReady(kube) || isCordoned(objects) || userWantsAway(objects)) return false;
  return storage?.spec?.allowScheduling !== false && storage?.spec?.disks?.[diskName]?.allowScheduling !== false;
}

export function storageNodeWanted(objects: NodeObjects, name: string, truth: Truth, diskBytes: number): Wanted {
  const here: [TrueReplica, TrueVolume][] = [...truth.volumes.values()].flatMap((volume) =>
    [...volume.replicas.values()]
      .filter(({ node }) => node === name)
      .map((replica): [TrueReplica, TrueVolume] => [replica, volume]),
  );
  const disk: DiskSpec = {
    type: 'filesystem',
    path: '/var/lib/longhorn/',
    allowScheduling: true,
    evictionRequested: false,
    storageReserved: 0,
  };
  const status: DiskStatus = {
    diskUUID: diskIdOf(name),
    storageMaximum: diskBytes,
    storageAvailable: diskBytes - usedBytes(truth, name),
    storageScheduled: usedBytes(truth, name),
    scheduledReplica: Object.fromEntries(here.map(([replica, { sizeBytes }]) => [replica.name, sizeBytes])),
    conditions: [condition('Ready', true), condition('Schedulable', true)],
  };
  return {
    initial: { name, allowScheduling: true, evictionRequested: false, disks: { [diskName]: disk } },
    initialStatus: { autoEvicting: false },
    status: {
      conditions: [condition('Ready', isReady(objects.kube)), condition('Schedulable', !isCordoned(objects))],
      diskStatus: { [diskName]: status },
    },
  };
}

function condition(type: string, holds: boolean): { type: string; status: string; reason: string; message: string } {
  return { type, status: holds ? 'True' : 'False', reason: '', message: '' };
}

/**
 * A pod bound to its node by name, so that a cordon would not keep it away: hence none is made for a cordoned node. One
 * that has ended is replaced.
 */
export async function keepInstanceManager(
  api: Api,
  objects: NodeObjects,
  owner: InstanceManagerObject | undefined,
  running: Informer<Pod>,
): Promise<void> {
  const node = objects.kube?.metadata.name;
  if (node === undefined || owner === undefined) return;
  const name = instanceManagerName(node);
  const pod = running.get(`${longhornNamespace}/${name}`);
  if (pod !== undefined) {
    if (isFinished(pod) && !isTerminating(pod)) await api.delete(pods, pod);
    return;
  }
  if (isCordoned(objects) || !isReady(objects.kube)) return;
  await api.create<Pod>(pods, {
    metadata: {
      name,
      namespace: longhornNamespace,
      labels: instanceManagerLabels(node),
      ownerReferences: [controlledBy(owner, instanceManagers)],
    },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      containers: [{ name: 'instance-manager', image: 'example/instance-manager:1' }],
    },
  });
}
