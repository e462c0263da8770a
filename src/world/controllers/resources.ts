/** The resources that the controllers of Kubernetes work on. */
import type { Resource } from '../../kube/resources.ts';

function resource(group: string, plural: string, kind: string, namespaced = true): Resource {
  return { group, version: 'v1', plural, kind, namespaced };
}

export { csiNodes, leases, namespaces, nodes, pods, volumeAttachments } from '../../kube/resources.ts';
export { csiDrivers, persistentVolumeClaims, persistentVolumes, storageClasses } from '../../kube/resources.ts';
export { daemonSets, deployments, replicaSets, statefulSets } from '../../kube/resources.ts';

export const controllerRevisions = resource('apps', 'controllerrevisions', 'ControllerRevision');
export const jobs = resource('batch', 'jobs', 'Job');
export const podDisruptionBudgets = resource('policy', 'poddisruptionbudgets', 'PodDisruptionBudget');
export const configMaps = resource('', 'configmaps', 'ConfigMap');
export const secrets = resource('', 'secrets', 'Secret');
export const services = resource('', 'services', 'Service');
export const serviceAccounts = resource('', 'serviceaccounts', 'ServiceAccount');
export const events = resource('', 'events', 'Event');

/** A pod is bound by creating a Binding below it, so the path of this "collection" contains the pod's name. */
export function bindingsOf(podName: string): Resource {
  return resource('', `pods/${podName}/binding`, 'Binding');
}
