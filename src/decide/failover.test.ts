import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FailoverReason } from '../api/failover.ts';
import { FAILOVER_REASONS } from '../api/failover.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { Snapshot, SnapshotNode, SnapshotPod, SnapshotSet, SnapshotVolume } from '../api/snapshot.ts';
import { failoverFindings } from './failover.ts';

/** A database of one pod on `a`, fenced by its cloud, with a volume that any node can attach: it fails over. */
function node(name: string, zone: string): SnapshotNode {
  return {
    name,
    uid: name,
    resourceVersion: '1',
    bootId: name,
    labels: { 'topology.kubernetes.io/zone': zone, 'kubernetes.io/hostname': name },
    ready: 'True',
    taints: [],
    volumesInUse: [],
    providerId: `aws:///${zone}/${name}`,
    zone,
    allocatable: {},
    annotations: {},
  };
}

function pod(name: string, on: string): SnapshotPod {
  return {
    namespace: 'default',
    name,
    uid: name,
    resourceVersion: '1',
    owner: { group: 'apps', kind: 'StatefulSet', name: 'db', uid: 'db' },
    phase: 'Running',
    endsWithinSeconds: 30,
    mirror: false,
    labels: { app: 'db' },
    tolerations: [],
    isPinned: false,
    claims: [{ volume: 'data', claim: 'data' }],
    directVolumes: [],
    attachesDirectly: false,
    hasFinalizers: false,
    hasConditions: true,
    node: on,
    isReady: true,
    object: { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [] } },
  };
}

const set: SnapshotSet = {
  kind: 'StatefulSet',
  namespace: 'default',
  name: 'db',
  uid: 'db',
  replicas: 1,
  start: 0,
  isOrdered: true,
  object: { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec: {} },
};

const volume: SnapshotVolume = {
  facts: {
    claim: 'default/data',
    known: true,
    volume: 'pv',
    csi: { driver: 'driver.longhorn.io', handle: 'pv' },
    local: false,
    accessModes: ['ReadWriteOnce'],
  },
  claim: { namespace: 'default', name: 'data' },
  className: '',
  object: { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'pv' }, spec: {} },
};

const fencing = {
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'RemedyPolicy',
  metadata: { name: 'workers' },
  spec: {
    allNodes: true,
    mode: 'Enforce',
    thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '5m', cleanResources: true }] }],
    remedies: [{ name: 'fence', fence: {} }],
    fence: { isolateAfter: '30s', powerManagementAfter: '5m', bootTimeout: '10m', retries: 3, restarts: 2 },
    storm: { maxUnresponsive: '40%', maxConcurrent: 1, podsPerMinute: 300, cooldown: '5m' },
    release: { podDeletion: 'do-nothing', volumeAttachmentRecovery: 'never', provisioners: ['driver.longhorn.io'] },
    return: { soak: '30s' },
  },
};
const { thresholds: _thresholds, remedies: _remedies, ...withoutFence } = fencing.spec;
const risky = {
  ...fencing,
  spec: { ...withoutFence, release: { ...fencing.spec.release, podDeletion: 'delete-statefulset-pod' } },
};

const healthy: Snapshot = {
  takenAt: '',
  nodes: [node('a', 'z1'), node('b', 'z1'), node('c', 'z2')],
  pods: [pod('db-0', 'a')],
  sets: [set],
  claims: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data', namespace: 'default' } }],
  volumes: [volume],
  classes: [],
  drivers: [],
  budgets: [],
  policies: [fencing],
  maps: [],
  devices: [],
  replicas: [
    { volume: 'pv', node: 'a' },
    { volume: 'pv', node: 'b' },
  ],
  unread: [],
};

function found(changes: Partial<Snapshot>): string[] {
  const snapshot = { ...healthy, ...changes };
  const findings = failoverFindings({ snapshot, gates: featureGates(), clouds: new Set(['aws']) });
  for (const { message, advice, failsOver, reason } of findings) {
    assert.ok(message !== '' && advice !== '');
    assert.equal(failsOver, FAILOVER_REASONS[reason].limits);
  }
  return findings.map(({ pod: name, reason }) => `${name} ${reason}`);
}

const changedPod = (change: Partial<SnapshotPod>): Partial<Snapshot> => ({
  pods: [{ ...pod('db-0', 'a'), ...change }],
});
const inSpec = (spec: object): Partial<Snapshot> =>
  changedPod({ object: { ...pod('db-0', 'a').object, spec: { containers: [], ...spec } } });
