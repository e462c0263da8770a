/**
 * Has the provider remove the machine of a node, by Cluster API: its Machine object is deleted, and the rest is up to the
 * provider, which takes the Node object away when the machine is gone.
 *
 * Two annotations of the Node say which Machine it is, and whoever may write to the Node may write those: the Machine has to
 * say so too, and both by the same provider ID, which no other node has (SEC-2).
 */
import { machineKey } from '../api/machine.ts';
import type { LiveNode } from '../api/release-view.ts';
import { noInstance } from '../devices/provider.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { nodes } from '../kube/resources.ts';
import type { MayAct } from './device-tasks.ts';
import type { TryOutcome } from './power.ts';

const group = 'cluster.x-k8s.io';
const machineAnnotation = `${group}/machine`;
const namespaceAnnotation = `${group}/cluster-namespace`;
/** The newer one first: an older Cluster API does not have it. */
const versions = ['v1beta2', 'v1beta1'];

export interface MachineCalls {
  client: KubeClient;
  guard: () => boolean;
  timeoutMs: number;
  /** Asked right before the deletion: why it must not be, or undefined. */
  mayAct: MayAct;
}

interface Machine extends KubeObject {
  spec?: { providerID?: string };
  status?: { nodeRef?: { name?: string; uid?: string } };
}

export async function deleteMachine(node: LiveNode, calls: MachineCalls): Promise<TryOutcome> {
  const { client, timeoutMs } = calls;
  const disputed = noInstance(node);
  if (disputed !== undefined) return { outcome: 'failed', message: disputed.problem };
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
    const machine = await client.get<Machine>({ resource, namespace, name }, { timeoutMs });
    if (!machine.ok && machine.error.kind === 'notFound') continue;
    if (!machine.ok) return { outcome: 'unknown', message: machine.error.message };
    return remove(machine.value, { node, resource, namespace }, calls);
  }
  return { outcome: 'failed', message: `there is no Machine ${namespace}/${name}` };
}

async function remove(
  machine: Machine,
  { node, resource, namespace }: { node: LiveNode; resource: Resource; namespace: string },
  { client, guard, timeoutMs, mayAct }: MachineCalls,
): Promise<TryOutcome> {
  const { name, uid = '', deletionTimestamp } = machine.metadata;
  const other = whyAnother(machine, node);
  if (other !== undefined) return { outcome: 'failed', message: `Machine ${namespace}/${name} ${other}` };
  const rival = await rivalOf(node, client, timeoutMs);
  if (rival !== undefined) return rival;
  if (deletionTimestamp !== undefined) return { outcome: 'succeeded', message: `Machine ${name} is on its way out` };
  const objection = await mayAct();
  if (objection !== undefined) return { outcome: 'dropped', message: objection };
  const deleted = await client.delete({ resource, namespace, name }, { uid }, { guard, timeoutMs });
  if (deleted.ok) return { outcome: 'succeeded', message: `Machine ${namespace}/${name} was deleted` };
  return { outcome: deleted.error.mayHaveHappened ? 'unknown' : 'failed', message: deleted.error.message };
}

/** Newer versions of Cluster API leave the UID out. The provider ID is how Cluster API itself finds the node of a machine. */
function whyAnother({ spec, status }: Machine, node: LiveNode): string | undefined {
  const { name, uid } = status?.nodeRef ?? {};
  if (name !== node.name) return `says that it is node ${name ?? 'nobody: its status.nodeRef is missing'}`;
  if (uid !== undefined && uid !== node.uid) return `says that it is an earlier node ${name}`;
  const [theirs = '', ours = ''] = [spec?.providerID, node.providerId];
  return ours !== '' && theirs === ours
    ? undefined
    : `has the provider ID ${theirs || 'none'}, and node ${name} ${ours || 'none'}`;
}

/** Whoever joins a node to the cluster says its provider ID: one that two nodes have is not proof for either. */
async function rivalOf(node: LiveNode, client: KubeClient, timeoutMs: number): Promise<TryOutcome | undefined> {
  const read = await client.list<KubeObject & { spec?: { providerID?: string } }>(nodes, {}, { timeoutMs });
  if (!read.ok) return { outcome: 'unknown', message: read.error.message };
  const ours = machineKey(node.providerId ?? '');
  const rival = read.value.items.find(
    ({ metadata, spec }) => metadata.uid !== node.uid && machineKey(spec?.providerID ?? '') === ours,
  );
  if (rival === undefined) return undefined;
  const message = `node ${rival.metadata.name} has the same provider ID as ${node.name}: whose machine it is nobody can say`;
  return { outcome: 'failed', message };
}
