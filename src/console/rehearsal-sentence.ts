/** What a rehearsal came to, in one sentence: who is released when, proposed instead of in force, and whether anybody else is touched. */
import type { NodeOutcome, Outcome } from '../scenario/from-cluster/outcome.ts';
import type { Rehearsal } from '../scenario/from-cluster/tell.ts';
import { duration } from './page/time.ts';

export interface Stakes {
  struck: ReadonlySet<string>;
  /** Not Ready before anything failed. */
  unwell: ReadonlySet<string>;
}

/** The furthest that comes of a failed node. */
interface Fate {
  did: 'released' | 'confirmed off' | 'found off' | 'fenced';
  atMs: number;
}

/** Less is no difference that anybody means. */
const sameMs = 500;

export function rehearsalSentence(rehearsals: readonly Rehearsal[], stakes: Stakes): string {
  const [first, second] = rehearsals;
  if (first === undefined) return '';
  const last = second ?? first;
  const main =
    second === undefined
      ? `${first.policies}: ${inWords(tellingOf(first.outcome, stakes))}`
      : compared(first.outcome, second.outcome, stakes);
  return `${main}; ${othersOf(last.outcome, stakes)}`;
}

function compared(inForce: Outcome, proposed: Outcome, stakes: Stakes): string {
  const [before, now] = [tellingOf(inForce, stakes), tellingOf(proposed, stakes)];
  const isSame = before.what === now.what && Math.abs(before.lastMs - now.lastMs) < sameMs;
  if (isSame) return `proposed as in force: ${inWords(now)}`;
  if (before.what === now.what) return `proposed: ${inWords(now)} instead of ${before.when}`;
  return `proposed: ${inWords(now)}; in force: ${inWords(before)}`;
}

interface Telling {
  /** Who is what; of one node by its name, of several by their number. */
  what: string;
  /** Of what comes to pass: after how long. */
  when?: string;
  lastMs: number;
}

function inWords({ what, when }: Telling): string {
  return when === undefined ? what : `${what} after ${when}`;
}

function tellingOf(outcome: Outcome, { struck }: Stakes): Telling {
  const fates = [...struck].flatMap((node) => fateOf(outcome, node) ?? []);
  const [only = ''] = struck;
  const isOne = struck.size === 1;
  if (fates.length === 0) {
    const who = isOne ? `${only} is not` : `none of the ${struck.size} nodes is`;
    return { what: `${who} released within ${duration(outcome.virtualMs)}${heldBy(outcome, struck)}`, lastMs: 0 };
  }
  const did = [...new Set(fates.map((fate) => fate.did))].join(' or ');
  const who = isOne ? `${only} is` : howMany(fates.length, struck.size);
  const times = fates.map(({ atMs }) => atMs);
  const lastMs = Math.max(...times);
  const [from, to] = [duration(Math.min(...times)), duration(lastMs)];
  return { what: `${who} ${did}`, when: from === to ? from : `${from} to ${to}`, lastMs };
}

function howMany(some: number, all: number): string {
  if (some === all) return all === 2 ? 'both nodes are' : `all ${all} nodes are`;
  return `${some} of ${all} nodes ${some === 1 ? 'is' : 'are'}`;
}

function heldBy({ nodes }: Outcome, struck: ReadonlySet<string>): string {
  const reasons = nodes.filter(({ node }) => struck.has(node)).flatMap(({ holds }) => holds.at(-1)?.reason ?? []);
  return reasons.length === 0 ? '' : ` (held: ${[...new Set(reasons)].join(', ')})`;
}

function fateOf({ nodes }: Outcome, name: string): Fate | undefined {
  const node = nodes.find((one) => one.node === name);
  if (node === undefined) return undefined;
  const { releases, confirmedAt, foundOffAt, fencedAt } = node;
  const [released] = releases.map(({ at }) => at).toSorted((a, b) => a - b);
  if (released !== undefined) return { did: 'released', atMs: released };
  if (confirmedAt !== undefined) return { did: 'confirmed off', atMs: confirmedAt };
  if (foundOffAt !== undefined) return { did: 'found off', atMs: foundOffAt };
  return fencedAt === undefined ? undefined : { did: 'fenced', atMs: fencedAt };
}

function othersOf({ nodes }: Outcome, { struck, unwell }: Stakes): string {
  const others = nodes.filter(({ node }) => !struck.has(node) && !unwell.has(node));
  const fenced = others.filter(({ fencedAt }) => fencedAt !== undefined);
  if (fenced.length > 0) return `${names(fenced)} would be fenced although nothing is wrong with it`;
  const touched = others.filter(({ suspectedAt, releases }) => suspectedAt !== undefined || releases.length > 0);
  return touched.length > 0 ? `${names(touched)} would be suspected, too` : 'nobody else is touched';
}

const shown = 3;

function names(nodes: readonly NodeOutcome[]): string {
  const rest = nodes.length > shown ? ` and ${nodes.length - shown} more` : '';
  return `${nodes
    .slice(0, shown)
    .map(({ node }) => node)
    .join(', ')}${rest}`;
}
