import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EVICTING_FOR } from '../api/drain-names.ts';
import type { ReplicaFacts } from '../api/drain-view.ts';
import type { KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { longhorn } from './longhorn.ts';
import type {
  EngineObject,
  InstanceManagerObject,
  NodeObject,
  ReplicaObject,
  VolumeObject,
} from './longhorn-objects.ts';
import { engines, instanceManagers, replicas, settings, storageNodes, volumes } from './longhorn-objects.ts';
import type { StorageFacts } from '../api/drain-view.ts';

const meta = (name: string, more: object = {}): KubeObject['metadata'] => ({
  name,
  namespace: 'longhorn-system',
  uid: `uid-${name}`,
  resourceVersion: '7',
  ...more,
});

function factsOf(objects: [Resource, KubeObject[]][]): StorageFacts {
  const known = new Map(objects);
  return longhorn.facts((resource) => (known.get(resource) ?? []).map(longhorn.slim));
}

const attached: VolumeObject = {
  metadata: meta('v'),
  spec: { size: '10737418240', numberOfReplicas: 3, replicaSoftAntiAffinity: 'disabled' },
  status: { state: 'attached' },
};
const engine = (modes: Record<string, string>): EngineObject => ({
  metadata: meta('v-e-0'),
  spec: { volumeName: 'v' },
  status: { currentState: 'running', replicaModeMap: modes },
});
const whole: ReplicaObject = {
  metadata: meta('r'),
  spec: { volumeName: 'v', nodeID: 'n', diskID: 'u', desireState: 'running', healthyAt: 't', failedAt: '' },
  status: { currentState: 'running' },
};

const withDisk: NodeObject = { metadata: meta('n'), status: { diskStatus: { fast: { diskUUID: 'u' } } } };

function replicaFrom(object: ReplicaObject, volume: VolumeObject | undefined, running: EngineObject[]): ReplicaFacts {
  const { replicas: found } = factsOf([
    [
      storageNodes,
      [withDisk, { ...withDisk, metadata: meta('other'), status: { diskStatus: { x: { diskUUID: 'w' } } } }],
    ],
    [replicas, [object]],
    [volumes, volume === undefined ? [] : [volume]],
    [engines, running],
  ]);
  assert.ok(found[0]);
  return found[0];
}

describe('[DRN-12] a replica of Longhorn', () => {
  const copyOf = (change: Partial<ReplicaObject['spec']>, modes: Record<string, string>): string =>
    replicaFrom({ ...whole, spec: { ...whole.spec, ...change } }, attached, [engine(modes)]).copy;

  test('of a volume in use is what its engine says', () => {
    assert.equal(copyOf({}, { r: 'RW' }), 'healthy');
    assert.equal(copyOf({}, { r: 'WO' }), 'rebuilding');
    assert.equal(copyOf({}, { r: 'ERR' }), 'failed');
    assert.equal(copyOf({ failedAt: 't' }, { r: 'RW' }), 'failed');
    assert.equal(copyOf({}, {}), 'unknown', 'it was healthy once, and nobody writes to it');
    assert.equal(copyOf({ healthyAt: '' }, {}), 'rebuilding', 'it is about to be');
  });

  test('of a volume that moves is healthy only if both engines write to it', () => {
    const other = { ...engine({}), metadata: meta('v-e-1') };
    assert.equal(replicaFrom(whole, attached, [engine({ r: 'RW' }), other]).copy, 'unknown');
    assert.equal(replicaFrom(whole, attached, []).copy, 'unknown');
  });

  test('of a volume that nobody uses is what was last written on it', () => {
    const detached = { ...attached, status: { state: 'detached' } };
    assert.equal(replicaFrom(whole, detached, []).copy, 'healthy');
    assert.equal(replicaFrom({ ...whole, spec: { ...whole.spec, healthyAt: '' } }, detached, []).copy, 'empty');
    assert.equal(replicaFrom({ ...whole, spec: { ...whole.spec, failedAt: 't' } }, detached, []).copy, 'failed');
  });

  test('of a volume that nobody uses is unknown while its node does not have the disk that it is on', () => {
    const detached = { ...attached, status: { state: 'detached' } };
    const copyAt = (place: { nodeID?: string; diskID?: string }, volume: VolumeObject): string => {
      const { nodeID: _nodeID, diskID: _diskID, ...spec } = whole.spec ?? {};
      return replicaFrom({ ...whole, spec: { ...spec, ...place } }, volume, [engine({ r: 'RW' })]).copy;
    };
    const places = [{ nodeID: 'n' }, { diskID: 'u' }, { nodeID: 'n', diskID: 'w' }, { nodeID: 'gone', diskID: 'u' }];
    for (const place of places) {
      assert.equal(copyAt(place, detached), 'unknown', JSON.stringify(place));
      assert.equal(copyAt(place, attached), 'healthy', 'of one in use the engine knows better');
    }
  });

  test('is unknown while it, its volume or the state of that is not written', () => {
    const { status: _status, ...unreported } = whole;
    const { status: _state, ...young } = attached;
    const modes = [engine({ r: 'RW' })];
    assert.equal(replicaFrom(unreported, attached, modes).copy, 'unknown');
    assert.equal(replicaFrom({ metadata: meta('r') }, attached, modes).copy, 'unknown');
    assert.equal(replicaFrom(whole, undefined, modes).copy, 'unknown');
    assert.equal(replicaFrom(whole, young, modes).copy, 'unknown');
    assert.equal(replicaFrom(whole, { ...attached, status: { state: 'attaching' } }, modes).copy, 'unknown');
    const bare = replicaFrom({ metadata: meta('r') }, attached, modes);
    assert.equal(bare.volume, undefined);
    assert.equal(bare.node, undefined);
    assert.equal(bare.activity, 'unknown');
  });

  test('has stopped only when that is also what is wanted', () => {
    const activity = (desireState: string, currentState: string): string =>
      replicaFrom({ ...whole, spec: { ...whole.spec, desireState }, status: { currentState } }, attached, []).activity;
    assert.equal(activity('stopped', 'stopped'), 'stopped');
    assert.equal(activity('running', 'stopped'), 'unknown');
    assert.equal(activity('stopped', 'running'), 'running');
    assert.equal(activity('running', 'error'), 'unknown');
  });

  test('is asked to leave with a mark, and only of the version that was read', () => {
    const plain = replicaFrom(whole, attached, []);
    const path = '/metadata/annotations/fenceline.dev~1evicting-for';
    assert.deepEqual(longhorn.eviction('ns', plain, 'default'), {
      ref: { resource: replicas, namespace: 'ns', name: 'r' },
      only: { uid: 'uid-r', resourceVersion: '7' },
      operations: [
        { op: 'add', path: '/spec/evictionRequested', value: true },
        { op: 'add', path: '/metadata/annotations', value: { [EVICTING_FOR]: 'default' } },
      ],
    });
    const annotations = { [EVICTING_FOR]: 'default', other: 'x' };
    const spec = { ...whole.spec, evictionRequested: true };
    const asked = replicaFrom({ ...whole, spec, metadata: meta('r', { annotations }) }, attached, []);
    assert.equal(asked.requestedFor, 'default');
    assert.deepEqual(longhorn.eviction('ns', asked, undefined).operations, [
      { op: 'add', path: '/spec/evictionRequested', value: false },
      { op: 'remove', path },
    ]);
  });
});

describe('[DRN-12] what else Longhorn says', () => {
  const node: NodeObject = {
    metadata: meta('n'),
    spec: {
      allowScheduling: true,
      disks: { d: { allowScheduling: true, evictionRequested: true, storageReserved: 10 } },
    },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      diskStatus: { d: { diskUUID: 'u', storageMaximum: 100, storageScheduled: 30, storageAvailable: 80 } },
    },
  };

  test('a node, its disks and what is left on them', () => {
    const { nodes, replicas: found } = factsOf([
      [storageNodes, [node]],
      [replicas, [whole]],
    ]);
    assert.deepEqual(nodes[0], {
      name: 'n',
      uid: 'uid-n',
      resourceVersion: '7',
      ready: true,
      evictionRequested: false,
      closed: false,
      autoEvicting: false,
      reported: true,
      disks: [{ name: 'd', evictionRequested: true, closed: false, roomBytes: 60 }],
    });
    assert.equal(found[0]?.disk, 'd', 'a replica names its disk by UUID');
  });

  test('a node that has not reported is not known to be ready', () => {
    const { nodes } = factsOf([[storageNodes, [{ metadata: meta('n') }]]]);
    assert.equal(nodes[0]?.ready, 'unknown');
    assert.deepEqual(longhorn.autoEvicting('ns', nodes[0], true).operations, [
      { op: 'add', path: '/status', value: { autoEvicting: true } },
    ]);
    const { nodes: reported } = factsOf([[storageNodes, [node]]]);
    const patch = longhorn.autoEvicting('ns', reported[0]!, false);
    assert.deepEqual(patch.operations, [{ op: 'add', path: '/status/autoEvicting', value: false }]);
    assert.equal(patch.subresource, 'status');
  });

  test('[DRN-2] the pod of a node by labels that no other node’s has', () => {
    const labels = { 'longhorn.io/node': 'n', 'longhorn.io/component': 'instance-manager', other: 'x' };
    const manager = (change: object, type = 'aio'): InstanceManagerObject => ({
      metadata: meta('im', change),
      spec: { nodeID: 'n', type },
    });
    const podsOf = (one: InstanceManagerObject): unknown => factsOf([[instanceManagers, [one]]]).pods;
    const { other: _other, ...selecting } = labels;
    assert.deepEqual(podsOf(manager({ labels })), [{ name: 'im', node: 'n', labels: selecting, serving: 'unknown' }]);
    const states = ['running', 'unknown'].map((currentState) => {
      const one: InstanceManagerObject = { ...manager({ labels }), status: { currentState } };
      const [pod] = factsOf([[instanceManagers, [one]]]).pods;
      return pod?.serving;
    });
    assert.deepEqual(states, [true, false]);
    assert.deepEqual(podsOf(manager({ labels: { ...labels, 'longhorn.io/node': 'm' } })), []);
    assert.deepEqual(podsOf(manager({})), [], 'it could not be told from the others');
    assert.deepEqual(podsOf(manager({ labels }, 'engine')), [], 'it serves no replica');
  });

  test('volumes and settings', () => {
    const { volumes: found, ownPolicy, softAntiAffinity } = factsOf([[volumes, [attached, { metadata: meta('w') }]]]);
    assert.deepEqual(found, [
      { name: 'v', attachment: 'attached', sizeBytes: 10737418240, wantedReplicas: 3, softAntiAffinity: false },
      { name: 'w', attachment: 'unknown' },
    ]);
    assert.equal(ownPolicy, undefined);
    assert.equal(softAntiAffinity, false);
    const set = (name: string, value: string): KubeObject & { value: string } => ({ metadata: meta(name), value });
    const own = [set('node-drain-policy', 'always-allow'), set('replica-soft-anti-affinity', 'true')];
    assert.equal(factsOf([[settings, own]]).ownPolicy, 'always-allow');
    assert.equal(factsOf([[settings, [set('node-drain-policy', 'never')]]]).ownPolicy, 'unknown');
    assert.equal(factsOf([[settings, own]]).softAntiAffinity, true);
  });
});

