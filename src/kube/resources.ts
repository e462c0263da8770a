/** The resources that Fenceline speaks of, and how their paths are built. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
}

function core(plural: string, kind: string, namespaced: boolean): Resource {
  return { group: '', version: 'v1', plural, kind, namespaced };
}

export const nodes = core('nodes', 'Node', false);
export const pods = core('pods', 'Pod', true);
export const configMaps = core('configmaps', 'ConfigMap', true);
export const jobs: Resource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };
export const secrets = core('secrets', 'Secret', true);
export const namespaces = core('namespaces', 'Namespace', false);
/** Where kubelets renew theirs. */
export const nodeLeaseNamespace = 'kube-node-lease';
export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
export const events: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
export const volumeAttachments: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'volumeattachments',
  kind: 'VolumeAttachment',
  namespaced: false,
};
export const csiNodes: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csinodes',
  kind: 'CSINode',
  namespaced: false,
};

export const csiDrivers: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csidrivers',
  kind: 'CSIDriver',
  namespaced: false,
};
export const persistentVolumes = core('persistentvolumes', 'PersistentVolume', false);
export const podDisruptionBudgets: Resource = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
  namespaced: true,
};
export const storageClasses: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
};
/** Asked, and not kept: whose token it is, and whether somebody may. */
export const tokenReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
export const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};
export const statefulSets = app('statefulsets', 'StatefulSet');
export const replicaSets = app('replicasets', 'ReplicaSet');
export const deployments = app('deployments', 'Deployment');
export const daemonSets = app('daemonsets', 'DaemonSet');
export const longhornReplicas: Resource = {
  group: 'longhorn.io',
  version: 'v1beta2',
  plural: 'replicas',
  kind: 'Replica',
  namespaced: true,
};
export const persistentVolumeClaims = core('persistentvolumeclaims', 'PersistentVolumeClaim', true);
export const remedyPolicies = own('remedypolicies', 'RemedyPolicy');
export const nodeFences = own('nodefences', 'NodeFence');
export const drainPolicies = own('drainpolicies', 'DrainPolicy');

/** In the namespace of the operator. */
export const fenceDevices: Resource = { ...own('fencedevices', 'FenceDevice'), namespaced: true };

export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

function app(plural: string, kind: string): Resource {
  return { group: 'apps', version: 'v1', plural, kind, namespaced: true };
}

function own(plural: string, kind: string): Resource {
  return { group: 'fenceline.dev', version: 'v1alpha1', plural, kind, namespaced: false };
}

/** Where an object lives. `namespace` is absent for cluster-scoped resources. */
export interface ObjectRef {
  resource: Resource;
  namespace?: string;
  name: string;
}

export function apiVersionOf(resource: Resource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Path of the collection; of one namespace where one is given. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${scope}/${resource.plural}`;
}

export function objectPath(ref: ObjectRef, subresource?: string): string {
  if (ref.resource.namespaced !== (ref.namespace !== undefined)) {
    throw new Error(`${ref.resource.kind} ${ref.name}: a namespace is ${ref.resource.namespaced ? 'needed' : 'wrong'}`);
  }
  const path = `${collectionPath(ref.resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

export function withQuery(path: string, query: Record<string, string | undefined>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(key, value);
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}
