/** The cluster that is edited: four nodes, each fenced by what is written in another way, and a policy that uses most fields. */
import { API_VERSION } from '../../../src/api/common.ts';
import type { ObjectMeta } from '../../../src/kube/client.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { everywhere } from '../fencing/fenced.ts';
import { parsed } from '../run-file.ts';

export interface Written {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: unknown;
  data?: unknown;
}

const namespace = 'fenceline';
const longAgo = '2020-01-01T00:00:00Z';

const policy: Written = {
  apiVersion: API_VERSION,
  kind: 'RemedyPolicy',
  metadata: { name: 'workers' },
  spec: {
    selector: {
      matchLabels: { type: 'compute' },
      matchExpressions: [{ key: 'rack', operator: 'In', values: ['r1', 'r2', 'r3', 'r4'] }],
    },
    priority: 0,
    mode: 'Enforce',
    thresholds: [
      { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '10s', cleanResources: true }] },
      {
        condition: { type: 'KernelDeadlock', status: 'True', for: '5s' },
        remedies: [{ name: 'repair', period: '3m' }, { name: 'fence' }],
        recovery: [{ name: 'recovery' }],
      },
    ],
    remedies: [
      {
        name: 'repair',
        podTemplate: { spec: { restartPolicy: 'Never', containers: [{ name: 'repair', image: 'example/repair:1' }] } },
      },
      { name: 'fence', fence: {} },
      { name: 'recovery', uncordon: {} },
    ],
    fence: {
      isolateAfter: '0s',
      powerManagementAfter: '0s',
      bootTimeout: '60s',
      retries: 1,
      restarts: 0,
      kdump: { enabled: true, timeout: '30s' },
      powerWatch: { every: '2s' },
    },
    release: {
      podDeletion: 'do-nothing',
      provisioners: ['driver.longhorn.io'],
      owners: [{ group: 'postgresql.cnpg.io', kind: 'Cluster' }],
      safeDetach: ['csi.example.com'],
      assertions: ['OutOfService'],
    },
    storm: { maxUnresponsive: '40%', maxConcurrent: 1, skipWhen: [{ type: 'StorageUnreachable', status: 'True' }] },
    return: { soak: '10s', backoff: 2 },
    alarms: [{ condition: 'Ready', count: 3, within: '24h' }],
  },
};

const drain: Written = {
  apiVersion: API_VERSION,
  kind: 'DrainPolicy',
  metadata: { name: 'default' },
  spec: {
    selector: { matchLabels: { type: 'compute' } },
    policy: 'block-if-contains-last-replica',
    storage: 'longhorn',
    enforcement: 'Auto',
    namespace: 'longhorn-system',
  },
};

/** A request of long ago, which asks for nothing whatever else is written of it. */
const fence: Written = {
  apiVersion: API_VERSION,
  kind: 'NodeFence',
  metadata: { name: 'node-fence-node-1' },
  spec: {
    node: 'node-1',
    policy: 'workers',
    stop: false,
    requested: { by: 'somebody', at: longAgo, about: { nodeUid: 'u', bootId: 'b', readySince: longAgo } },
  },
};

const device = (name: string, spec: object): Written => ({
  apiVersion: API_VERSION,
  kind: 'FenceDevice',
  metadata: { name, namespace },
  spec: { agent: 'fence_ipmilan', secrets: ['bmc'], ...spec },
});

const configMap = (name: string, data: Record<string, string>): Written => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

const methods = (ip: string): Record<string, string> => ({
  'fence-method-off': `template=fence-method-template-bmc\naction=off\nip=${ip}`,
  'fence-method-on': `template=fence-method-template-bmc\naction=on\nip=${ip}`,
});

const devices: Written[] = [
  device('bmc-of-node-3', {
    node: 'node-3',
    parameters: { ip: '10.0.0.3', username: 'admin' },
    level: 1,
    cuts: 'Power',
  }),
  device('racks', {
    selector: { matchExpressions: [{ key: 'rack', operator: 'In', values: ['r4'] }] },
    parameters: { ip: '{{bmc}}', username: 'admin' },
    values: [{ node: 'node-4', values: { bmc: '10.0.0.4' } }],
  }),
];

const maps: Written[] = [
  configMap('fence-method-template-bmc', {
    'template.properties': 'agent=fence_ipmilan\nusername=admin\nlanplus=1\nsecret=bmc',
  }),
  configMap('fence-config-node-1', {
    'config.properties': 'node_name=node-1\npower_management=off on',
    ...methods('10.0.0.1'),
  }),
  configMap('fence-config-racks', {
    'config.properties': 'selector=rack=r2\npower_management=off on',
    'values.node-2': 'bmc=10.0.0.2',
    ...methods('{{bmc}}'),
  }),
];

/** Of what is edited, that which is there from the start. */
export const STANDING: readonly Written[] = [policy, drain, ...devices, ...maps];
/** What can be edited; those that do not stand are made for it. */
export const EDITED: readonly Written[] = [...STANDING, fence];

/** The node that is fenced by what an object says. */
export function nodeOf({ metadata: { name } }: Written): string {
  const nodes: Record<string, string> = {
    'bmc-of-node-3': 'node-3',
    racks: 'node-4',
    'fence-config-racks': 'node-2',
  };
  return nodes[name] ?? 'node-1';
}

export function keyOf({ kind, metadata: { name } }: Written): string {
  return `${kind} ${name}`;
}

export function cluster(name: string, { runForMs, events = [] }: { runForMs: number; events?: object[] }): Scenario {
  const nodes = [1, 2, 3, 4].map((number) => ({
    name: `node-${number}`,
    labels: { type: 'compute', rack: `r${number}` },
  }));
  return parsed(name, {
    cluster: { nodes, kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '10s' }, operators: 1 },
    objects: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'bmc', namespace },
        data: { password: Buffer.from('correct-horse').toString('base64') },
      },
      everywhere(nodes.length),
      ...STANDING,
    ],
    events,
    runFor: `${Math.ceil(runForMs / 1000)}s`,
  });
}
