/** What is about to be done to a node that has not been touched yet, and could still come back by itself. */
import { clockTime } from '../api/facts.ts';
import { requestOf } from '../api/fence-request.ts';
import { CUTS } from '../decide/next.ts';
import { when } from './clock-text.ts';
import type { Known } from './explanation.ts';
import { isBack } from './explanation.ts';

export interface Ahead {
  what: string;
  /** Absent: when what holds it is over. */
  at?: string;
}

/** Undefined: nothing that would hurt a machine that runs. */
export function aheadOf(known: Known): Ahead | undefined {
  const { record } = known;
  const { incident, fence, ladders = [], hold, next } = record?.status ?? {};
  if (next === undefined || incident === undefined || incident.clearedAt !== undefined || isBack(known))
    return undefined;
  const isBefore = fence === undefined ? ladders.length === 0 : fence.phase === 'waiting' || fence.phase === 'isolated';
  const what = isBefore ? harmIn(known, next.what) : undefined;
  const at = next.at ?? hold?.until;
  return what === undefined ? undefined : { what, ...(at === undefined ? {} : { at }) };
}

function harmIn({ policy }: Known, what: string): string | undefined {
  if (CUTS.has(what)) return what;
  const begun = Object.entries(policy?.remedy?.kinds ?? {}).find(([name]) => what.startsWith(`${name} begins`));
  if (begun === undefined) return undefined;
  const [name, kind] = begun;
  return kind === 'fence' ? 'its fence begins, and its power may be cut from then on' : `${name} begins`;
}

/** Somebody who is back is cut all the same, if somebody wants that. */
export function unlessBack({ record }: Known): string {
  return record !== undefined && requestOf(record) !== undefined ? '' : ', unless it is back by then';
}

export function momentOf({ at }: Ahead, { atMs, record }: Known): string {
  const { hold } = record?.status ?? {};
  if (at === undefined) return hold === undefined ? 'next' : 'once nothing holds it back any more';
  if (Date.parse(at) <= atMs) return 'now';
  const clock = when(at, clockTime(atMs));
  return hold === undefined ? `at ${clock}` : `by ${clock} at the latest`;
}
