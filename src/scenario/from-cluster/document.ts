/** From a snapshot, a failure and policies to a scenario: a document in the format of scenario files, to be run or kept. */
import { isOver } from '../../api/facts.ts';
import type { FenceDeviceSpec } from '../../api/fence-device.ts';
import type { Snapshot, SnapshotNode, SnapshotObject, SnapshotPod, SnapshotSet } from '../../api/snapshot.ts';
import { configFor } from '../../decide/policy-nodes.ts';
import { cloudDrivers } from '../../devices/clouds/index.ts';
import { requestsOf } from '../../world/controllers/scheduler-nodes.ts';
import { quantity } from '../../world/controllers/quantities.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { operatorNamespace } from '../namespaces.ts';
import type { RawEvent } from './failure.ts';
import { harmlessDevice, harmlessMaps } from './harmless.ts';
import type { Part } from './part.ts';

export interface Wanted {
  name: string;
  snapshot: Snapshot;
  part: Part;
  events: readonly RawEvent[];
  policies: readonly SnapshotObject[];
  runFor: string;
  featureGates: Readonly<Record<string, boolean>>;
}

export interface ScenarioDocument {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { cluster: object; objects: SnapshotObject[]; events: RawEvent[]; runFor: string };
}

const defaultLeaseSeconds = 40;

export function scenarioOf(wanted: Wanted): ScenarioDocument {
  const { name, snapshot, part, events, policies, runFor, featureGates } = wanted;
  const beside = podsBeside(snapshot, part);
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'Scenario',
    metadata: { name },
    spec: {
      cluster: {
        nodes: part.nodes.map((node) => nodeOf(node, snapshot, beside.get(node.name) ?? [])),
        ...(part.others.length === 0 ? {} : { others: part.others }),
        kubernetes: { leaseDuration: `${leaseSeconds(snapshot)}s` },
        operators: 1,
        ...(Object.keys(featureGates).length === 0 ? {} : { featureGates }),
      },
      // Pods before their sets, which find theirs and make no others.
      objects: [
        ...part.nodes.flatMap(cordonOf),
        ...storageOf(snapshot, part),
        ...configsOf(snapshot),
        ...part.pods.map(podOf),
        ...budgetsOf(snapshot, part),
        ...part.sets.map((set) => setOf(set, part.pods)),
        ...policies.map(named),
      ],
      events: [...deadNodes(part), ...events],
      runFor,
    },
  };
}

/** The same, with these policies in the place of those of their names. */
export function proposing(document: ScenarioDocument, policies: readonly SnapshotObject[]): ScenarioDocument {
  const names = new Set(policies.map(({ metadata }) => metadata.name));
  const kept = document.spec.objects.filter(
    ({ kind, metadata }) => kind !== 'RemedyPolicy' || !names.has(metadata.name),
  );
  return { ...document, spec: { ...document.spec, objects: [...kept, ...policies.map(named)] } };
}

function named({ metadata: { name }, ...rest }: SnapshotObject): SnapshotObject {
  return { ...rest, metadata: { name } };
}

/** What cannot be taken over, in sentences. */
export function limitsOf(snapshot: Snapshot, part: Part): string[] {
  const leases = new Set(snapshot.nodes.flatMap(({ leaseSeconds: seconds }) => seconds ?? []));
  const without = snapshot.nodes.filter(({ leaseSeconds: seconds }) => seconds === undefined);
  const dead = part.nodes.filter(({ ready }) => ready !== 'True');
  const timed = part.nodes.filter(({ annotations }) =>
    Object.keys(annotations).some((key) => /maintenance|pause\./.test(key)),
  );
  const kinds = new Set(part.pods.flatMap(({ owner }) => unknownOwner(owner) ?? []));
  const plain = part.nodes.filter((node) => deviceOf(node, snapshot) === 'none');
  const clouds = part.nodes.filter((node) => deviceOf(node, snapshot) === 'cloud');
  return [
    ...part.notes,
    ...snapshot.unread.map(({ what, why }) => `${what} are taken as if there were none: ${why}`),
    ...told('without a Lease', without, 'in the simulation they renew one as the others do'),
    ...(leases.size > 1
      ? [`Leases last ${[...leases].join(', ')} s; all are taken as ${leaseSeconds(snapshot)} s`]
      : []),
    ...told('not Ready', dead, 'taken as cut off from the network when the failure begins'),
    ...told('in maintenance or paused', timed, 'that is not taken over'),
    ...told('without a device that could switch them off', plain, 'nothing is written for them'),
    ...told('switched off by their cloud', clouds, 'its credentials are taken as right'),
    ...[...kinds].map(
      (kind) => `pods of ${kind} are not made again by the simulation, which does not know their controller`,
    ),
    'devices answer as simulated ones do, whatever agent is written; webhooks, quotas and rights are not simulated',
    'volumes attach and detach as by any CSI driver; what a storage system does by itself is not simulated',
  ];
}

const shown = 5;

function told(what: string, nodes: readonly { name: string }[], taken: string): string[] {
  if (nodes.length === 0) return [];
  const names = nodes.slice(0, shown).map(({ name }) => name);
  const rest = nodes.length > shown ? ` and ${nodes.length - shown} more` : '';
  return [`${what}: ${names.join(', ')}${rest} (${taken})`];
}

function nodeOf(node: SnapshotNode, snapshot: Snapshot, beside: readonly SnapshotPod[]): object {
  const { name, zone, labels, taints } = node;
  // Those that say how a node is are for the simulation to set.
  const own = taints.filter(({ key }) => !/^(node\.kubernetes\.io|fenceline\.dev|node\.cloudprovider)/.test(key));
  return {
    name,
    zone,
    labels,
    ...(own.length === 0
      ? {}
      : { taints: own.map(({ key, value, effect }) => ({ key, effect, ...(value === undefined ? {} : { value }) })) }),
    capacity: roomOf(node, beside),
    bmc: deviceOf(node, snapshot) !== 'none',
  };
}

/** Those that only take up room, by node. */
function podsBeside({ pods }: Snapshot, part: Part): ReadonlyMap<string, readonly SnapshotPod[]> {
  const simulated = new Set(part.pods.map(({ uid }) => uid));
  return Map.groupBy(
    pods.filter((pod) => !simulated.has(pod.uid) && !isOver(pod)),
    ({ node = '' }) => node,
  );
}

/** What is left for the pods that are simulated. */
function roomOf({ allocatable }: SnapshotNode, beside: readonly SnapshotPod[]): Record<string, string> {
  const left = {
    cpu: quantity(allocatable['cpu']),
    memory: quantity(allocatable['memory']),
    pods: quantity(allocatable['pods']),
  };
  for (const pod of beside) {
    const { cpu, memory } = requestsOf(pod.object as unknown as Pod);
    left.cpu -= cpu;
    left.memory -= memory;
    left.pods -= 1;
  }
  return {
    cpu: `${Math.max(0, Math.round(left.cpu * 1000))}m`,
    memory: String(Math.max(0, Math.round(left.memory))),
    pods: String(Math.max(0, left.pods)),
  };
}

/** By what a node would be switched off. */
function deviceOf(node: SnapshotNode, { maps, devices }: Snapshot): 'written' | 'cloud' | 'none' {
  const written = devices.map((device) => device.written);
  const result = configFor(node, { maps, devices: written, unwritten: () => undefined });
  if (!result.ok) return 'none';
  if (result.config.source !== undefined) return 'written';
  const [provider = ''] = (node.providerId ?? '').split('://', 1);
  return cloudDrivers.has(provider) ? 'cloud' : 'none';
}

function cordonOf({ name, isCordoned, isOurCordon }: SnapshotNode): SnapshotObject[] {
  if (isCordoned !== true || isOurCordon === true) return [];
  return [{ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { unschedulable: true } }];
}

