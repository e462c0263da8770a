/**
 * What a storage system that keeps budgets by itself waits for, told from what it will really do: Longhorn looks at other
 * things than we do. It goes by what its records say of a replica and not by the engine, counts no copy on a cordoned node,
 * keeps the budget of a node as long as anybody writes through it, and makes none again while the node is cordoned.
 */
import type {
  Block,
  BudgetFacts,
  DrainNode,
  DrainPolicyName,
  ReplicaFacts,
  StoragePodFacts,
} from '../api/drain-view.ts';
import { block, canMove, leaving } from './checks.ts';
import type { Known } from './known.ts';

export function ownBlocks(facts: Known, { name }: DrainNode, policy: DrainPolicyName): Block[] {
  const pods = facts.podsOf(name);
  if (pods.every((pod) => ownBudget(facts, pod) === undefined)) return [];
  const idle = pods.find(({ serving }) => serving !== true);
  const inUse = facts.view.volumes.filter(({ usedOn = [] }) => usedOn.includes(name));
  return [
    ...(idle === undefined ? [] : [unanswered(idle)]),
    ...inUse.map(({ name: volume }): Block => ({
      reason: 'VolumeInUse',
      message: `volume ${volume} is used on ${name}: the storage system lets nothing go there before its user has left`,
      volume,
    })),
    ...facts.replicasOn(name).flatMap((replica) => ownBlock(facts, replica, policy) ?? []),
  ];
}

/** Nothing of it changes before it answers again. */
function unanswered({ name }: StoragePodFacts): Block {
  return { reason: 'StateUnknown', message: `${name} does not run, and its budget stays as it is until it does` };
}

/** The pods of a node over which the storage system has no budget; a drain does not wait for them. */
export function unguardedPods(facts: Known, node: string): readonly StoragePodFacts[] {
  return facts.podsOf(node).filter((pod) => pod.serving === true && ownBudget(facts, pod) === undefined);
}

function ownBudget(facts: Known, pod: StoragePodFacts): BudgetFacts | undefined {
  return facts.budgetsOver(pod).foreign.find(({ blocks }) => blocks);
}

function ownBlock(facts: Known, replica: ReplicaFacts, policy: DrainPolicyName): Block | undefined {
  switch (policy) {
    case 'always-allow':
      return undefined;
    case 'block-for-eviction':
      return leaving(facts, replica);
    case 'allow-if-replica-is-stopped':
      return replica.activity === 'stopped' ? undefined : lastOne(facts, replica, 'LastRunningReplica');
    case 'block-if-contains-last-replica':
      return lastOne(facts, replica, 'LastReplica');
    case 'block-for-eviction-if-contains-last-replica': {
      const last = lastOne(facts, replica, 'LastReplica');
      return last === undefined || !canMove(replica) ? last : leaving(facts, replica);
    }
  }
}

function lastOne(facts: Known, replica: ReplicaFacts, reason: 'LastReplica' | 'LastRunningReplica'): Block | undefined {
  if (replica.recorded === 'empty' || isKeptElsewhere(facts, replica)) return undefined;
  const message = `the storage system has no other replica of volume ${replica.volume ?? 'unknown'} that it keeps from drains`;
  return block(reason, replica, message);
}

/** On its way out, asked to leave, out of use: none of that is asked. Two cordoned nodes do not keep each other's copies. */
function isKeptElsewhere(facts: Known, { volume = '', node }: ReplicaFacts): boolean {
  return facts.replicasOf(volume).some((other) => {
    if (other.node === undefined || other.node === node || other.recorded !== 'healthy') return false;
    if (facts.nodes.get(other.node)?.cordoned !== false) return false;
    const pods = facts.podsOf(other.node);
    return pods.length > 0 && pods.every((pod) => pod.serving === true && ownBudget(facts, pod) !== undefined);
  });
}
