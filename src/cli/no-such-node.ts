/** A node that is not there: most often another one is meant. */
import { UserError } from './user-error.ts';

const shown = 10;

/** Of a large cluster some: enough to see how its nodes are called. */
export function noSuchNode(missing: readonly string[], all: readonly string[]): UserError {
  const names = all.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  const rest = names.length > shown ? ` and ${names.length - shown} more` : '';
  const there = names.length === 0 ? 'there is none' : `there are: ${names.slice(0, shown).join(', ')}${rest}`;
  return new UserError(`no such node: ${missing.join(', ')}; ${there}`);
}
