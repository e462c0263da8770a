/** A cluster for the simulator in which something fails every minute and comes back. */
import { parseScenarios } from '../../src/scenario/parse.ts';
import type { Scenario } from '../../src/scenario/format.ts';

export interface ClusterSize {
  nodes: number;
  pods: number;
  minutes: number;
}

const driver = 'driver.longhorn.io';

export function simulatedCluster({ nodes, pods, minutes }: ClusterSize): Scenario {
  const stateful = Math.floor(pods / 4);
  const spec = {
    cluster: { nodes, kubernetes: { nodeMonitorGracePeriod: '40s', bootTime: '90s' } },
    objects: [...volumes(stateful), statefulSet(stateful), ...deployments(pods - stateful)],
    events: faults(nodes, minutes),
    runFor: `${minutes}m`,
    expect: [
      { always: { fencesAtMost: 1 } },
      { by: `${minutes}m`, pod: { label: 'app=db', running: true } },
      { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
    ],
  };
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const [scenario] = parseScenarios(`${nodes}-nodes`, text);
  if (scenario === undefined) throw new Error('no scenario');
  return scenario;
}

/** Every minute another node, and another fault, over two minutes each. */
function faults(nodes: number, minutes: number): object[] {
  const kinds = [
    ['powerOff', 'powerOn'],
    ['partition', 'heal'],
    ['hang', 'resume'],
    ['kubeletStop', 'kubeletStart'],
  ] as const;
  return Array.from({ length: minutes }, (_, minute) => {
    const [begin, end] = kinds[minute % kinds.length] ?? kinds[0];
    const node = `node-${((minute * 7) % nodes) + 1}`;
    return [
      { at: `${minute}m`, [begin]: node },
      { at: `${minute + 2}m`, [end]: node },
    ];
  }).flat();
}

function volumes(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${index}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: '',
      csi: { driver, volumeHandle: `pv-${index}` },
      claimRef: { namespace: 'default', name: `data-db-${index}` },
    },
  }));
}

function statefulSet(replicas: number): object {
  const claim = { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      serviceName: 'db',
      replicas,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: 'db' } },
      template: template('db'),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    },
  };
}

function deployments(pods: number): object[] {
  const each = 50;
  return Array.from({ length: Math.ceil(pods / each) }, (_, index) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: `shop-${index}`, namespace: 'default' },
    spec: {
      replicas: Math.min(each, pods - index * each),
      selector: { matchLabels: { app: `shop-${index}` } },
      template: template(`shop-${index}`),
    },
  }));
}

function template(app: string): object {
  return { metadata: { labels: { app } }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } };
}
