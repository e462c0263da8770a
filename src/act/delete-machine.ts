/**
 * Has the provider remove the machine of a node, by Cluster API: its Machine object is deleted, and the rest is up to the
 * provider, which takes the Node object away when the machine is gone.
 */
import type { LiveNode } from '../api/release-view.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { nodes } from '../kube/resources.ts';
import type { PowerOutcome } from './power.ts';

const group = 'cluster.x-k8s.io';
const machineAnnotation = `${group}/machine`;
const namespaceAnnotation = `${group}/cluster-namespace`;
/** The newer one first: an older Cluster API does not have it. */
const versions = ['v1beta2', 'v1beta1'];

export interface MachineCalls {
  client: KubeClient;
  guard: () => boolean;
  timeoutMs: number;
}

export async function deleteMachine(node: LiveNode, { client, guard, timeoutMs }: MachineCalls): Promise<PowerOutcome> {
  const read = await client.get({ resource: nodes, name: node.name }, { timeoutMs });
  if (!read.ok) return { outcome: 'unknown', message: read.error.message };
  const { uid, annotations = {} } = read.value.metadata;
  if (uid !== node.uid) return { outcome: 'failed', message: `${node.name} is another node of the same name` };
  const [name, namespace] = [annotations[machineAnnotation], annotations[namespaceAnnotation]];
  if (name === undefined || namespace === undefined) {
    const message = `${node.name} has no annotation ${machineAnnotation}: no Cluster API made it, so nobody can remove it`;
    return { outcome: 'failed', message };
  }
  for (const version of versions) {
    const resource: Resource = { group, version, plural: 'machines', kind: 'Machine', namespaced: true };
    const ref = { resource, namespace, name };
    const machine = await client.get(ref, { timeoutMs });
    if (!machine.ok && machine.error.kind === 'notFound') continue;
    if (!machine.ok) return { outcome: 'unknown', message: machine.error.message };
    const { uid: machineUid = '', deletionTimestamp } = machine.value.metadata;
    if (deletionTimestamp !== undefined) return { outcome: 'succeeded', message: `Machine ${name} is on its way out` };
    const deleted = await client.delete(ref, { uid: machineUid }, { guard, timeoutMs });
    if (deleted.ok) return { outcome: 'succeeded', message: `Machine ${namespace}/${name} was deleted` };
    return { outcome: deleted.error.mayHaveHappened ? 'unknown' : 'failed', message: deleted.error.message };
  }
  return { outcome: 'failed', message: `there is no Machine ${namespace}/${name}` };
}
