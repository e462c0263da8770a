/** What runs in a cluster of the swarm: some of every kind, and storage of every kind below it. */
import type { Chance } from '../twins/chance.ts';
import type { Manifest, SwarmNode } from './document.ts';

export const drivers = ['driver.longhorn.io', 'safe.example.com', 'noattach.example.com'] as const;

/** What the drivers say of themselves; some say nothing. */
export function driverObjects(chance: Chance): Manifest[] {
  const driver = (name: string, spec: object, annotations: object = {}): Manifest => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name, annotations } as Manifest['metadata'],
    spec,
  });
  const safe = { 'fenceline.dev/safe-detach': chance.one(['true', 'true', 'false', 'maybe']) };
  const fences = chance.maybe(0.3) ? { 'fenceline.dev/unpublish-fence': 'true' } : {};
  return [
    driver('safe.example.com', { attachRequired: true }, { ...safe, ...fences }),
    ...(chance.maybe(0.5) ? [driver('driver.longhorn.io', { attachRequired: true })] : []),
    driver('noattach.example.com', { attachRequired: false }, chance.maybe(0.5) ? safe : {}),
  ];
}

export function workloads(chance: Chance, nodes: readonly SwarmNode[]): Manifest[] {
  const count = chance.between(1, 3);
  return Array.from({ length: count }, (_, index) => workload(chance, nodes, `w${index}`)).flat();
}

function workload(chance: Chance, nodes: readonly SwarmNode[], name: string): Manifest[] {
  const kind = chance.one([
    'StatefulSet',
    'StatefulSet',
    'StatefulSet',
    'Deployment',
    'Deployment',
    'Pod',
    'DaemonSet',
  ]);
  const storage = kind === 'DaemonSet' ? [] : volumesFor(chance, name);
  const slow = chance.maybe(0.2);
  const template = {
    metadata: {
      labels: { app: name },
      ...(slow ? { annotations: stopsAfter(chance.one([10, 25, 60])) } : {}),
      ...(chance.maybe(0.05) ? { finalizers: ['example.com/wait'] } : {}),
    },
    spec: {
      terminationGracePeriodSeconds: slow ? chance.one([5, 30, 90]) : chance.one([1, 5, 5, 30]),
      containers: [{ name: 'main', image: 'example/main:1' }],
      tolerations: tolerations(chance),
      ...placement(chance, nodes, kind),
      volumes: [
        ...storage.map(({ claim }) => ({ name: claim, persistentVolumeClaim: { claimName: claim } })),
        ...inline(chance),
      ],
    },
  };
  const objects = storage.flatMap(({ manifests }) => manifests);
  if (kind === 'Pod') {
    return [
      ...objects,
      { apiVersion: 'v1', kind, metadata: { name, namespace: 'default', ...template.metadata }, spec: template.spec },
    ];
  }
  const mayBeMany = storage.every(({ shared }) => shared);
  const spec = {
    ...(kind === 'StatefulSet' ? { serviceName: name } : {}),
    ...(kind === 'DaemonSet' ? {} : { replicas: mayBeMany ? chance.between(1, 3) : 1 }),
    selector: { matchLabels: { app: name } },
    template,
  };
  return [
    ...objects,
    { apiVersion: 'apps/v1', kind, metadata: { name, namespace: 'default' }, spec },
    ...budget(chance, name),
  ];
}

/** What its processes take to end, as far as their grace lets them. */
export function stopsAfter(seconds: number): object {
  return { 'simulation.fenceline.dev/stops-after-seconds': `${seconds}` };
}

/** Volumes that nothing but the pod knows of. */
function inline(chance: Chance): object[] {
  if (!chance.maybe(0.15)) return [];
  return [
    chance.one<object>([
      { name: 'inline', emptyDir: {} },
      { name: 'inline', nfs: { server: 'nfs', path: '/y' } },
      { name: 'inline', gcePersistentDisk: { pdName: 'disk' } },
      { name: 'inline', csi: { driver: drivers[1] } },
    ]),
  ];
}

function budget(chance: Chance, name: string): Manifest[] {
  if (!chance.maybe(0.15)) return [];
  const spec = { minAvailable: 1, selector: { matchLabels: { app: name } } };
  return [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace: 'default' }, spec }];
}

function tolerations(chance: Chance): object[] {
  if (chance.maybe(0.1)) return [{ operator: 'Exists' }];
  const soon = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'].map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: chance.one([2, 5, 5, 30]),
  }));
  const quarantine = { key: 'fenceline.dev/quarantine', operator: 'Exists' };
  return [...soon, ...(chance.maybe(0.1) ? [quarantine] : [])];
}

/** A node by its name only for pods that nobody makes again: a kubelet that refuses one would be asked without end. */
function placement(chance: Chance, nodes: readonly SwarmNode[], kind: string): object {
  const roll = chance.between(1, 10);
  if (roll === 1) return { nodeSelector: { 'kubernetes.io/hostname': chance.one(nodes).name } };
  return roll === 2 && kind === 'Pod' ? { nodeName: chance.one(nodes).name } : {};
}

interface VolumeOf {
  claim: string;
  shared: boolean;
  manifests: Manifest[];
}

function volumesFor(chance: Chance, name: string): VolumeOf[] {
  const count = chance.one([0, 1, 1, 1, 2]);
  return Array.from({ length: count }, (_, index) => volumeOf(chance, `${name}-${index}`));
}

function volumeOf(chance: Chance, claim: string): VolumeOf {
  const name = `pv-${claim}`;
  const source = chance.maybe(0.12)
    ? chance.one<object>([{ nfs: { server: 'nfs', path: '/x' } }, { gcePersistentDisk: { pdName: name } }])
    : { csi: { driver: chance.one(drivers), volumeHandle: name } };
  const shared = chance.maybe(0.1);
  const accessModes = [shared ? 'ReadWriteMany' : 'ReadWriteOnce'];
  const common = { accessModes, storageClassName: '' };
  return {
    claim,
    shared,
    manifests: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: { ...common, capacity: { storage: '1Gi' }, claimRef: { namespace: 'default', name: claim }, ...source },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: claim, namespace: 'default' },
        spec: { ...common, volumeName: name, resources: { requests: { storage: '1Gi' } } },
      },
    ],
  };
}
