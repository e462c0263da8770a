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

/**
 * Those of these replicas for which no room is left once the others have theirs: each alone may fit where not all do. The
 * largest is placed first, on the disk with the most room; what is not known of a disk or a volume may be enough.
 */
export function leftWithoutRoom(facts: Known, replicas: readonly ReplicaFacts[]): ReplicaFacts[] {
  const left = new Map<DiskFacts, number>();
  const sizeOf = ({ volume = '' }: ReplicaFacts): number => facts.volumes.get(volume)?.sizeBytes ?? 0;
  const roomOf = (disk: DiskFacts): number => left.get(disk) ?? disk.roomBytes ?? Infinity;
  return replicas
    .toSorted((one, other) => sizeOf(other) - sizeOf(one))
    .filter((replica) => {
      const disks = facts.view.nodes
        .filter((node) => couldTake(facts, node, replica))
        .flatMap(({ storage }) => storage?.disks ?? [])
        .filter((disk) => hasRoom(disk, sizeOf(replica)) && roomOf(disk) >= sizeOf(replica));
      const [best] = disks.toSorted((one, other) => roomOf(other) - roomOf(one));
      if (best === undefined) return true;
      left.set(best, roomOf(best) - sizeOf(replica));
      return false;
    });
}

/** Whether all open disks together have less room than these replicas need, as far as is known. */
export function exceedsAllRoom(facts: Known, replicas: readonly ReplicaFacts[]): boolean {
  const nodes = facts.view.nodes.filter((node) => replicas.some((replica) => couldTake(facts, node, replica)));
  const disks = nodes.flatMap(({ storage }) => storage?.disks ?? []).filter((disk) => hasRoom(disk, undefined));
  const room = disks.reduce((sum, { roomBytes = Infinity }) => sum + Math.max(0, roomBytes), 0);
  const need = replicas.reduce((sum, { volume = '' }) => sum + (facts.volumes.get(volume)?.sizeBytes ?? 0), 0);
  return need > room;
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
