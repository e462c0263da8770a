/**
 * Small scenarios of nodes in trouble, for runs by the hundred: three nodes, one pod with a volume, and everything that
 * takes minutes in life takes seconds. A node is NotReady 20 s after it falls silent, its pods terminate 5 s later and
 * have 5 s to do so; a boot takes 10 s.
 */
import type { Scenario } from '../../src/scenario/format.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';

export const driver = 'driver.longhorn.io';
/** Where the pod with the volume is at time 0. */
export const place = { nodeOf: { label: 'app=web' } };
export const forceEvictionKey = 'fenceline.dev/force-eviction';
export const outOfServiceKey = 'node.kubernetes.io/out-of-service';

export interface Trouble {
  workload?: 'StatefulSet' | 'Deployment';
  gates?: Record<string, boolean>;
  /** `spec.release` of the one policy; absent: no policy. */
  release?: object;
  soak?: string;
  /** Annotations of the CSIDriver; absent: there is no such object. */
  driverSays?: Record<string, string>;
  pod?: { metadata?: object; spec?: object };
  objects?: object[];
  events: object[];
  expect?: object[];
  runFor?: string;
  seed?: number;
}

export function trouble(name: string, what: Trouble): Scenario {
  const { gates = {}, events, expect = [], runFor = '3m', seed = 1, objects = [] } = what;
  const spec = {
    seed,
    cluster: {
      nodes: 3,
      kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '10s' },
      operators: 1,
      featureGates: gates,
    },
    objects: [...storage(what), workload(what), ...policy(what), ...objects],
    events,
    runFor,
    expect,
  };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec });
  const [scenario] = parseScenarios(name, text);
  if (scenario === undefined) throw new Error('no scenario');
  return scenario;
}

export function volume(name: string, claim: string, source: object = { csi: { driver, volumeHandle: name } }): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      claimRef: { namespace: 'default', name: claim },
      ...source,
    },
  };
}

export function claim(name: string, volumeName: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      volumeName,
      resources: { requests: { storage: '1Gi' } },
    },
  };
}

function storage({ driverSays }: Trouble): object[] {
  const says = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', spec: { attachRequired: true } };
  return [
    volume('pv-0', 'data'),
    claim('data', 'pv-0'),
    ...(driverSays === undefined ? [] : [{ ...says, metadata: { name: driver, annotations: driverSays } }]),
  ];
}

function workload({ workload: kind = 'StatefulSet', pod = {} }: Trouble): object {
  const soon = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'].map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 5,
  }));
  const {
    tolerations = [],
    volumes = [],
    ...spec
  } = (pod.spec ?? {}) as { tolerations?: object[]; volumes?: object[] };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      ...(kind === 'StatefulSet' ? { serviceName: 'web' } : {}),
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, ...pod.metadata },
        spec: {
          terminationGracePeriodSeconds: 5,
          containers: [{ name: 'main', image: 'example/web:1' }],
          tolerations: [...soon, ...tolerations],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }, ...volumes],
          ...spec,
        },
      },
    },
  };
}

function policy({ release, soak }: Trouble): object[] {
  if (release === undefined) return [];
  const spec = { allNodes: true, release, ...(soak === undefined ? {} : { return: { soak } }) };
  return [{ apiVersion: 'fenceline.dev/v1alpha1', kind: 'RemedyPolicy', metadata: { name: 'release' }, spec }];
}

/** For `release`: the risk is accepted for pods of the workload. */
export const acceptsRisk = { podDeletion: 'delete-both-statefulset-and-deployment-pod', provisioners: [driver] };
export const safeDetach = { 'fenceline.dev/safe-detach': 'true' };
/** The driver says that it detaches safely, and is asked. */
export const safely = { gates: { NonGracefulFailover: true }, driverSays: safeDetach };
export const taint = (at: string, key: string): object => ({ at, taint: { node: place, key, effect: 'NoExecute' } });
/** Loses power, and gets it back once all is over. */
export const powerLoss = [
  { at: '0s', powerOff: place },
  { at: '60s', powerOn: place },
];
export const partition = [
  { at: '0s', partition: place },
  { at: '60s', heal: place },
];
/** How every trouble ends: the pod runs, its volume had one writer, and the node is as if nothing had been. */
export const allIsWell = [
  { by: '3m', pod: { label: 'app=web', running: true, ready: true } },
  { by: '3m', node: { name: place, ready: true, schedulable: true, taints: [] } },
];
export const oneWriter = { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } };
