/**
 * S23: what has not passed its point of no return is cancelled when the node returns: an operator that has read that the
 * node is Ready begins no release of it, and one that is in the middle may end. (Releases on the strength of a record
 * from before a boot are S1.)
 */
import { isReady } from '../../world/objects/meta.ts';
import type { Invariant } from './checker.ts';
import { isLying } from './devices.ts';
import { isQuarantined } from './late.ts';
import { Reads } from './reads.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

export const s23: Invariant = {
  id: 'S23',
  check: (context) => {
    const { machineOf, violated, exempt } = context;
    const reads = new Reads();
    /** Nodes of which something was let go, and in which boot. */
    const begun = new Map<string, string>();
    return {
      // Back in service: what comes next is another story.
      onStored({ object, previous }) {
        if (object.kind === 'Node' && isQuarantined(previous) && !isQuarantined(object))
          begun.delete(object.metadata.name);
      },
      onWire: (event) => reads.take(event),
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined) return;
        const { node: name } = release;
        // A machine that is off has not returned, whatever Ready still says. Whether it is off is not for the record to say.
        const isSaid = recordsFor(context, release).some(({ basis }) => basis === 'PowerOff');
        if (isSaid && machineOf(name)?.power === 'off') return;
        const node = reads.of(write.user, `/api/v1/nodes/${name}`)?.node;
        const boot = node?.status?.nodeInfo?.bootID ?? '';
        if (begun.get(name) !== boot && isReady(node)) {
          const told = `${toldOf(release)} although the node was read to be Ready`;
          if (isSaid && isLying(context, name)) exempt('LyingDevice', told);
          else violated(told);
        }
        begun.set(name, boot);
      },
    };
  },
};
