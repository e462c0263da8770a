/**
 * What becomes of the record of a node that is not there any more (SAF-20). Since when it is gone is stored, because no instance of the
 * operator runs for so long; and a record in which something is open stays for as long as it is.
 */
import { requestOf } from '../api/fence-request.ts';
import { isUnderFence } from '../api/facts.ts';
import type { NodeFence } from '../api/node-fence.ts';

/** A node that was away for so long is not coming back to what we remember of it. */
const keptMs = 7 * 24 * 3_600_000;

export type Upkeep = 'delete' | 'noteGone' | 'noteBack' | 'nothing';

export function upkeepOf(record: NodeFence, { isThere, nowMs }: { isThere: boolean; nowMs: number }): Upkeep {
  const { goneSince } = record.status;
  if (isThere) return goneSince === undefined ? 'nothing' : 'noteBack';
  if (isOpen(record)) return 'nothing';
  if (goneSince === undefined) return 'noteGone';
  return nowMs >= Date.parse(goneSince) + keptMs ? 'delete' : 'nothing';
}

/** Something is under way, left to undo, or wanted by a person. */
function isOpen(record: NodeFence): boolean {
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
