/** What operators do because of a node beside letting something go: pods driven out, Jobs made, Machines deleted. */
import type { KubeObject } from '../../kube/client.ts';
import { keyOf } from '../../world/objects/meta.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Write } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';

export interface LongActSeen {
  node: string;
  /** The node that is meant, where the write itself says so. */
  nodeUid?: string;
  told: string;
}

interface JobBody {
  spec?: { template?: { metadata?: { annotations?: Record<string, string> } } };
}

interface MachineObject extends KubeObject {
  status?: { nodeRef?: { name?: string; uid?: string } };
}

/** Undefined: it is none of these, or was refused. */
export function longActOf(write: Write, state: ClusterState): LongActSeen | undefined {
  if (!succeeded(write)) return undefined;
  const { verb, resource, subresource } = write;
  if (resource === 'pods' && verb === 'create' && subresource === 'eviction') return evicted(write, state);
  if (resource === 'jobs' && verb === 'create') return ordered(write);
  return resource === 'machines' && verb === 'delete' ? removed(write) : undefined;
}

function evicted({ namespace = '', name = '' }: Write, state: ClusterState): LongActSeen | undefined {
  const pod = state.pods.get(keyOf({ metadata: { namespace, name } }));
  const node = pod?.spec.nodeName;
  return node === undefined ? undefined : { node, told: `pod ${namespace}/${name} on ${node} was evicted` };
}

/** As the templates of remedies are told by annotations what they are for. */
function ordered(write: Write): LongActSeen | undefined {
  const { annotations = {} } = (write.body as JobBody | undefined)?.spec?.template?.metadata ?? {};
  const { 'fenceline.dev/node': node, 'fenceline.dev/node-uid': nodeUid } = annotations;
  if (node === undefined) return undefined;
  return { node, told: `${objectOf(write)} was made for ${node}`, ...(nodeUid === undefined ? {} : { nodeUid }) };
}

function removed(write: Write): LongActSeen | undefined {
  const machine: MachineObject | undefined = write.before;
  const { name: node, uid: nodeUid } = machine?.status?.nodeRef ?? {};
  if (node === undefined) return undefined;
  return { node, told: `${objectOf(write)} of ${node} was deleted`, ...(nodeUid === undefined ? {} : { nodeUid }) };
}
