/** Views of the drain guard for tests: three nodes with a storage pod and a standing budget each, unless said otherwise. */
import type {
  BudgetFacts,
  DrainNode,
  DrainPolicyMatch,
  DrainPolicyName,
  DrainView,
  ReplicaFacts,
  StorageNodeFacts,
  StoragePodFacts,
  VolumeFacts,
} from '../../src/api/drain-view.ts';

const gib = 2 ** 30;

export function policy(
  name: DrainPolicyName,
  enforcement: 'enforce' | 'storage' | 'observe' = 'enforce',
): DrainPolicyMatch {
  return { kind: 'one', name: 'default', policy: name, enforcement };
}

export function storageNode(name: string, change: Partial<StorageNodeFacts> = {}): StorageNodeFacts {
  return {
    name,
    uid: `storage-${name}`,
    resourceVersion: '1',
    ready: true,
    evictionRequested: false,
    closed: false,
    autoEvicting: false,
    reported: true,
    disks: [{ name: 'disk-1', evictionRequested: false, closed: false, roomBytes: 100 * gib }],
    ...change,
  };
}

export function node(name: string, change: Partial<DrainNode> = {}): DrainNode {
  return {
    name,
    cordoned: false,
    policy: policy('block-if-contains-last-replica'),
    storage: storageNode(name),
    ...change,
  };
}

export function storagePod(nodeName: string): StoragePodFacts {
  return {
    name: `im-${nodeName}`,
    node: nodeName,
    labels: { 'longhorn.io/component': 'instance-manager', 'longhorn.io/node': nodeName },
    serving: true,
  };
}

export function budget(nodeName: string, change: Partial<BudgetFacts> = {}): BudgetFacts {
  return {
    name: `fenceline-im-${nodeName}`,
    uid: `budget-${nodeName}`,
    resourceVersion: '1',
    ours: true,
    node: nodeName,
    withdrawing: false,
    deleting: false,
    blocks: true,
    owners: ['policy-default'],
    selector: { matchLabels: storagePod(nodeName).labels, hasExpressions: false },
    ...change,
  };
}

/** As the storage system keeps it by itself. */
export function ownBudget(nodeName: string): BudgetFacts {
  const { node: _, ...facts } = budget(nodeName, { name: `im-${nodeName}`, uid: `own-${nodeName}`, ours: false });
  return facts;
}

export function replica(volumeName: string, nodeName: string, change: Partial<ReplicaFacts> = {}): ReplicaFacts {
  return {
    name: `${volumeName}-on-${nodeName}`,
    uid: `replica-${volumeName}-${nodeName}`,
    resourceVersion: '1',
    volume: volumeName,
    node: nodeName,
    disk: 'disk-1',
    copy: 'healthy',
    recorded: 'healthy',
    activity: 'running',
    evictionRequested: false,
    deleting: false,
    annotated: false,
    ...change,
  };
}

export function volume(name: string, change: Partial<VolumeFacts> = {}): VolumeFacts {
  return { name, attachment: 'attached', sizeBytes: 10 * gib, wantedReplicas: 2, ...change };
}

export function drainView(change: Partial<DrainView> = {}): DrainView {
  const nodes = change.nodes ?? ['a', 'b', 'c'].map((name) => node(name));
  return {
    namespace: 'longhorn-system',
    nodes,
    pods: nodes.map(({ name }) => storagePod(name)),
    volumes: [volume('v')],
    replicas: [],
    budgets: nodes.map(({ name }) => budget(name)),
    owners: [{ name: 'default', uid: 'policy-default' }],
    softAntiAffinity: false,
    ...change,
  };
}

/** As the status of a DrainPolicy tells of a node whose replicas leave it. */
export const evictingNode = {
  node: 'node-1',
  blocked: true,
  autoEvicting: true,
  reason: 'EvictingReplicas',
  message: 'replica v-r-1 of volume v has to be rebuilt elsewhere first',
  since: '2026-01-01T00:00:00Z',
};
