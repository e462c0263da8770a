/**
 * What becomes of the record of a node that is not there any more, and of what is remembered of its devices (SAF-20). Since when it is gone is stored, because no instance of the
 * operator runs for so long; and a record in which something is open stays for as long as it is.
 */
import { requestOf } from '../api/fence-request.ts';
import { isUnderFence } from '../api/facts.ts';
import type { NodeFence } from '../api/node-fence.ts';

/** A node that was away for so long is not coming back to what we remember of it. */
const keptMs = 7 * 24 * 3_600_000;

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
  return isWritten ? 'nothing' : upkeep(status, seen);
}

interface Kept {
  spec: { agent?: string | undefined; driver?: string | undefined };
  status?: { goneSince?: string | undefined };
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
