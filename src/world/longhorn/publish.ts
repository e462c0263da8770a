/** What Longhorn's objects say of what is so. Only fields that it owns are written: requests are those of others. */
import { isDeepStrictEqual } from 'node:util';
import type { JsonPatchOperation, KubeObject } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';
import type { Api } from '../controllers/api.ts';
import { apiTime } from '../objects/times.ts';
import type { EngineObject, ReplicaObject, VolumeObject } from './objects.ts';
import { diskIdOf, instanceManagerName, longhornNamespace } from './objects.ts';
import type { TrueReplica, TrueVolume } from './truth.ts';
import { robustnessOf } from './truth.ts';

export interface Wanted {
  labels?: Record<string, string>;
  /** Written when the object is made, and never again. */
  initial?: Record<string, unknown>;
  spec?: Record<string, unknown>;
  /** Written with the first status, and never again. */
  initialStatus?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

type WithParts = KubeObject & { spec?: object; status?: object };

/** Makes the object, or writes what it does not say yet. The status comes second, as with every custom resource. */
export async function publish(
  api: Api,
  resource: Resource,
  { name, known }: { name: string; known: KubeObject | undefined },
  { labels = {}, initial = {}, spec = {}, initialStatus = {}, status = {} }: Wanted,
): Promise<void> {
  let object: WithParts | undefined = known;
  if (object === undefined) {
    const metadata = { name, namespace: longhornNamespace, labels };
    object = await api.create<WithParts>(resource, { metadata, spec: { ...initial, ...spec } });
    if (object === undefined) return;
  }
  const specChanges = changes('/spec', object.spec, spec);
  if (specChanges.length > 0) object = await api.patch<WithParts>(resource, object, specChanges);
  if (object === undefined) return;
  const statusChanges: JsonPatchOperation[] =
    object.status === undefined
      ? [{ op: 'add', path: '/status', value: { ...initialStatus, ...status } }]
      : changes('/status', object.status, status);
  if (statusChanges.length > 0 && Object.keys(status).length > 0) {
    await api.patch(resource, object, statusChanges, { subresource: 'status' });
  }
}

function changes(path: string, before: object | undefined, wanted: Record<string, unknown>): JsonPatchOperation[] {
  if (before === undefined) return Object.keys(wanted).length === 0 ? [] : [{ op: 'add', path, value: wanted }];
  return Object.entries(wanted)
    .filter(([key, value]) => !isDeepStrictEqual(Reflect.get(before, key), value))
    .map(([key, value]) => ({ op: 'add', path: `${path}/${key}`, value }));
}

function timeOf(atMs: number | undefined): string {
  return atMs === undefined ? '' : apiTime(atMs);
}

export function replicaWanted(volume: TrueVolume, replica: TrueReplica): Wanted {
  const isRebuilt = replica.state === 'building' || replica.state === 'repairing';
  const state = replica.running ? 'running' : 'stopped';
  const spec: ReplicaObject['spec'] = {
    volumeName: volume.name,
    volumeSize: String(volume.sizeBytes),
    nodeID: replica.node,
    diskID: diskIdOf(replica.node),
    engineName: engineName(volume.name),
    active: true,
    desireState: state,
    // What is being rebuilt is neither.
    healthyAt: isRebuilt ? '' : timeOf(replica.healthyAtMs),
    failedAt: isRebuilt ? '' : timeOf(replica.failedAtMs),
  };
  const instanceManager = replica.running ? instanceManagerName(replica.node) : '';
  return {
    labels: { longhornvolume: volume.name, longhornnode: replica.node },
    initial: { evictionRequested: false },
    spec,
    status: { currentState: state, instanceManagerName: instanceManager },
  };
}

export function volumeWanted(volume: TrueVolume): Wanted {
  const attached = volume.engineOn !== undefined;
  const robustness = robustnessOf(volume);
  const spec: VolumeObject['spec'] = {
    size: String(volume.sizeBytes),
    numberOfReplicas: volume.wanted,
    nodeID: volume.engineOn ?? '',
    replicaSoftAntiAffinity: 'ignored',
  };
  const status: VolumeObject['status'] = {
    state: attached ? 'attached' : 'detached',
    robustness: attached || robustness === 'faulted' ? robustness : 'unknown',
    currentNodeID: volume.engineOn ?? '',
  };
  return { spec, status };
}

export function engineWanted(volume: TrueVolume): Wanted {
  const running = volume.engineOn !== undefined;
  const inUse = [...volume.replicas.values()].filter((replica) => replica.running);
  const modes = inUse.map(({ name, state }) => [name, state === 'healthy' ? 'RW' : 'WO']);
  const spec: EngineObject['spec'] = {
    volumeName: volume.name,
    nodeID: volume.engineOn ?? '',
    desireState: running ? 'running' : 'stopped',
  };
  const status = {
    currentState: running ? 'running' : 'stopped',
    replicaModeMap: running ? (Object.fromEntries(modes) as Record<string, string>) : {},
  };
  return { labels: { longhornvolume: volume.name }, spec, status };
}

export function engineName(volume: string): string {
  return `${volume}-e-0`;
}
