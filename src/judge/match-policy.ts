/**
 * Which policy applies to a node. Of those that select it: the one with the highest priority; of equal ones the most
 * specific, which is the one whose selector has the most requirements (`allNodes` has none and comes last); of equally
 * specific ones the oldest, and of equally old ones the first by name. There is always one: that two people were equally
 * specific must not leave a node without any.
 */
import { selects } from '../api/label-selector.ts';
import type { NodeChoice, Selector } from '../api/node-choice.ts';

type Labels = Readonly<Record<string, string>>;
type Candidate = NodeChoice & { name: string };

export type Match<P> =
  | { kind: 'none' }
  /** `over`: the names of those that came second by their age alone. They are told: one of the two was not meant. */
  | { kind: 'one'; policy: P; over: readonly string[] };

export function matchPolicy<P extends Candidate>(policies: Iterable<P>, labels: Labels): Match<P> {
  const ranked = [...policies]
    .filter(({ selector }) => selects(selector, labels))
    .sort((one, other) => byRank(one, other) || byAge(one, other));
  const [policy, ...rest] = ranked;
  if (policy === undefined) return { kind: 'none' };
  return { kind: 'one', policy, over: rest.filter((one) => byRank(policy, one) === 0).map(({ name }) => name) };
}

function byRank(one: Candidate, other: Candidate): number {
  return other.priority - one.priority || specificity(other.selector) - specificity(one.selector);
}

function byAge(one: Candidate, other: Candidate): number {
  return compare(one.createdAt, other.createdAt) || compare(one.name, other.name);
}

/** By code units: times as the API server writes them, and names, need no more. */
function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function specificity({ matchLabels, matchExpressions }: Selector): number {
  return Object.keys(matchLabels).length + matchExpressions.length;
}
