/** Nights as they come: for each a cluster, what happens to it, and when somebody asks `fenceline explain`. */
import { parsed, scenarioOf } from '../run-file.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { deployment, statefulSet, workersPolicy } from '../../support/workers.ts';
import { driver, volume } from '../trouble.ts';

export interface Situation {
  /** The golden file. */
  name: string;
  /** After time 0. */
  atMs: number;
  scenario: Scenario;
  /** Default: where the database is at time 0. */
  node?: string;
}

/** A database with a volume of its own, on one of the nodes. */
const database = [volume('pv-0', 'data-web-0'), statefulSet('web', 1)];

const budget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web', namespace: 'default' },
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
};

const safeDriver = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name: driver, annotations: { 'fenceline.dev/safe-detach': 'true' } },
  spec: { attachRequired: true },
};

const shop = deployment('shop', 8);

const victim = { nodeOf: 'default/web-0' };
const seconds = 1000;
const minutes = 60_000;

interface Night {
  policy?: object;
  cluster?: object;
  events?: object[];
  objects?: object[];
}

function night(name: string, atMs: number, { policy: spec, cluster, events = [], objects = [] }: Night): Situation {
  const scenario = parsed(name, {
    cluster: { nodes: 4, kubernetes: { nodeMonitorGracePeriod: '40s', bootTime: '90s' }, operators: 1, ...cluster },
    objects: [...database, workersPolicy(spec), ...objects],
    events,
    runFor: `${atMs / 1000 + 1}s`,
  });
  return { name, atMs, scenario };
}

/** Where the scheduler puts the database in these clusters. */
const usual = 'node-4';
const record = (spec: object): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'NodeFence',
  metadata: { name: `node-fence-${usual}` },
  spec: { node: usual, ...spec },
});
const annotated = (annotations: object): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: usual, annotations },
});
const pause = (data: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'fenceline-pause', namespace: 'fenceline' },
  data,
});
const cutOff = { at: '0s', partition: victim };
const powerLost = { at: '0s', powerOff: victim };
const patient = { fence: { isolateAfter: '30s', powerManagementAfter: '5m' } };

const patientThreshold = {
  thresholds: [{ condition: { type: 'Ready', status: 'NotTrue', for: '2m' }, remedies: [{ name: 'fence' }] }],
};

