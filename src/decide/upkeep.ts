/**
 * What becomes of the record of a node that is not there any more, and of what is remembered of its devices (SAF-20). Since when it is gone is stored, because no instance of the
 * operator runs for so long; and a record in which something is open stays for as long as it is.
 */
import { requestOf } from '../api/fence-request.ts';
import { isUnderFence } from '../api/facts.ts';
import type { FenceDeviceSpec, FenceDeviceStatus } from '../api/fence-device.ts';
import type { NodeFence } from '../api/node-fence.ts';

/** A node that was away for so long is not coming back to what we remember of it. */
const keptMs = 7 * 24 * 3_600_000;
/** Who edits a configuration may put back what was there. */
const leftOverMs = 3_600_000;

export type Upkeep = 'delete' | 'noteGone' | 'noteBack' | 'nothing';

interface Seen {
  isThere: boolean;
  nowMs: number;
}

export function upkeepOf(record: NodeFence, seen: Seen): Upkeep {
  return upkeep(record.status, { ...seen, isOpen: isOpen(record) });
}

/** What the operator has made to remember a device by. What somebody has written stays. `isOpen`: so is the record of its node. */
export function deviceUpkeepOf({ spec, status = {} }: Kept, seen: Seen & { isOpen: boolean }): Upkeep {
  const isWritten = spec.agent !== undefined || spec.driver !== undefined;
  if (isWritten) return 'nothing';
  return isLeftOver({ spec, status }, seen) ? 'delete' : upkeep(status, seen);
}

/**
 * Of an earlier configuration. That it was wrong, and what somebody has said of it, counts again should it be written again; what else
 * is forgotten with it makes it worth less, not more (SAF-1, SAF-17).
 */
function isLeftOver({ spec, status = {} }: Kept, { isOpen: isNeeded, nowMs }: Seen & { isOpen: boolean }): boolean {
  const isSaid = spec.shown !== undefined || spec.cleared !== undefined;
  if (isNeeded || isSaid || status.wrong !== undefined) return false;
  return nowMs >= Date.parse(status.unnamedSince ?? '') + leftOverMs;
}

interface Kept {
  spec: Pick<FenceDeviceSpec, 'agent' | 'driver' | 'shown' | 'cleared'>;
  status?: Pick<FenceDeviceStatus, 'goneSince' | 'unnamedSince' | 'wrong'>;
}

function upkeep(
  { goneSince }: { goneSince?: string | undefined },
  { isThere, isOpen: isNeeded, nowMs }: Seen & { isOpen: boolean },
): Upkeep {
  if (isThere) return goneSince === undefined ? 'nothing' : 'noteBack';
  if (isNeeded) return 'nothing';
  if (goneSince === undefined) return 'noteGone';
  return nowMs >= Date.parse(goneSince) + keptMs ? 'delete' : 'nothing';
}

/** Something is under way, left to undo, or wanted by a person. */
export function isOpen(record: NodeFence): boolean {
  const { spec, status } = record;
  return (
    spec.stop ||
    requestOf(record) !== undefined ||
    status.incident !== undefined ||
    status.applied.length > 0 ||
    isUnderFence(status.fence) ||
    status.releases.some(({ endedAt }) => endedAt === undefined)
  );
}
