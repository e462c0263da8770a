/**
 * What runs on the embedded cluster: a database with a volume per member, a shop with one, and a policy for both; and
 * volumes with copies on the disks of the nodes, with a policy for drains.
 */
import type { KubeObject } from '../kube/client.ts';
import { SAFE_DETACH_ANNOTATION } from '../api/release-view.ts';
import type { Resource } from '../kube/resources.ts';
import {
  csiDrivers,
  drainPolicies,
  fenceDevices,
  persistentVolumeClaims,
  remedyPolicies,
  secrets,
} from '../kube/resources.ts';
import type { LonghornSpec } from '../world/longhorn/spec.ts';

export const demoDriver = 'driver.longhorn.io';

/**
 * Whoever drains node-2 sees both: its copy of `photos` is the only one and has to be made elsewhere first, which takes
 * 20 s; its copy of `orders` is one of three, and stays behind.
 */
export const demoReplicas: LonghornSpec = {
  diskGiB: 20,
  rebuildMiBps: 100,
  softAntiAffinity: false,
  volumes: [
    { name: 'orders', sizeGiB: 1, replicas: ['node-2', 'node-4', 'node-6'], attachedTo: 'node-4' },
    { name: 'photos', sizeGiB: 2, replicas: ['node-2'], attachedTo: 'node-5' },
  ],
};

const apps = { group: 'apps', version: 'v1', namespaced: true };
const storage = { group: 'storage.k8s.io', version: 'v1', namespaced: false };

export interface DemoObject {
  resource: Resource;
  object: KubeObject;
}

const claim = {
  accessModes: ['ReadWriteOnce'],
  storageClassName: 'fast',
  resources: { requests: { storage: '1Gi' } },
};

/** Kubernetes waits five minutes by default; people who watch do not. */
const tolerations = ['not-ready', 'unreachable'].map((what) => ({
  key: `node.kubernetes.io/${what}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 5,
}));

function podTemplate(app: string, volumes: object[]): object {
  const container = { name: app, image: `example/${app}:1`, volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  return {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 5, tolerations, containers: [container], volumes },
  };
}

/** Of the operator, as in all documents: what is copied from them works here as well. */
export const demoNamespace = 'fenceline';
/** What is written for the operator is written where it reads. */
const forTheOperator: ReadonlySet<Resource> = new Set([fenceDevices, secrets]);

function make(resource: Resource, name: string, rest: object, annotations?: Record<string, string>): DemoObject {
  const namespace = forTheOperator.has(resource) ? demoNamespace : 'default';
  const metadata = { name, ...(resource.namespaced && { namespace }), ...(annotations && { annotations }) };
  return { resource, object: { metadata, ...rest } };
}

/**
 * How its nodes are fenced, as somebody would write it, so that what is rehearsed or checked from outside finds it. The devices
 * themselves are in this process, and answer the operator alone.
 */
const devices = Array.from({ length: 6 }, (_, index) => `node-${index + 1}`).map((node, index) =>
  make(fenceDevices, node, {
    spec: {
      node,
      agent: 'fence_redfish',
      parameters: { ip: `127.0.0.${index + 11}`, systems_uri: '/redfish/v1/Systems/1' },
      secrets: ['bmc-credentials'],
    },
  }),
);

export const demoObjects: readonly DemoObject[] = [
  make(secrets, 'bmc-credentials', { stringData: { username: 'admin', password: 'demo' } }),
  ...devices,
  make(
    csiDrivers,
    demoDriver,
    { spec: { attachRequired: true } },
    // Its storage refuses a node whose volume was detached, so that a node that is merely cut off does no harm.
    { [SAFE_DETACH_ANNOTATION]: 'true' },
  ),
  make(remedyPolicies, 'demo', {
    spec: {
      allNodes: true,
      // Whoever is silent for 12 s is asked for its power, and loses it; what ran there goes when its device says off. The
      // period is short, because trouble that comes back within it is given twice as long to go away by itself.
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: true, period: '10s' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      fence: { isolateAfter: '0s', powerManagementAfter: '0s', bootTimeout: '10m' },
      // Whoever plays pulls the same plug again and again.
      return: { soak: '10s', backoff: 1 },
      // Nor does anybody wait for minutes after a storm that was played.
      storm: { cooldown: '20s' },
    },
  }),
  make(drainPolicies, 'demo', {
    spec: { allNodes: true, policy: 'block-for-eviction-if-contains-last-replica' },
  }),
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
  make(persistentVolumeClaims, 'shop', { spec: claim }),
  make({ ...apps, plural: 'deployments', kind: 'Deployment' }, 'shop', {
    spec: {
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: { app: 'shop' } },
      template: podTemplate('shop', [{ name: 'data', persistentVolumeClaim: { claimName: 'shop' } }]),
    },
  }),
];
