/** What has cut a node off from its storage, and does not say so any more when it is asked again right before its pods go. */
import type { FenceFacts, FenceState } from './state.ts';

/** So long after the word of a device was lost somebody has to look. */
export const givenUpAfterMs = 600_000;

/**
 * It does not answer, or somebody has connected the node again. Nothing goes, which is said at once, and counts as a failure in the end; its
 * power is cut when it is due, as it would be otherwise. Where it says so again, or nothing is left that could go, it is as it was.
 */
export function uncut(state: FenceState, { unconfirmed, isReleased }: FenceFacts): FenceState {
  if (unconfirmed === undefined || isReleased) {
    if (state.isUnconfirmed !== true) return state;
    const { isUnconfirmed: _, isForGood: __, message: ___, ...rest } = state;
    return rest;
  }
  const message = `it was cut off from its storage, and its pods go when its device says so again: ${unconfirmed.message}`;
  const isForGood = unconfirmed.forMs >= givenUpAfterMs || state.isForGood === true;
  const isKnown = state.isUnconfirmed === true && state.message === message && isForGood === (state.isForGood ?? false);
  return isKnown ? state : { ...state, isUnconfirmed: true, message, ...(isForGood ? { isForGood } : {}) };
}