function storageOf({ claims, volumes, classes, drivers }: Snapshot, { pods }: Part): SnapshotObject[] {
  const used = new Set(pods.flatMap((pod) => pod.claims.map(({ claim }) => `${pod.namespace}/${claim}`)));
  const mine = claims.filter(({ metadata }) => used.has(`${metadata.namespace}/${metadata.name}`));
  const bound = volumes.filter(({ claim }) => claim !== undefined && used.has(`${claim.namespace}/${claim.name}`));
  const names = new Set([...bound.map(({ className }) => className), ...mine.map(classOf)]);
  const attached = new Set(bound.map(({ facts }) => facts.csi?.driver));
  return [
    ...drivers.filter(({ name }) => attached.has(name)).map(({ object }) => object),
    ...classes.filter(({ name }) => names.has(name)).map(({ object }) => object),
    ...bound.map(({ object }) => object),
    ...mine,
  ];
}

function classOf({ spec }: SnapshotObject): string {
  return (spec as { storageClassName?: string } | undefined)?.storageClassName ?? '';
}

/** How nodes are fenced, without what is nobody's business. */
function configsOf(snapshot: Snapshot): SnapshotObject[] {
  return [
    ...harmlessMaps(snapshot).map(({ name, data }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: operatorNamespace },
      data,
    })),
    ...snapshot.devices.map(({ object: { apiVersion, kind, metadata, spec } }) => ({
      apiVersion,
      kind,
      metadata: { name: metadata.name, namespace: operatorNamespace },
      spec: harmlessDevice(spec as FenceDeviceSpec, snapshot),
    })),
  ];
}

function podOf({ object, owner }: SnapshotPod): SnapshotObject {
  const foreign = unknownOwner(owner) === undefined ? undefined : owner;
  if (foreign === undefined) return object;
  const { group, kind, name, uid } = foreign;
  const reference = { apiVersion: `${group}/v1`, kind, name, uid, controller: true };
  return { ...object, metadata: { ...object.metadata, ownerReferences: [reference] } };
}

/** A controller of which the simulated cluster has none. */
function unknownOwner(owner: SnapshotPod['owner']): string | undefined {
  if (owner === undefined || (owner.group === 'apps' && ['StatefulSet', 'ReplicaSet'].includes(owner.kind)))
    return undefined;
  return `${owner.kind}${owner.group === '' ? '' : `.${owner.group}`}`;
}

function setOf({ kind, uid, object, replicas }: SnapshotSet, pods: readonly SnapshotPod[]): SnapshotObject {
  const taken = pods.filter(({ owner }) => owner?.uid === uid).length;
  const spec = {
    ...object.spec,
    // Of a ReplicaSet some pods may be on nodes that only count. A StatefulSet is taken whole.
    replicas: kind === 'ReplicaSet' ? taken : replicas,
    // Pods of an older template are not exchanged by the simulation.
    ...(kind === 'StatefulSet' ? { updateStrategy: { type: 'OnDelete' } } : {}),
  };
  return { ...object, spec };
}

function budgetsOf({ budgets }: Snapshot, { pods }: Part): SnapshotObject[] {
  const namespaces = new Set(pods.map(({ namespace }) => namespace));
  return budgets.filter(({ namespace }) => namespaces.has(namespace)).map(({ object }) => object);
}

/** What is down already counts when the next one fails. */
function deadNodes({ nodes }: Part): RawEvent[] {
  return nodes.filter(({ ready }) => ready !== 'True').map(({ name }) => ({ at: '0s', partition: name }));
}

/** That of most nodes. */
function leaseSeconds({ nodes }: Snapshot): number {
  const counts = [
    ...Map.groupBy(
      nodes.flatMap((node) => node.leaseSeconds ?? []),
      (seconds) => seconds,
    ),
  ];
  const [most] = counts.filter(([seconds]) => seconds > 0).toSorted(([, one], [, other]) => other.length - one.length);
  return most?.[0] ?? defaultLeaseSeconds;
}
