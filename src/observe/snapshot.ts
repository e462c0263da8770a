/**
 * A snapshot of a cluster, by lists alone: nothing is watched, nothing is written. What the user may not read, or what is not
 * installed, is told in it; without nodes and pods there is nothing to say, and it fails.
 */
import { isFenceConfig } from '../api/fence-names.ts';
import type { NamedData } from '../api/fence-config.ts';
import type { Snapshot } from '../api/snapshot.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import type { Resource } from '../kube/resources.ts';
import {
  configMaps,
  csiDrivers,
  daemonSets,
  deployments,
  fenceDevices,
  leases,
  longhornReplicas,
  nodeLeaseNamespace,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
  remedyPolicies,
  replicaSets,
  statefulSets,
  storageClasses,
} from '../kube/resources.ts';
import type { Wanted } from './list-all.ts';
import { listAll } from './list-all.ts';
import { NODES_PER_PAGE } from './list-nodes.ts';
import { projectDevice } from './project-device.ts';
import {
  snapshotBudget,
  snapshotClaim,
  snapshotClass,
  snapshotDriver,
  snapshotNode,
  snapshotOwn,
  snapshotPod,
  snapshotPolicy,
  snapshotSet,
  snapshotVolume,
} from './project-snapshot.ts';

const pageSize = 500;
/** A pod is some 10 kB of JSON. */
const podsPerPage = 250;

export interface SnapshotSource {
  client: KubeClient;
  /** Of the operator: where configurations of fences are. */
  namespace: string;
  signal: AbortSignal;
}

export async function readSnapshot(source: SnapshotSource): Promise<Result<Snapshot>> {
  const { client, signal } = source;
  const unread: Snapshot['unread'][number][] = [];
  const all: All = async (resource, keep, within) => {
    const wanted = { resource, pageSize, keep, ...(within === undefined ? {} : { namespace: within }) };
    const read = await listAll(client, wanted, signal);
    if (read.ok) return read.value.items;
    // What is not installed is not there.
    if (read.error.kind !== 'notFound') unread.push({ what: nameOf(resource), why: whyOf(read.error) });
    return [];
  };
  // Pods are most of it: while they are read, the API server puts the rest together, one list after the other.
  const [readPods, others] = await Promise.all([
    listAll(client, { resource: pods, pageSize: podsPerPage, keep: snapshotPod }, signal),
    othersOf(source, all),
  ]);
  const { readNodes, renewals, ...rest } = others;
  if (!readNodes.ok) return readNodes;
  if (!readPods.ok) return readPods;
  const durations = new Map(renewals);
  const value: Snapshot = {
    ...rest,
    takenAt: readPods.value.serverTime === undefined ? '' : new Date(readPods.value.serverTime).toISOString(),
    nodes: readNodes.value.items.map((node) => {
      const leaseSeconds = durations.get(node.name);
      return leaseSeconds === undefined ? node : { ...node, leaseSeconds };
    }),
    pods: readPods.value.items,
    unread,
  };
  return { ok: true, value };
}

type All = <T>(resource: Resource, keep: Wanted<T>['keep'], within?: string) => Promise<T[]>;

/** All but the pods. */
async function othersOf({ client, namespace, signal }: SnapshotSource, all: All) {
  return {
    readNodes: await listAll(client, { resource: nodes, pageSize: NODES_PER_PAGE, keep: snapshotNode }, signal),
    renewals: await all(leases, leaseOf, nodeLeaseNamespace),
    sets: [
      ...(await all(statefulSets, snapshotSet('StatefulSet'))),
      ...(await all(replicaSets, snapshotSet('ReplicaSet'))),
      ...(await all(daemonSets, snapshotSet('DaemonSet'))),
      ...(await all(deployments, snapshotSet('Deployment'))),
    ],
    claims: await all(persistentVolumeClaims, snapshotClaim),
    volumes: await all(persistentVolumes, snapshotVolume),
    classes: await all(storageClasses, snapshotClass),
    drivers: await all(csiDrivers, snapshotDriver),
    budgets: await all(podDisruptionBudgets, snapshotBudget),
    policies: (await all(remedyPolicies, snapshotPolicy)).toSorted(byAge),
    maps: await all(configMaps, fenceMap, namespace),
    devices: await all(fenceDevices, writtenDevice, namespace),
    replicas: await all(longhornReplicas, wholeReplica),
  };
}

function byAge(one: Snapshot['policies'][number], other: Snapshot['policies'][number]): number {
  const [older = '', younger = ''] = [one.metadata.creationTimestamp, other.metadata.creationTimestamp];
  return older < younger ? -1 : Number(older > younger);
}

function leaseOf(object: KubeObject): [string, number] {
  const { spec } = object as KubeObject & { spec?: { leaseDurationSeconds?: number } };
  return [object.metadata.name, spec?.leaseDurationSeconds ?? 0];
}

function fenceMap(object: KubeObject): NamedData | undefined {
  const { metadata, data = {} } = object as KubeObject & { data?: Record<string, string> };
  return isFenceConfig(metadata.name) ? { name: metadata.name, data } : undefined;
}

function writtenDevice(object: KubeObject): Snapshot['devices'][number] | undefined {
  const written = projectDevice(object);
  return written === undefined ? undefined : { written, object: snapshotOwn(fenceDevices)(object) };
}

function wholeReplica(object: KubeObject): Snapshot['replicas'][number] | undefined {
  const { spec = {} } = object as KubeObject & { spec?: Record<string, string | undefined> };
  const { volumeName, nodeID, healthyAt = '', failedAt = '' } = spec;
  if (volumeName === undefined || nodeID === undefined || healthyAt === '' || failedAt !== '') return undefined;
  return { volume: volumeName, node: nodeID };
}

function nameOf({ plural, group }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`;
}

function whyOf({ kind, message }: KubeError): string {
  return kind === 'forbidden' ? 'you may not read them' : message;
}
