/** Longhorn (`longhorn.io/v1beta2`): what its objects say, as facts. */
import { EVICTING_FOR } from '../api/drain-names.ts';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import type {
  CountedCopy,
  DiskFacts,
  ReplicaFacts,
  StorageNodeFacts,
  StoragePodFacts,
  VolumeFacts,
} from '../api/drain-view.ts';
import type { JsonPatchOperation, KubeObject } from '../kube/client.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import type { StorageFacts } from '../api/drain-view.ts';
import type { StoragePatch, StorageSystem } from './storage.ts';
import type {
  Condition,
  EngineObject,
  InstanceManagerObject,
  NodeObject,
  ReplicaObject,
  SettingObject,
  VolumeObject,
} from './longhorn-objects.ts';
import { engines, instanceManagers, replicas, settings, storageNodes, volumes } from './longhorn-objects.ts';

/** What tells the pod of one instance manager from every other; the object and its pod carry the same. */
const podLabels = [
  'longhorn.io/component',
  'longhorn.io/node',
  'longhorn.io/instance-manager-type',
  'longhorn.io/instance-manager-image',
  'longhorn.io/data-engine',
];

export const longhorn: StorageSystem = {
  name: 'longhorn',
  resources: [storageNodes, volumes, engines, replicas, instanceManagers, settings],
  slim,
  facts,
  grounds,
  eviction,
  autoEvicting,
};

function slim(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status, value } = object as ReplicaObject & { value?: string };
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels, annotations } = metadata;
  const kept = { name, namespace, uid, resourceVersion, deletionTimestamp, labels, annotations };
  const parts = { apiVersion, kind, spec, status, value };
  return { ...withoutUndefined(parts), metadata: withoutUndefined(kept) as KubeObject['metadata'] };
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}

function facts(
  objectsOf: (resource: Resource) => Iterable<KubeObject>,
  memory = new WeakMap<KubeObject, unknown>(),
): StorageFacts {
  const setting = new Map<string, string | undefined>();
  for (const { metadata, value } of objectsOf(settings) as Iterable<SettingObject>) setting.set(metadata.name, value);
  const nodeObjects = [...(objectsOf(storageNodes) as Iterable<NodeObject>)];
  const ofVolume = Map.groupBy(objectsOf(engines) as Iterable<EngineObject>, ({ spec }) => spec?.volumeName);
  const volumeFacts = [...(objectsOf(volumes) as Iterable<VolumeObject>)].map((one) =>
    rememberedVolume(one, ofVolume.get(one.metadata.name) ?? [], memory),
  );
  const context: ReplicaContext = {
    volumes: new Map(volumeFacts.map((volume) => [volume.name, volume])),
    engines: ofVolume,
    disks: diskNames(nodeObjects),
  };
  return {
    nodes: nodeObjects.map(nodeOf),
    pods: [...(objectsOf(instanceManagers) as Iterable<InstanceManagerObject>)].flatMap(podOf),
    volumes: volumeFacts,
    replicas: [...(objectsOf(replicas) as Iterable<ReplicaObject>)].map((one) =>
      rememberedReplica(one, context, memory),
    ),
    softAntiAffinity: setting.get('replica-soft-anti-affinity') === 'true',
    // Every version that has this setting keeps budgets of its own, as the value says.
    ...(setting.has('node-drain-policy') && { ownPolicy: policyOf(setting.get('node-drain-policy')) }),
  };
}

function policyOf(value: string | undefined): NonNullable<StorageFacts['ownPolicy']> {
  return DRAIN_POLICIES.find((policy) => policy === value) ?? 'unknown';
}

function versionOf({ metadata }: KubeObject): { name: string; uid: string; resourceVersion: string } {
  const { name, uid = '', resourceVersion = '' } = metadata;
  return { name, uid, resourceVersion };
}

function conditionOf(conditions: readonly Condition[] | undefined, wanted: string): boolean | 'unknown' {
  // A map in the first version of this API, a list since.
  const status = Array.isArray(conditions) ? conditions.find(({ type }) => type === wanted)?.status : undefined;
  return status === 'True' ? true : status === 'False' ? false : 'unknown';
}

function nodeOf(object: NodeObject): StorageNodeFacts {
  const { spec, status } = object;
  return {
    ...versionOf(object),
    ready: conditionOf(status?.conditions, 'Ready'),
    evictionRequested: spec?.evictionRequested === true,
    closed: spec?.allowScheduling === false,
    autoEvicting: status?.autoEvicting === true,
    reported: status !== undefined,
    disks: Object.keys(spec?.disks ?? {}).map((name) => diskOf(object, name)),
  };
}

function diskOf({ spec, status }: NodeObject, name: string): DiskFacts {
  const wanted = spec?.disks?.[name];
  const { storageMaximum, storageAvailable, storageScheduled, conditions } = status?.diskStatus?.[name] ?? {};
  const isKnown = storageMaximum !== undefined && storageScheduled !== undefined;
  const unplanned = isKnown ? storageMaximum - storageScheduled - (wanted?.storageReserved ?? 0) : undefined;
  return {
    name,
    evictionRequested: wanted?.evictionRequested === true,
    closed: wanted?.allowScheduling === false || conditionOf(conditions, 'Schedulable') === false,
    ...(unplanned === undefined ? {} : { roomBytes: Math.min(unplanned, storageAvailable ?? Infinity) }),
  };
}

