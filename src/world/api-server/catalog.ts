/** The resources that are there from the start. */
import type { Kind, Rules } from './kind.ts';
import {
  budgetRules,
  configMapRules,
  eventFromStored,
  eventRules,
  eventToStored,
  leaseRules,
  namespaceRules,
  newEventRules,
  secretRules,
  serviceRules,
} from './kinds/core.ts';
import { nodeRules } from './kinds/node.ts';
import { podRules } from './kinds/pod.ts';
import {
  attachmentRules,
  claimRules,
  csiNodeRules,
  driverRules,
  storageClassRules,
  volumeRules,
} from './kinds/storage.ts';
import { daemonSetRules, deploymentRules, jobRules, replicaSetRules, statefulSetRules } from './kinds/workloads.ts';
import { shapeOf } from './shapes.ts';

export const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

interface Entry {
  plural: string;
  kind: string;
  namespaced?: boolean;
  shortNames?: string[];
  categories?: string[];
  subresources?: string[];
  rules?: Rules;
}

function builtIn(groupVersion: string, entry: Entry): Kind {
  const [group = '', version = ''] = groupVersion.includes('/') ? groupVersion.split('/') : ['', groupVersion];
  const { plural, kind, namespaced = true, shortNames = [], categories = [], subresources = [], rules = {} } = entry;
  const storage = `${group}/${plural}`;
  return {
    group,
    version,
    plural,
    singular: kind.toLowerCase(),
    kind,
    listKind: `${kind}List`,
    namespaced,
    shortNames,
    categories,
    verbs: allVerbs,
    subresources,
    storage,
    custom: false,
    rules: { shape: shapeOf(storage), ...rules },
    ...(subresources.includes('scale')
      ? { scale: { replicas: '.spec.replicas', statusReplicas: '.status.replicas' } }
      : {}),
  };
}

const all = ['all'];
const core: Entry[] = [
  {
    plural: 'pods',
    kind: 'Pod',
    shortNames: ['po'],
    categories: all,
    subresources: ['status', 'eviction', 'binding'],
    rules: podRules,
  },
  { plural: 'nodes', kind: 'Node', namespaced: false, shortNames: ['no'], subresources: ['status'], rules: nodeRules },
  {
    plural: 'namespaces',
    kind: 'Namespace',
    namespaced: false,
    shortNames: ['ns'],
    subresources: ['status', 'finalize'],
    rules: namespaceRules,
  },
  { plural: 'configmaps', kind: 'ConfigMap', shortNames: ['cm'], rules: configMapRules },
  { plural: 'secrets', kind: 'Secret', rules: secretRules },
  {
    plural: 'services',
    kind: 'Service',
    shortNames: ['svc'],
    categories: all,
    subresources: ['status'],
    rules: serviceRules,
  },
  { plural: 'serviceaccounts', kind: 'ServiceAccount', shortNames: ['sa'], rules: { returnsDeleted: true } },
  { plural: 'events', kind: 'Event', shortNames: ['ev'], rules: eventRules },
  { plural: 'endpoints', kind: 'Endpoints', shortNames: ['ep'] },
  { plural: 'resourcequotas', kind: 'ResourceQuota', shortNames: ['quota'], subresources: ['status'] },
  { plural: 'limitranges', kind: 'LimitRange', shortNames: ['limits'] },
  {
    plural: 'persistentvolumes',
    kind: 'PersistentVolume',
    namespaced: false,
    shortNames: ['pv'],
    subresources: ['status'],
    rules: volumeRules,
  },
  {
    plural: 'persistentvolumeclaims',
    kind: 'PersistentVolumeClaim',
    shortNames: ['pvc'],
    subresources: ['status'],
    rules: claimRules,
  },
];

const apps: Entry[] = [
  {
    plural: 'statefulsets',
    kind: 'StatefulSet',
    shortNames: ['sts'],
    categories: all,
    subresources: ['status', 'scale'],
    rules: statefulSetRules,
  },
  {
    plural: 'deployments',
    kind: 'Deployment',
    shortNames: ['deploy'],
    categories: all,
    subresources: ['status', 'scale'],
    rules: deploymentRules,
  },
  {
    plural: 'replicasets',
    kind: 'ReplicaSet',
    shortNames: ['rs'],
    categories: all,
    subresources: ['status', 'scale'],
    rules: replicaSetRules,
  },
  {
    plural: 'daemonsets',
    kind: 'DaemonSet',
    shortNames: ['ds'],
    categories: all,
    subresources: ['status'],
    rules: daemonSetRules,
  },
  { plural: 'controllerrevisions', kind: 'ControllerRevision' },
];

const storage: Entry[] = [
  {
    plural: 'volumeattachments',
    kind: 'VolumeAttachment',
    namespaced: false,
    subresources: ['status'],
    rules: attachmentRules,
  },
  { plural: 'csinodes', kind: 'CSINode', namespaced: false, rules: csiNodeRules },
  { plural: 'csidrivers', kind: 'CSIDriver', namespaced: false, rules: driverRules },
  { plural: 'storageclasses', kind: 'StorageClass', namespaced: false, shortNames: ['sc'], rules: storageClassRules },
  { plural: 'csistoragecapacities', kind: 'CSIStorageCapacity' },
];

const path: Rules = { name: 'path' };
const groups: Record<string, Entry[]> = {
  v1: core,
  'apps/v1': apps,
  'batch/v1': [
    { plural: 'jobs', kind: 'Job', categories: all, subresources: ['status'], rules: jobRules },
    {
      plural: 'cronjobs',
      kind: 'CronJob',
      shortNames: ['cj'],
      categories: all,
      subresources: ['status'],
      rules: { hasStatus: true, hasGeneration: true },
    },
  ],
  'policy/v1': [
    {
      plural: 'poddisruptionbudgets',
      kind: 'PodDisruptionBudget',
      shortNames: ['pdb'],
      subresources: ['status'],
      rules: budgetRules,
    },
  ],
  'coordination.k8s.io/v1': [{ plural: 'leases', kind: 'Lease', rules: leaseRules }],
  'discovery.k8s.io/v1': [{ plural: 'endpointslices', kind: 'EndpointSlice' }],
  'storage.k8s.io/v1': storage,
  'scheduling.k8s.io/v1': [{ plural: 'priorityclasses', kind: 'PriorityClass', namespaced: false, shortNames: ['pc'] }],
  'rbac.authorization.k8s.io/v1': [
    { plural: 'clusterroles', kind: 'ClusterRole', namespaced: false, rules: path },
    { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', namespaced: false, rules: path },
    { plural: 'roles', kind: 'Role', rules: path },
    { plural: 'rolebindings', kind: 'RoleBinding', rules: path },
  ],
};

export function builtInKinds(): Kind[] {
  const kinds = Object.entries(groups).flatMap(([groupVersion, entries]) =>
    entries.map((entry) => builtIn(groupVersion, entry)),
  );
  const events = builtIn('events.k8s.io/v1', {
    plural: 'events',
    kind: 'Event',
    shortNames: ['ev'],
    rules: newEventRules,
  });
  kinds.push({ ...events, storage: '/events', toStored: eventToStored, fromStored: eventFromStored });
  return kinds;
}