const zone = (...values: string[]) => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values }] }],
});
const only = (name: string) => ({
  nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] }],
});
const { owner: _owner, ...bare } = pod('db-0', 'a');
const replicaSet: SnapshotSet = {
  ...set,
  kind: 'ReplicaSet',
  isOrdered: false,
  owner: { kind: 'Deployment', name: 'web', uid: 'web' },
};
const deployment: SnapshotSet = {
  ...set,
  kind: 'Deployment',
  name: 'web',
  uid: 'web',
  strategy: 'RollingUpdate',
  isOrdered: false,
};
const tainted = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const daemon = (tolerations: object[]): SnapshotSet => ({
  ...set,
  kind: 'DaemonSet',
  name: 'csi',
  uid: 'csi',
  isOrdered: false,
  object: {
    ...set.object,
    spec: {
      template: {
        spec: {
          containers: [],
          tolerations,
          volumes: [{ name: 'p', hostPath: { path: '/var/lib/kubelet/plugins/driver.longhorn.io' } }],
        },
      },
    },
  },
});

/** For each reason what brings it about, and what comes with it. */
const causes: Record<FailoverReason, [Partial<Snapshot>, ...FailoverReason[]]> = {
  NoPolicy: [{ policies: [] }],
  NotEnforced: [{ policies: [{ ...fencing, spec: { ...fencing.spec, mode: 'DryRun' } }] }],
  NoBasis: [{ policies: [{ ...fencing, spec: withoutFence }] }],
  EndlessToleration: [{ ...changedPod({ tolerations: [{ operator: 'Exists' }] }), policies: [risky] }],
  NoController: [{ pods: [bare] }],
  LocalVolume: [{ volumes: [{ ...volume, facts: { ...volume.facts, local: true }, affinity: only('a') }] }],
  SoleReplica: [{ replicas: [{ volume: 'pv', node: 'a' }] }],
  VolumeUnknown: [{ volumes: [] }],
  Pinned: [inSpec({ nodeSelector: { 'kubernetes.io/hostname': 'a' } })],
  NodeBound: [{ volumes: [{ ...volume, affinity: only('a') }] }],
  TaintedElsewhere: [{ nodes: healthy.nodes.map((one) => (one.name === 'a' ? one : { ...one, taints: [tainted] })) }],
  PredecessorNotReady: [{ pods: [{ ...pod('db-0', 'b'), isReady: false, claims: [] }, pod('db-1', 'a')] }],
  BudgetSpent: [
    {
      policies: [{ ...fencing, spec: { ...fencing.spec, release: { ...fencing.spec.release, budgets: 'Respect' } } }],
      budgets: [
        {
          namespace: 'default',
          name: 'db',
          spent: [{ namespace: 'default', name: 'db', selector: { matchLabels: { app: 'db' }, matchExpressions: [] } }],
          object: { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'db' } },
        },
      ],
    },
  ],
  ZonalVolume: [{ volumes: [{ ...volume, affinity: zone('z1') }] }],
  HostPath: [inSpec({ volumes: [{ name: 'cache', hostPath: { path: '/cache' } }] })],
  RollingUpdate: [
    {
      ...changedPod({ owner: { group: 'apps', kind: 'ReplicaSet', name: 'db', uid: 'db' } }),
      sets: [replicaSet, deployment],
    },
  ],
  DriverNotTolerating: [{ sets: [set, daemon([])] }],
};

describe('which pods would not fail over', () => {
  test('[EXP-4] one that would is not told of', () => {
    assert.deepEqual(found({}), []);
  });

  for (const [reason, [changes, ...more]] of Object.entries(causes)) {
    test(`[EXP-4] ${reason}, and nothing else beside it`, () => {
      const name = reason === 'PredecessorNotReady' ? 'db-1' : 'db-0';
      assert.deepEqual(
        found(changes),
        [reason, ...more].map((one) => `${name} ${one}`),
      );
    });
  }

  test('[EXP-4] what mends it is seen: a second node in the zone, a toleration, a Recreate, a fence that needs no terminating', () => {
    assert.deepEqual(found({ sets: [set, daemon([{ key: 'fenceline.dev/quarantine', operator: 'Exists' }])] }), []);
    assert.deepEqual(found(changedPod({ tolerations: [{ operator: 'Exists' }] })), []);
    assert.deepEqual(
      found({ ...causes.RollingUpdate[0], sets: [replicaSet, { ...deployment, strategy: 'Recreate' }] }),
      [],
    );
    assert.deepEqual(found({ policies: [risky] }), []);
    assert.deepEqual(found({ volumes: [{ ...volume, affinity: zone('z1', 'z2') }] }), []);
    assert.deepEqual(
      found(changedPod({ claims: [], owner: { group: 'apps', kind: 'ReplicaSet', name: 'x', uid: 'x' } })),
      [],
    );
  });

  test('[EXP-4] a node without a device, and one whose configuration cannot be read, have no basis', () => {
    const alone = healthy.nodes.map((one) => ({ ...one, providerId: '' }));
    assert.deepEqual(found({ nodes: alone }), ['db-0 NoBasis']);
    const maps = [{ name: 'fence-config-a', data: { 'config.properties': 'power_management=nothing' } }];
    assert.deepEqual(found({ maps }), ['db-0 NoBasis']);
  });
});