/** Replicas name their disk by its UUID, people and requests by its name. */
function diskNames(objects: readonly NodeObject[]): Map<string, string> {
  return new Map(
    objects.flatMap(({ metadata, status }) =>
      Object.entries(status?.diskStatus ?? {}).flatMap(([name, { diskUUID }]): [string, string][] =>
        diskUUID === undefined ? [] : [[diskKey(metadata.name, diskUUID), name]],
      ),
    ),
  );
}

function diskKey(node: string | undefined, uuid: string | undefined): string {
  return `${node}/${uuid}`;
}

/** Without the label of its node a budget could not tell it from the pods of other nodes: it is as good as unknown. */
function podOf({ metadata, spec, status }: InstanceManagerObject): StoragePodFacts[] {
  const { labels = {}, name } = metadata;
  const node = spec?.nodeID ?? '';
  // One for engines alone, of older versions, holds no replica.
  if (node === '' || labels['longhorn.io/node'] !== node || spec?.type === 'engine') return [];
  const known = Object.entries(labels).filter(([key]) => podLabels.includes(key));
  const state = status?.currentState;
  const serving = state === undefined ? 'unknown' : state === 'running';
  return [{ name, node, labels: Object.fromEntries(known), serving }];
}

function volumeOf({ metadata, spec, status }: VolumeObject): VolumeFacts {
  const { state } = status ?? {};
  const sizeBytes = Number(spec?.size ?? Number.NaN);
  const { replicaSoftAntiAffinity: soft, numberOfReplicas } = spec ?? {};
  return {
    name: metadata.name,
    attachment: state === 'attached' || state === 'detached' ? state : 'unknown',
    ...(Number.isNaN(sizeBytes) ? {} : { sizeBytes }),
    ...(numberOfReplicas === undefined ? {} : { wantedReplicas: numberOfReplicas }),
    ...(soft === 'enabled' || soft === 'disabled' ? { softAntiAffinity: soft === 'enabled' } : {}),
  };
}

interface ReplicaContext {
  volumes: ReadonlyMap<string, VolumeFacts>;
  engines: ReadonlyMap<string | undefined, readonly EngineObject[]>;
  /** Names of disks by node and UUID. */
  disks: ReadonlyMap<string, string>;
}

interface RememberedVolume {
  usedOn: string;
  facts: VolumeFacts;
}

function rememberedVolume(
  object: VolumeObject,
  running: readonly EngineObject[],
  memory: WeakMap<KubeObject, unknown>,
): VolumeFacts {
  const usedOn = usedOnOf(running);
  const known = memory.get(object) as RememberedVolume | undefined;
  if (known?.usedOn === usedOn.join(' ')) return known.facts;
  const found = { ...volumeOf(object), ...(usedOn.length > 0 && { usedOn }) };
  memory.set(object, { usedOn: usedOn.join(' '), facts: found } satisfies RememberedVolume);
  return found;
}

/** An engine of which nobody knows that it has stopped may still write. */
function usedOnOf(running: readonly EngineObject[]): string[] {
  return running.flatMap(({ spec, status }) =>
    status?.currentState === 'stopped' || (spec?.nodeID ?? '') === '' ? [] : [spec?.nodeID ?? ''],
  );
}

interface RememberedReplica {
  volume: VolumeFacts | undefined;
  engines: readonly EngineObject[];
  disk: string | undefined;
  facts: ReplicaFacts;
}

/** Of tens of thousands hardly any has changed since the last look, nor what it depends on. */
function rememberedReplica(
  object: ReplicaObject,
  context: ReplicaContext,
  memory: WeakMap<KubeObject, unknown>,
): ReplicaFacts {
  const { volumeName = '', nodeID, diskID } = object.spec ?? {};
  const volume = context.volumes.get(volumeName);
  const running = context.engines.get(volumeName) ?? [];
  const disk = context.disks.get(diskKey(nodeID, diskID));
  const known = memory.get(object) as RememberedReplica | undefined;
  const isSame =
    known !== undefined &&
    known.volume === volume &&
    known.disk === disk &&
    known.engines.length === running.length &&
    known.engines.every((engine, index) => engine === running[index]);
  if (isSame) return known.facts;
  const found = replicaOf(object, context);
  memory.set(object, { volume, engines: running, disk, facts: found } satisfies RememberedReplica);
  return found;
}

