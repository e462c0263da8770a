/** A decision about one node, as the operator takes it. */
import { isDeepStrictEqual } from 'node:util';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, Sighting } from '../api/release-view.ts';
import { isStormHold } from '../api/storm-sign.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { decideNode } from '../decide/decide-node.ts';

/** Nothing but the case of one node goes into a decision: a mistake in it is about that node alone. */
export class Undecided extends Error {}

export function decided(seen: Sighting | NodeCase): NodeDecision {
  try {
    return decideNode(seen);
  } catch (cause) {
    throw new Undecided(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Something is taken, written, done or handed over because of it. `before`: what is on record. */
export function comesToAnything({ record, steps, claims, wants }: NodeDecision, before?: NodeFenceStatus): boolean {
  const isWritten = record !== undefined && !isOnlyTold(before, record.status);
  return takes(claims) || isWritten || steps.length > 0 || wants.includes('successor');
}

function takes({ fence, remedy, pods }: NodeDecision['claims']): boolean {
  return fence || remedy || pods > 0;
}

const deeds = ['incident', 'fence', 'ladders', 'jobs', 'releases', 'return', 'request', 'approval'] as const;

/** A storm holds it back before anything is looked at that is about others than those that are counted. */
export function isOnlyHeld({ record, storm, steps, claims, wants }: NodeDecision, before?: NodeFenceStatus): boolean {
  if (storm !== undefined) return true;
  const { hold, fence, ladders = [] } = record?.status ?? before ?? {};
  const isBegun =
    (fence?.phase ?? 'waiting') !== 'waiting' ||
    ladders.some(({ phase }) => phase !== 'running') ||
    wants.includes('pods');
  return isStormHold(hold?.reason) && !isBegun && !takes(claims) && steps.length === 0;
}

/** A storm holds it back as it did, and how bad that storm is now is told anew: that was so a moment ago. */
function isOnlyTold(before: NodeFenceStatus | undefined, after: NodeFenceStatus | undefined): boolean {
  if (before === undefined || after === undefined || before.hold?.reason !== after.hold?.reason) return false;
  const isOpen = [before, after].every(({ storm }) => storm !== undefined && storm.endedAt === undefined);
  if (!isOpen || !isStormHold(after.hold?.reason)) return false;
  return deeds.every((deed) => isDeepStrictEqual(before[deed], after[deed]));
}
