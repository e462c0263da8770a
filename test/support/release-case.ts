/** A node in trouble, for tests of the rules: a node without power with one pod of a StatefulSet and its volume. */
import { featureGates } from '../../src/api/feature-gates.ts';
import { EMPTY_STATUS } from '../../src/api/empty-status.ts';
import type { Basis, NodeFence, NodeFenceStatus, ReleaseRecord, WayName } from '../../src/api/node-fence.ts';
import type {
  RemedyFacts,
  AttachmentFacts,
  LiveNode,
  NodeCase,
  PodFacts,
  PolicyFacts,
  Sighting,
  TroubleCount,
  VolumeFacts,
} from '../../src/api/release-view.ts';

export const driver = 'driver.longhorn.io';
export const nowMs = Date.parse('2026-01-01T00:10:00Z');
export const entry = `kubernetes.io/csi/${driver}^pv-0`;

export function aPod(change: Partial<PodFacts> = {}): PodFacts {
  return {
    namespace: 'default',
    name: 'web-0',
    uid: 'pod-0',
    resourceVersion: '7',
    owner: { group: 'apps', kind: 'StatefulSet', name: 'web', uid: 'set-0' },
    phase: 'Running',
    deletionAtMs: nowMs - 60_000,
    graceSeconds: 30,
    endsWithinSeconds: 30,
    mirror: false,
    labels: { app: 'web' },
    tolerations: [],
    claims: [{ volume: 'data', claim: 'data-web-0' }],
    directVolumes: [],
    attachesDirectly: false,
    isPinned: false,
    hasFinalizers: false,
    hasConditions: true,
    ...change,
  };
}

export function aNode(change: Partial<LiveNode> = {}): LiveNode {
  return {
    name: 'node-1',
    uid: 'node-uid',
    resourceVersion: '5',
    bootId: 'boot-1',
    labels: {},
    createdAt: '2026-01-01T00:00:00Z',
    ready: 'Unknown',
    readySince: '2026-01-01T00:00:00Z',
    taints: [],
    volumesInUse: [entry],
    ...change,
  };
}

export function aVolume(change: Partial<Extract<VolumeFacts, { known: true }>> = {}): VolumeFacts {
  return {
    claim: 'default/data-web-0',
    known: true,
    volume: 'pv-0',
    csi: { driver, handle: 'pv-0' },
    local: false,
    accessModes: ['ReadWriteOnce'],
    ...change,
  };
}

export function anAttachment(change: Partial<AttachmentFacts> = {}): AttachmentFacts {
  return {
    name: 'csi-0',
    uid: 'attachment-0',
    node: 'node-1',
    volume: 'pv-0',
    driver,
    attached: true,
    deleting: false,
    fenceWanted: false,
    ...change,
  };
}

export function aPolicy(change: Partial<PolicyFacts> = {}): PolicyFacts {
  return {
    name: 'release',
    uid: 'policy-0',
    generation: 1,
    selector: { matchLabels: {}, matchExpressions: [] },
    priority: 0,
    createdAt: '2026-01-01T00:00:00Z',
    mode: 'Enforce',
    podDeletion: 'delete-statefulset-pod',
    provisioners: [driver],
    owners: [],
    safeDetach: [],
    volumeAttachmentRecovery: 'never',
    assertions: [],
    budgets: 'ReleaseAfterFence',
    riskAfterFailedFence: false,
    soakMs: 30_000,
    backoff: 2,
    maxSoakMs: 3_600_000,
    alarms: [],
    podsPerMinute: 300,
    ...change,
  };
}

/** Of a policy without ladders. */
export function aRemedy(change: Partial<RemedyFacts> = {}): RemedyFacts {
  return {
    thresholds: [],
    kinds: {},
    templates: {},
    fence: {
      isolateAfterMs: 0,
      powerManagementAfterMs: 0,
      bootTimeoutMs: 0,
      retries: 0,
      restarts: 0,
      machineRemoved: false,
      powerOnFoundOff: true,
      markOutOfService: true,
    },
    storm: { maxUnresponsive: 1, maxConcurrent: 1, cooldownMs: 0 },
    unsupported: [],
    ...change,
  };
}

export function inForce(change: Partial<PolicyFacts> = {}): NodeCase['policy'] {
  return { kind: 'one', policy: aPolicy(change) };
}

const usualWays: Record<Basis, WayName> = {
  PowerOff: 'power',
  StorageFenced: 'storage fence',
  KernelCrashed: 'kernel crash',
  Asserted: 'assertion',
  StorageSafeDetach: 'safe detach',
  AcceptedRisk: 'policy',
};

