/** What is at stake in a drama: on every node something that must not be written to by two, and what does not go by itself. */
import type { Chance } from '../twins/chance.ts';
import type { Manifest } from './document.ts';
import { stopsAfter } from './workloads.ts';

const container = { name: 'main', image: 'example/main:1' };
const soon = ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'].map((key) => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 5,
}));
const oneWriter = { accessModes: ['ReadWriteOnce'], storageClassName: '' };

function volume(claim: string, driver: string): Manifest {
  const name = `pv-${claim}`;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      ...oneWriter,
      capacity: { storage: '1Gi' },
      claimRef: { namespace: 'default', name: claim },
      csi: { driver, volumeHandle: name },
    },
  };
}

/** How the pods of a database are ended: in a moment, or slowly. */
interface Ending {
  stopsAfterSeconds?: number;
}

/** A StatefulSet with a volume of its own for each of its pods, which the scheduler spreads over the nodes. */
export function database(replicas: number, driver: string, { stopsAfterSeconds }: Ending = {}): Manifest[] {
  const annotations = stopsAfterSeconds === undefined ? {} : { annotations: stopsAfter(stopsAfterSeconds) };
  const resources = { requests: { storage: '1Gi' } };
  return [
    ...Array.from({ length: replicas }, (_, index) => volume(`data-db-${index}`, driver)),
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'default' },
      spec: {
        serviceName: 'db',
        replicas,
        podManagementPolicy: 'Parallel',
        selector: { matchLabels: { app: 'db' } },
        template: {
          metadata: { labels: { app: 'db' }, ...annotations },
          spec: {
            containers: [container],
            tolerations: soon,
            terminationGracePeriodSeconds: Math.max(5, stopsAfterSeconds ?? 0),
          },
        },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { ...oneWriter, resources } }],
      },
    },
  ];
}

/** A Deployment that can be on this node only, and does not mind what is wrong with it. */
export function pinned(chance: Chance, node: string, mayBeNamed: boolean): Manifest[] {
  // What is bound by name past a NoExecute taint is refused and made again in no time, without end.
  const nodeName =
    chance.maybe(0.4) && mayBeNamed ? { nodeName: node } : { nodeSelector: { 'kubernetes.io/hostname': node } };
  const tolerations = chance.one([
    [{ operator: 'Exists' }],
    [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists' }],
    [{ key: 'fenceline.dev/quarantine', operator: 'Exists' }, ...soon],
  ]);
  const spec = { ...nodeName, containers: [container], tolerations };
  const template = { metadata: { labels: { app: 'pinned' } }, spec };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'pinned', namespace: 'default' },
      spec: { replicas: chance.between(1, 2), selector: { matchLabels: { app: 'pinned' } }, template },
    },
  ];
}

/** Nobody makes it again, and it stays: what it writes to has to stay with it, also where no PersistentVolume says so. */
export function staying(node: string): Manifest[] {
  const inline = { driver: 'pd.csi.storage.gke.io', volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d' };
  const labels = { app: 'staying' };
  return [
    volume('kept', 'driver.longhorn.io'),
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'kept', namespace: 'default' },
      spec: { ...oneWriter, volumeName: 'pv-kept', resources: { requests: { storage: '1Gi' } } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'staying', namespace: 'default' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            nodeSelector: { 'kubernetes.io/hostname': node },
            containers: [container],
            tolerations: [{ operator: 'Exists' }],
            volumes: [
              { name: 'kept', persistentVolumeClaim: { claimName: 'kept' } },
              { name: 'inline', gcePersistentDisk: { pdName: 'd' } },
            ],
          },
        },
      },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: 'inline-0' },
      spec: {
        attacher: 'pd.csi.storage.gke.io',
        nodeName: node,
        source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi: inline } },
      },
    },
  ];
}
