/** Where a replica could be rebuilt. Only what is known to be impossible is said to be: an unknown disk may have room. */
import type { DiskFacts, DrainNode, ReplicaFacts } from '../api/drain-view.ts';
import type { Known } from './known.ts';

/** Names of nodes that could take a copy of this replica's volume, as far as is known. */
export function placesFor(facts: Known, replica: ReplicaFacts): string[] {
  return facts.view.nodes.filter((node) => couldTake(facts, node, replica)).map(({ name }) => name);
}

/** Whether nobody can take it: then a drain that waits for its rebuild never ends by itself. */
export function hasNoPlace(facts: Known, replica: ReplicaFacts): boolean {
  const inTheMaking = facts.replicasOf(replica.volume ?? '').some((other) => {
    return other.copy === 'rebuilding' && !other.deleting && other.node !== undefined && other.node !== replica.node;
  });
  return !inTheMaking && !facts.view.nodes.some((node) => couldTake(facts, node, replica));
}

function couldTake(facts: Known, node: DrainNode, replica: ReplicaFacts): boolean {
  const { storage } = node;
  if (node.name === replica.node || node.cordoned === true || storage === undefined) return false;
  if (storage.ready === false || storage.closed || storage.evictionRequested) return false;
  const volume = facts.volumes.get(replica.volume ?? '');
  const mayShare = volume?.softAntiAffinity ?? facts.view.softAntiAffinity;
  if (!mayShare && facts.replicasOf(replica.volume ?? '').some((other) => other.node === node.name)) return false;
  return storage.disks.some((disk) => hasRoom(disk, volume?.sizeBytes));
}

function hasRoom({ closed, evictionRequested, roomBytes }: DiskFacts, sizeBytes: number | undefined): boolean {
  if (closed || evictionRequested) return false;
  return roomBytes === undefined || sizeBytes === undefined || roomBytes >= sizeBytes;
}
