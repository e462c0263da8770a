/** A decision about one node, as the operator takes it. */
import type { NodeCase, Sighting } from '../api/release-view.ts';
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

/** Something is taken, written, done or handed over because of it. */
export function comesToAnything({ record, steps, claims, wants }: NodeDecision): boolean {
  const takes = claims.fence || claims.remedy || claims.pods > 0;
  return takes || record !== undefined || steps.length > 0 || wants.includes('successor');
}
