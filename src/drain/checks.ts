/**
 * What keeps a cordoned node from being drained: for each policy an ordered list of questions about each replica on it.
 * Each answers with a block or with nothing; the first answer is the one that counts.
 */
import type { Block, DrainPolicyName, DrainingReason, ReplicaFacts } from '../api/drain-view.ts';
import type { Known } from './known.ts';
import { hasNoPlace } from './places.ts';
import type { Count } from './protection.ts';
import { mayStay, protectedElsewhere } from './protection.ts';

export type Check = (facts: Known, replica: ReplicaFacts) => Block | undefined;

export interface Rule {
  /** Which blocks a replica is for its node. */
  checks: readonly Check[];
  /** From cordon on, a replica for which this says so is asked to leave. */
  evicts: (facts: Known, replica: ReplicaFacts) => boolean;
  /** Which copies elsewhere a node counts upon when it lets its own go. */
  counts: (replica: ReplicaFacts) => Count | undefined;
}

const never = (): boolean => false;

export const rules: Record<DrainPolicyName, Rule> = {
  'block-if-contains-last-replica': { checks: [unreadable, lastCopy], evicts: never, counts: ofGuarded },
  'allow-if-replica-is-stopped': { checks: [unreadable, lastRunning], evicts: never, counts: ofRunning },
  'always-allow': { checks: [], evicts: never, counts: () => undefined },
  'block-for-eviction': {
    checks: [unreadable, anyReplica],
    evicts: (_, replica) => !replica.deleting,
    counts: ofGuarded,
  },
  'block-for-eviction-if-contains-last-replica': {
    checks: [unreadable, lastCopyLeaves],
    evicts: lastOneLeaves,
    counts: ofGuarded,
  },
};

