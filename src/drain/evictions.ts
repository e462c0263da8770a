/**
 * Which replicas are asked to leave, and from which the request is taken back. Only requests that carry our mark are
 * ours to withdraw (S8); what a user wants of a node or a disk is carried out by the storage system under every policy.
 */
import type { DrainAction, DrainNode, ReplicaFacts } from '../api/drain-view.ts';
import { mayBeAsked, rules } from './checks.ts';
import type { Known } from './known.ts';

export interface EvictionPlan {
  actions: readonly DrainAction[];
  autoEvicting: boolean;
}

export function evictions(facts: Known, node: DrainNode): EvictionPlan {
  const { policy, storage, name, cordoned } = node;
  const before = storage?.autoEvicting ?? false;
  // Whether the node is to be drained cannot be told: what was asked for stays.
  if (cordoned === undefined) return { actions: [], autoEvicting: before };
  const replicas = facts.replicasOn(name);
  // Of the thousand nodes that nobody drains none is looked at replica by replica.
  const wanted = new Set(cordoned ? replicas.filter((replica) => policyWants(facts, node, replica)) : undefined);
  const actions: DrainAction[] = [];
  for (const replica of replicas) {
    if (wanted.has(replica)) {
      if (!replica.evictionRequested && policy.kind === 'one') actions.push(request(node, replica, policy));
    } else if (isOurs(replica) && !userWants(node, replica)) {
      actions.push(withdrawal(node, replica));
    }
  }
  const autoEvicting = wanted.size > 0;
  const governs = policy.kind === 'one' && policy.enforcement === 'enforce';
  if (storage !== undefined && before !== autoEvicting && (governs || actions.length > 0)) {
    // First, so that a crash in between leaves a request behind by which the next instance finds its way.
    actions.unshift({ do: 'setAutoEvicting', node: name, storage, value: autoEvicting });
  }
  return { actions, autoEvicting: governs || actions.length > 0 ? autoEvicting : before };
}

/** Of a cordoned node, and only where the user does not want the same already: that would not be automatic. */
function policyWants(facts: Known, node: DrainNode, replica: ReplicaFacts): boolean {
  const { policy } = node;
  if (policy.kind !== 'one' || policy.enforcement !== 'enforce') return false;
  if (replica.deleting || userWants(node, replica)) return false;
  return rules[policy.policy].evicts(facts, replica) && (replica.evictionRequested || mayBeAsked(facts, replica));
}

export function userWants({ storage }: DrainNode, { disk }: ReplicaFacts): boolean {
  if (storage === undefined) return false;
  return storage.evictionRequested || storage.disks.some((one) => one.name === disk && one.evictionRequested);
}

function isOurs({ requestedFor, evictionRequested, deleting }: ReplicaFacts): boolean {
  return requestedFor !== undefined && evictionRequested && !deleting;
}

function request(
  { name }: DrainNode,
  replica: ReplicaFacts,
  { name: policy, policy: rule }: { name: string; policy: string },
): DrainAction {
  const message = `${name} is cordoned, and DrainPolicy ${policy} is ${rule}: ${nameOf(replica)} gets a replica elsewhere`;
  return { do: 'requestEviction', node: name, replica, policy, event: 'EvictionAutomatic', message };
}

function withdrawal({ name }: DrainNode, replica: ReplicaFacts): DrainAction {
  const message = `the replica of ${nameOf(replica)} may stay on ${name}`;
  return { do: 'withdrawEviction', node: name, replica, event: 'EvictionCanceled', message };
}

function nameOf({ name, volume }: ReplicaFacts): string {
  return volume === undefined ? `the volume that ${name} does not name yet` : `volume ${volume}`;
}
