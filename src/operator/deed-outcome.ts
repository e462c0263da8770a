/** What an act has come to, as it is kept on record with the next decision. */
import type { ActOutcome } from '../act/act-outcome.ts';
import type { DeedOutcome } from '../api/deed-names.ts';
import { deedOf } from '../api/deeds.ts';

/** Undefined: it goes on, was not done for a reason that the next decision sees for itself, or is no deed. */
export function deedOutcome(outcome: ActOutcome): DeedOutcome | undefined {
  if (outcome.kind === 'begun' || outcome.kind === 'changed' || outcome.kind === 'unconfirmed') return undefined;
  const deed = outcome.act && deedOf(outcome.act);
  if (deed === undefined) return undefined;
  switch (outcome.kind) {
    case 'done':
      return { ...deed, result: 'Done' };
    case 'needless':
      return { ...deed, result: 'again' };
    case 'failed':
      return { ...deed, result: 'Failed', message: outcome.error.message };
  }
}