function replicaOf(object: ReplicaObject, context: ReplicaContext): ReplicaFacts {
  const { metadata, spec } = object;
  const { volumeName: volume = '', nodeID: node = '', diskID: disk = '' } = spec ?? {};
  const requestedFor = metadata.annotations?.[EVICTING_FOR];
  return {
    ...versionOf(object),
    ...(volume === '' ? {} : { volume }),
    ...(node === '' ? {} : { node }),
    ...(disk === '' ? {} : { disk: context.disks.get(diskKey(node, disk)) ?? disk }),
    copy: copyOf(object, context),
    recorded: recordedOf(object),
    activity: activityOf(object),
    evictionRequested: spec?.evictionRequested === true,
    ...(requestedFor === undefined ? {} : { requestedFor }),
    deleting: metadata.deletionTimestamp !== undefined,
    annotated: metadata.annotations !== undefined,
  };
}

function recordedOf({ spec }: ReplicaObject): ReplicaFacts['recorded'] {
  if ((spec?.failedAt ?? '') !== '') return 'failed';
  return (spec?.healthyAt ?? '') === '' ? 'empty' : 'healthy';
}

/**
 * Of a volume in use its engine knows which copies it writes to; a copy that the engine does not know of is not in use,
 * whatever was true of it before. Of one that is not in use the last word was written on the replica itself, as long as
 * its node has the disk that it is on.
 */
function copyOf({ metadata, spec, status }: ReplicaObject, context: ReplicaContext): ReplicaFacts['copy'] {
  const volume = context.volumes.get(spec?.volumeName ?? '');
  if (spec === undefined || status === undefined || volume === undefined) return 'unknown';
  if ((spec.failedAt ?? '') !== '') return 'failed';
  const wasHealthy = (spec.healthyAt ?? '') !== '';
  switch (volume.attachment) {
    case 'detached':
      if (!wasHealthy) return 'empty';
      return context.disks.has(diskKey(spec.nodeID, spec.diskID)) ? 'healthy' : 'unknown';
    case 'unknown':
      return 'unknown';
    case 'attached':
      switch (modeOf(metadata.name, context.engines.get(volume.name) ?? [])) {
        case 'RW':
          return 'healthy';
        case 'WO':
          return 'rebuilding';
        case 'ERR':
          return 'failed';
        default:
          return wasHealthy ? 'unknown' : 'rebuilding';
      }
  }
}

/** While a volume moves it has two engines: what one of them does not write to is not in use for certain. */
function modeOf(replica: string, running: readonly EngineObject[]): string | undefined {
  const modes = running
    .filter(({ status }) => status?.currentState === 'running')
    .map(({ status }) => status?.replicaModeMap?.[replica]);
  const [mode] = modes;
  return modes.every((one) => one === mode) ? mode : undefined;
}

function activityOf({ spec, status }: ReplicaObject): ReplicaFacts['activity'] {
  if (status?.currentState === 'running') return 'running';
  return status?.currentState === 'stopped' && spec?.desireState === 'stopped' ? 'stopped' : 'unknown';
}

/** Whether a copy is healthy is said by the replica, by its volume, and by the engines that write to it. */
function grounds(
  objectsOf: (resource: Resource) => Iterable<KubeObject>,
  namespace: string,
  copies: readonly CountedCopy[],
): ObjectRef[] {
  const named = (resource: Resource, names: Iterable<string>): ObjectRef[] =>
    [...new Set(names)].map((name) => ({ resource, namespace, name }));
  const counted = new Set(copies.map(({ volume }) => volume));
  const writing = [...(objectsOf(engines) as Iterable<EngineObject>)].filter(({ spec }) =>
    counted.has(spec?.volumeName ?? ''),
  );
  return [
    ...named(volumes, counted),
    ...named(
      engines,
      writing.map(({ metadata }) => metadata.name),
    ),
    ...named(
      replicas,
      copies.map(({ replica }) => replica.name),
    ),
    ...named(
      storageNodes,
      copies.map(({ node }) => node),
    ),
  ];
}

function eviction(namespace: string, replica: ReplicaFacts, policy: string | undefined): StoragePatch {
  const path = `/metadata/annotations/${EVICTING_FOR.replace('/', '~1')}`;
  const value = policy !== undefined;
  const mark: JsonPatchOperation[] = replica.annotated
    ? [{ op: 'add', path, value: policy }]
    : [{ op: 'add', path: '/metadata/annotations', value: { [EVICTING_FOR]: policy } }];
  const unmark: JsonPatchOperation[] = replica.requestedFor === undefined ? [] : [{ op: 'remove', path }];
  return {
    ref: { resource: replicas, namespace, name: replica.name },
    only: { uid: replica.uid, resourceVersion: replica.resourceVersion },
    operations: [{ op: 'add', path: '/spec/evictionRequested', value }, ...(value ? mark : unmark)],
  };
}

function autoEvicting(namespace: string, node: StorageNodeFacts, value: boolean): StoragePatch {
  return {
    ref: { resource: storageNodes, namespace, name: node.name },
    only: { uid: node.uid, resourceVersion: node.resourceVersion },
    operations: node.reported
      ? [{ op: 'add', path: '/status/autoEvicting', value }]
      : [{ op: 'add', path: '/status', value: { autoEvicting: value } }],
    subresource: 'status',
  };
}