test('what is remembered of objects that are still the same ones is found out anew when what it rests on changes', () => {
  const metadata = (name: string): ReplicaObject['metadata'] => ({ name, uid: name, resourceVersion: '1' });
  const replica: ReplicaObject = {
    metadata: metadata('r'),
    spec: { volumeName: 'v', nodeID: 'a', diskID: 'd', healthyAt: 'then' },
    status: { currentState: 'running' },
  };
  const volume = (state: string): VolumeObject => ({ metadata: metadata('v'), spec: {}, status: { state } });
  const engine = (mode: string): EngineObject => ({
    metadata: metadata('e'),
    spec: { volumeName: 'v' },
    status: { currentState: 'running', replicaModeMap: { r: mode } },
  });
  const memory = new WeakMap<KubeObject, unknown>();
  const copyOf = (objects: Record<string, KubeObject[]>): string | undefined =>
    longhorn.facts(({ plural }) => objects[plural] ?? [], memory).replicas[0]?.copy;
  const [attached, writing] = [volume('attached'), engine('RW')];
  const names = (uuid: string): KubeObject[] => [
    { metadata: metadata('a'), status: { diskStatus: { fast: { diskUUID: uuid } } } } as NodeObject,
  ];
  const base = { replicas: [replica], volumes: [attached], engines: [writing], nodes: names('d') };
  assert.equal(copyOf(base), 'healthy');
  assert.equal(copyOf(base), 'healthy');
  assert.equal(copyOf({ ...base, engines: [engine('ERR')] }), 'failed');
  assert.equal(copyOf({ ...base, engines: [] }), 'unknown');
  const detached = { ...base, volumes: [volume('detached')] };
  assert.equal(copyOf(detached), 'healthy');
  assert.equal(copyOf({ ...detached, nodes: names('other') }), 'unknown');
  assert.equal(copyOf({ ...base, volumes: [] }), 'unknown');
  const diskOf = (nodes: KubeObject[]): string | undefined =>
    longhorn.facts(({ plural }) => ({ ...base, nodes })[plural as 'nodes'] ?? [], memory).replicas[0]?.disk;
  assert.deepEqual([diskOf(names('d')), diskOf(names('other'))], ['fast', 'd']);
});