export function aRecord(change: Partial<ReleaseRecord> = {}): ReleaseRecord {
  const { basis = 'AcceptedRisk', podsStay = false } = change;
  return {
    way: podsStay ? 'attachment recovery' : usualWays[basis],
    basis,
    by: 'policy release',
    nodeUid: 'node-uid',
    bootId: 'boot-1',
    epoch: 1,
    recordedAt: '2026-01-01T00:09:00Z',
    podsStay: false,
    pods: [{ namespace: 'default', name: 'web-0', uid: 'pod-0' }],
    attachments: ['csi-0'],
    volumes: ['pv-0'],
    freed: [entry],
    ...change,
  };
}

export function aFence(status: Partial<NodeFenceStatus> = {}, spec: Partial<NodeFence['spec']> = {}): NodeFence {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: 'node-fence-node-1', resourceVersion: '3', uid: 'fence-0' },
    spec: { node: 'node-1', stop: false, ...spec },
    status: { ...EMPTY_STATUS, epoch: 1, holder: 'me', ...status },
  };
}

export function anIncident(change: object = {}): NonNullable<NodeFenceStatus['incident']> {
  const startedAt = '2026-01-01T00:01:00Z';
  return {
    id: 'node-1-1',
    startedAt,
    trouble: 'Ready=Unknown',
    nodeUid: 'node-uid',
    bootId: 'boot-1',
    flaps: 0,
    late: [],
    acts: 0,
    ...change,
  };
}

export function aCount(change: Partial<TroubleCount> = {}): TroubleCount {
  return {
    nodes: 10,
    troubled: 1,
    unjudged: 0,
    zones: [],
    byThreshold: {},
    fencing: [],
    remedying: [],
    ...change,
  };
}

/** Both gates on, a policy in force that covers the pod, the driver safe, the kubelet silent. */
export const silentLease = {
  renewTime: '2026-01-01T00:00:00.000000Z',
  unchangedForMs: 600_000,
  renewedSinceNotReady: false,
};
/** Of a node that is back. */
export const renewedLease = { ...silentLease, unchangedForMs: 1000, renewedSinceNotReady: true, renewed: true };

/** Seen to be down, with a policy in force. */
const sighted: Sighting = {
  name: 'node-1',
  view: {
    name: 'node-1',
    ageMs: 0,
    silentMs: 0,
    node: {
      name: 'node-1',
      uid: 'node-uid',
      bootId: 'boot-1',
      addresses: [],
      machine: [],
      machineId: 'm',
      zone: '',
      unschedulable: false,
      marks: [],
      conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', since: '2026-01-01T00:01:00Z' }],
    },
  },
  limits: { leaseStaleForMs: 12_000, silentForMs: 15_000, viewAgeMs: 80_000 },
  gates: featureGates(),
  policies: { count: 1, thresholds: [], hasAlarms: false, fencesSilence: false, stamp: '' },
  hasOpenRecord: false,
  alarm: { problems: 'none' },
};

export function aCase(change: Partial<NodeCase> = {}): NodeCase {
  return {
    ...sighted,
    serverNowMs: nowMs,
    node: aNode(),
    lease: silentLease,
    policy: inForce(),
    pods: [aPod()],
    volumes: { 'default/data-web-0': aVolume() },
    drivers: { [driver]: { name: driver, safeDetach: false, unpublishFence: false } },
    attachments: [anAttachment()],
    awaited: [],
    identity: 'me',
    namespace: 'fenceline',
    pause: { namespace: 'fenceline' },
    trouble: { conditions: [] },
    config: { ok: true, config: { isolation: [], powerManagement: [], recovery: [] } },
    count: aCount({ nodes: 1, troubled: 1 }),
    around: { unheard: 0, names: [], settledAtMs: nowMs },
    ...change,
  };
}

export const safeDriver = { [driver]: { name: driver, safeDetach: true, unpublishFence: false } };
export const failover = featureGates({ NonGracefulFailover: true });
export const eviction = featureGates({ ForceEviction: true });
export const quarantine = { key: 'fenceline.dev/quarantine', effect: 'NoSchedule' };
export const forceEviction = { key: 'fenceline.dev/force-eviction', effect: 'NoExecute' };

/** Without the Node object. */
export function withoutNode(nodeCase: NodeCase): NodeCase {
  const { node: _, ...rest } = nodeCase;
  return rest;
}
