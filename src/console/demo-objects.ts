/** What runs on the embedded cluster: a database with a volume per member, and a shop with one. */
import type { KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';

export const demoDriver = 'driver.longhorn.io';

const apps = { group: 'apps', version: 'v1', namespaced: true };
const storage = { group: 'storage.k8s.io', version: 'v1', namespaced: false };
const core = { group: '', version: 'v1', namespaced: true };

export interface DemoObject {
  resource: Resource;
  object: KubeObject;
}

const claim = {
  accessModes: ['ReadWriteOnce'],
  storageClassName: 'fast',
  resources: { requests: { storage: '1Gi' } },
};

function podTemplate(app: string, volumes: object[]): object {
  const container = { name: app, image: `example/${app}:1`, volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  return {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 10, containers: [container], volumes },
  };
}

function make(resource: Resource, name: string, rest: object): DemoObject {
  const metadata = { name, ...(resource.namespaced && { namespace: 'default' }) };
  return { resource, object: { metadata, ...rest } };
}

export const demoObjects: readonly DemoObject[] = [
  make({ ...storage, plural: 'csidrivers', kind: 'CSIDriver' }, demoDriver, { spec: { attachRequired: true } }),
  make({ ...storage, plural: 'storageclasses', kind: 'StorageClass' }, 'fast', { provisioner: demoDriver }),
  make({ ...apps, plural: 'statefulsets', kind: 'StatefulSet' }, 'database', {
    spec: {
      serviceName: 'database',
      replicas: 3,
      selector: { matchLabels: { app: 'database' } },
      template: podTemplate('database', []),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
    },
  }),
  make({ ...core, plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' }, 'shop', { spec: claim }),
  make({ ...apps, plural: 'deployments', kind: 'Deployment' }, 'shop', {
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { app: 'shop' } },
      template: podTemplate('shop', [{ name: 'data', persistentVolumeClaim: { claimName: 'shop' } }]),
    },
  }),
];