export function blockOf(rule: Rule, facts: Known, replica: ReplicaFacts): Block | undefined {
  for (const check of rule.checks) {
    const found = check(facts, replica);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of which volume it is cannot be told, so that nobody can say whether it is the last. */
function unreadable(_: Known, replica: ReplicaFacts): Block | undefined {
  if (replica.volume !== undefined || replica.deleting) return undefined;
  return block('StateUnknown', replica, `replica ${replica.name} does not say yet which volume it belongs to`);
}

/** The last healthy copy, or one that may be. */
function lastCopy(facts: Known, replica: ReplicaFacts): Block | undefined {
  if (!isGuarded(facts, replica) || protectedElsewhere(facts, replica) !== undefined) return undefined;
  const { volume, copy } = replica;
  switch (copy) {
    case 'unknown':
      return block('StateUnknown', replica, unknownState(facts, replica));
    case 'failed':
      return block('LastReplica', replica, `no replica of volume ${volume} is healthy; the data may be in this one`);
    case 'rebuilding':
      return block(
        'LastReplica',
        replica,
        `volume ${volume} is being rebuilt here, and is kept from drains nowhere else`,
      );
    default:
      return block(
        'LastReplica',
        replica,
        `no other replica of volume ${volume} is healthy and kept from drains${othersUnread(facts, replica)}`,
      );
  }
}

function lastRunning(facts: Known, replica: ReplicaFacts): Block | undefined {
  if (replica.activity === 'stopped' || !isGuarded(facts, replica)) return undefined;
  if (protectedElsewhere(facts, replica, 'running') !== undefined) return undefined;
  const { volume, copy, activity } = replica;
  if (copy === 'unknown' || activity === 'unknown') {
    return block('StateUnknown', replica, unknownState(facts, replica));
  }
  const message = `no other replica of volume ${volume} runs and is kept from drains${othersUnread(facts, replica)}`;
  return block('LastRunningReplica', replica, message);
}

function unknownState(facts: Known, replica: ReplicaFacts): string {
  const { name, volume } = replica;
  return missingIn(facts, replica) ?? `the state of replica ${name} of volume ${volume} cannot be read`;
}

/** Copies of the same volume that may be whole, though nobody can tell: whoever waits looks at these first. */
function othersUnread(facts: Known, replica: ReplicaFacts): string {
  const others = facts.replicasOf(replica.volume ?? '').filter((one) => one !== replica && !one.deleting);
  const isUnread = (one: ReplicaFacts): boolean => one.copy === 'unknown' || missingIn(facts, one) !== undefined;
  const [first] = others.filter(isUnread).map((one) => unknownState(facts, one));
  return first === undefined ? '' : `; ${first}`;
}

/** What is not written of a replica, or names something that is not there. */
function missingIn(facts: Known, { name, node, disk }: ReplicaFacts): string | undefined {
  if (node === undefined) return `replica ${name} does not say on which node it is`;
  const storage = facts.nodes.get(node)?.storage;
  if (storage === undefined) return `replica ${name} is on ${node}, which the storage system does not know`;
  if (disk === undefined) return `replica ${name} does not say on which disk of ${node} it is`;
  if (storage.disks.some((one) => one.name === disk)) return undefined;
  return `replica ${name} is on disk ${disk}, which ${node} does not have`;
}

function lastCopyLeaves(facts: Known, replica: ReplicaFacts): Block | undefined {
  const last = lastCopy(facts, replica);
  return last === undefined || !canMove(replica) ? last : leaving(facts, replica);
}

/** Also one that is on its way out: until it is gone, its data is what the volume may need. */
function anyReplica(facts: Known, replica: ReplicaFacts): Block | undefined {
  return leaving(facts, replica);
}

export function leaving(facts: Known, replica: ReplicaFacts): Block {
  const { volume = 'unknown', name, deleting } = replica;
  if (deleting) return block('EvictingReplicas', replica, `replica ${name} of volume ${volume} is on its way out`);
  if (hasNoPlace(facts, replica)) {
    const message = `no other node can take the replica of volume ${volume}: make room, or choose another policy`;
    return block('NowhereToRebuild', replica, message);
  }
  return block('EvictingReplicas', replica, `replica ${name} of volume ${volume} has to be rebuilt elsewhere first`);
}

/**
 * Whether its loss could be a loss of data. What never held any is worth nothing; what has failed is worth something only
 * if there is nothing better, because it may be salvaged. What is being rebuilt may be whole the next moment, and the copy
 * that it comes from may be given up for it.
 */
function isGuarded(facts: Known, replica: ReplicaFacts): boolean {
  if (replica.deleting) return false;
  switch (replica.copy) {
    case 'healthy':
    case 'unknown':
      return true;
    case 'failed':
      return healthyOf(facts, replica).length === 0;
    case 'rebuilding':
      return healthyOf(facts, replica).length > 0;
    case 'empty':
      return false;
  }
}

/**
 * Also when its replacement is there already and the storage system is about to let it go: taking the request back just
 * then would keep a copy too many, on the node that is to be emptied.
 */
function lastOneLeaves(facts: Known, replica: ReplicaFacts): boolean {
  // The moment before it goes its engine knows it no more: what cannot be read is neither asked nor told to stay.
  if (replica.copy === 'unknown') return replica.requestedFor !== undefined && replica.evictionRequested;
  if (!canMove(replica)) return false;
  if (!mayStay(facts, replica)) return true;
  return replica.requestedFor !== undefined && isSurplus(facts, replica);
}

/**
 * Whether it can be asked without harm. Where there are more copies than wanted the storage system lets one go at once
 * that was asked, and what it keeps may be just the ones that no budget keeps.
 */
export function mayBeAsked(facts: Known, replica: ReplicaFacts): boolean {
  return !isSurplus(facts, replica) || protectedElsewhere(facts, replica) !== undefined;
}

function isSurplus(facts: Known, replica: ReplicaFacts): boolean {
  return healthyOf(facts, replica).length > (facts.volumes.get(replica.volume ?? '')?.wantedReplicas ?? 0);
}

function healthyOf(facts: Known, { volume = '' }: ReplicaFacts): ReplicaFacts[] {
  return facts.replicasOf(volume).filter(({ copy, deleting }) => copy === 'healthy' && !deleting);
}

/** From a failed copy nothing can be rebuilt, and of what cannot be read nothing is asked. */
export function canMove({ copy }: ReplicaFacts): boolean {
  return copy === 'healthy';
}

function ofGuarded({ copy, deleting }: ReplicaFacts): Count | undefined {
  return deleting || copy === 'empty' ? undefined : 'all';
}

function ofRunning(replica: ReplicaFacts): Count | undefined {
  return replica.activity === 'stopped' || ofGuarded(replica) === undefined ? undefined : 'running';
}

export function block(reason: DrainingReason, { volume, name }: ReplicaFacts, message: string): Block {
  return { reason, message, replica: name, ...(volume === undefined ? {} : { volume }) };
}