export const situations: readonly Situation[] = [
  night('healthy', 5 * seconds, {}),
  night('suspect-by-lease', 20 * seconds, { policy: patient, events: [cutOff] }),
  night('down-before-the-threshold', 70 * seconds, { policy: patientThreshold, events: [cutOff] }),
  night('storm', 60 * seconds, { events: [cutOff, { at: '0s', partition: 'node-1' }] }),
  {
    ...night('storm-on-record-of-others', 2 * minutes, {
      cluster: { nodes: 240 },
      events: Array.from({ length: 120 }, (_, index) => ({ at: '0s', partition: `node-${index + 1}` })),
    }),
    node: 'node-88',
  },
  {
    ...night('request-held-back', 90 * seconds, {
      events: [
        ...['node-1', 'node-2'].map((partition) => ({ at: '0s', partition })),
        { at: '60s', apply: record({ requested: { by: 'jane', at: '2026-01-01T00:01:30Z' } }) },
      ],
    }),
    node: usual,
  },
  night('disruption-budget', 30 * seconds, {
    policy: {
      fence: { isolateAfter: '0s', powerManagementAfter: '0s', powerOnFoundOff: false },
      release: { budgets: 'Respect' },
    },
    objects: [budget],
    events: [powerLost],
  }),
  night('pods-per-minute', 30 * seconds, {
    policy: { storm: { podsPerMinute: 1 } },
    objects: [shop],
    events: [powerLost],
  }),
  night('powering-off', 40 * seconds, { events: [{ at: '0s', device: { node: victim, fault: 'late' } }, cutOff] }),
  night('looking-around', 13 * seconds, { events: [cutOff] }),
  night('powering-on', 40 * seconds, { events: [{ at: '0s', device: { node: victim, fault: 'late' } }, powerLost] }),
  night('device-unreachable', 3 * minutes, {
    events: [{ at: '0s', device: { node: victim, fault: 'hangs' } }, cutOff],
  }),
  night('device-of-another-machine', 60 * seconds, {
    events: [{ at: '0s', device: { node: victim, fault: 'wrongMachine' } }, cutOff],
  }),
  night('device-says-on', 3 * minutes, { events: [{ at: '0s', device: { node: victim, fault: 'saysOn' } }, cutOff] }),
  night('left-to-others', 60 * seconds, {
    events: [
      { at: '0s', taint: { node: victim, key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' } },
      cutOff,
    ],
  }),
  night('reported-by-node-problem-detector', 60 * seconds, {
    policy: {
      thresholds: [
        { condition: { type: 'KernelDeadlock', status: 'True', for: '5m' }, remedies: [{ name: 'fence' }] },
        { lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] },
      ],
    },
    events: [{ at: '0s', condition: { node: victim, type: 'KernelDeadlock', status: 'True' } }],
  }),
  night('kernel-crashed', 75 * seconds, {
    policy: { fence: { isolateAfter: '5m', powerManagementAfter: '5m', kdump: { enabled: true } } },
    events: [
      { at: '0s', kdump: victim },
      { at: '70s', kdumpSent: victim },
    ],
  }),
  night('booting', 40 * seconds, { events: [powerLost] }),
  night('soaking', 120 * seconds, { events: [powerLost] }),
  night('fence-failed', 15 * minutes, {
    policy: { fence: { isolateAfter: '0s', powerManagementAfter: '0s', retries: 1, restarts: 0 } },
    events: [{ at: '0s', device: { node: victim, fault: 'refuses' } }, cutOff],
  }),
  night('awaiting-approval', 60 * seconds, { policy: { mode: 'Approve' }, events: [cutOff] }),
  night('awaiting-approval-of-one-found-off', 60 * seconds, { policy: { mode: 'Approve' }, events: [powerLost] }),
  night('paused', 60 * seconds, { policy: { mode: 'Paused' }, events: [cutOff] }),
  night('paused-for-all', 60 * seconds, {
    events: [
      { at: '0s', apply: pause({ by: 'alice', reason: 'new switches', until: '2026-01-01T02:00:00Z' }) },
      cutOff,
    ],
  }),
  night('well-while-all-is-paused', 60 * seconds, { events: [{ at: '0s', apply: pause({ by: 'alice' }) }] }),
  night('stopped', 60 * seconds, { events: [{ at: '0s', apply: record({ stop: true }) }, cutOff] }),
  night('planned-work', 60 * seconds, {
    events: [
      { at: '0s', cordon: victim },
      { at: '5s', partition: victim },
    ],
  }),
  night('kubelet-down', 60 * seconds, { events: [{ at: '0s', kubeletStop: victim }] }),
  night('named-pause', 60 * seconds, {
    events: [{ at: '0s', apply: annotated({ 'fenceline.dev/pause.firmware': '2026-01-01T01:00:00Z' }) }, cutOff],
  }),
  { ...night('nothing-to-free', 60 * seconds, { events: [{ at: '0s', partition: 'node-1' }] }), node: 'node-1' },
  { name: 'maintenance', atMs: 2 * minutes, scenario: scenarioOf('fence/maintenance') },
  night('maintenance-before-the-threshold', 70 * seconds, {
    policy: patientThreshold,
    events: [{ at: '0s', apply: annotated({ 'fenceline.dev/maintenance-until': '2026-01-01T01:00:00Z' }) }, cutOff],
  }),
  night('suspect-in-maintenance', 20 * seconds, {
    policy: patientThreshold,
    events: [{ at: '0s', apply: annotated({ 'fenceline.dev/maintenance-until': '2026-01-01T01:00:00Z' }) }, cutOff],
  }),
  night('suspect-while-all-is-paused', 20 * seconds, {
    policy: patientThreshold,
    events: [{ at: '0s', apply: pause({ by: 'alice', reason: 'new switches' }) }, cutOff],
  }),
  night('fence-while-all-is-paused', 60 * seconds, {
    policy: patient,
    events: [cutOff, { at: '30s', apply: pause({ by: 'alice', reason: 'new switches' }) }],
  }),
  {
    ...night('switched-off-by-its-own-fence', 18 * seconds, {
      policy: { storm: { podsPerMinute: 1 } },
      objects: [shop],
      events: [{ at: '10s', apply: record({ requested: { by: 'jane', at: '2026-01-01T00:00:40Z' } }) }],
    }),
    node: usual,
  },
  night('released-by-safe-detach-before-the-cut', 345 * seconds, {
    policy: { fence: { isolateAfter: '0s', powerManagementAfter: '0s', retries: 10 } },
    cluster: { featureGates: { NonGracefulFailover: true } },
    objects: [safeDriver],
    events: [{ at: '0s', device: { node: victim, fault: 'hangs' } }, cutOff],
  }),
  night('dry-run-before-the-threshold', 70 * seconds, {
    policy: { mode: 'DryRun', ...patientThreshold },
    events: [cutOff],
  }),
  {
    ...night('request-refused', 60 * seconds, {
      events: [
        { at: '0s', apply: annotated({ 'fenceline.dev/maintenance-until': '2026-01-01T01:00:00Z' }) },
        { at: '10s', apply: record({ requested: { by: 'jane', at: '2026-01-01T00:00:40Z' } }) },
      ],
    }),
    node: usual,
  },
  night('dry-run', 60 * seconds, { policy: { mode: 'DryRun' }, events: [cutOff] }),
  night('leader-gone', 2 * minutes, { events: [cutOff, { at: '20s', isolateOperator: 1 }] }),
  night('no-policy', 60 * seconds, {
    policy: { allNodes: undefined, selector: { matchLabels: { pool: 'other' } } },
    events: [cutOff],
  }),
  night('node-deleted', 60 * seconds, { events: [powerLost, { at: '14s', deleteNode: victim }] }),
  { name: 'outlets-swapped', atMs: 3 * minutes, scenario: scenarioOf('holes/outlets-swapped') },
  night('without-an-operator', 60 * seconds, { cluster: { operators: 0 }, events: [cutOff] }),
];
