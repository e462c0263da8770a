/**
 * S1: no grace-0 delete of a pod, no word that it is over and no delete of a VolumeAttachment before a durable record of
 * its basis, for this node's UID and boot. Durable is what the API server had stored when the write arrived, but for a record that a
 * person has deleted since the operator read it right before, which passes by name. Which boot it
 * is, is what the operator last read: a machine may report another one while the write is under way, and no precondition
 * on a pod can tell.
 */
import { bootIdOf } from '../../api/bounded-name.ts';
import type { Invariant } from './checker.ts';
import { Reads } from './reads.ts';
import { deletedUnderway, recordsFor, releaseOf, toldOf } from './release.ts';

export const s1: Invariant = {
  id: 'S1',
  check: (context) => {
    const { state, recordsOf, violated, exempt } = context;
    const reads = new Reads();
    return {
      onWire: (event) => reads.take(event),
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined || release.what === 'freed') return;
        const { node: name } = release;
        const node = reads.of(write.user, `/api/v1/nodes/${name}`)?.node ?? state.lastNodes.get(name);
        // Of a Node that is gone nobody knows which boot its machine is in.
        const isBoot = (bootId?: string): boolean =>
          !state.nodes.has(name) || bootId === bootIdOf(node?.status?.nodeInfo);
        const matching = recordsFor(context, release).filter(
          ({ nodeUid, bootId }) => nodeUid === node?.metadata.uid && isBoot(bootId),
        );
        if (matching.some(({ isDeleted }) => isDeleted !== true)) return;
        if (matching.length > 0) {
          exempt('PersonsAct', `${toldOf(release)}: ${deletedUnderway}`);
          return;
        }
        const count = recordsOf(write.user, name).length;
        const why =
          count === 0
            ? 'without a record of its basis'
            : `with ${count} records, none of which covers it for this node and boot`;
        violated(`${toldOf(release)} ${why}`);
      },
    };
  },
};
