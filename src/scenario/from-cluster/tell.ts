/** Outcomes as people read them: what would become of each node and pod, under each set of policies, side by side. */
import { clockText, toldViolation } from '../report.ts';
import type { NodeOutcome, Outcome, PodOutcome } from './outcome.ts';

export interface Rehearsal {
  /** `in force`, `proposed`. */
  policies: string;
  outcome: Outcome;
}

/** Rows of a table, its heads first. */
export function rowsOf(rehearsals: readonly Rehearsal[]): { nodes: string[][]; pods: string[][] } {
  const heads = rehearsals.map(({ policies }) =>
    rehearsals.length === 1 ? 'WHAT WOULD HAPPEN' : policies.toUpperCase(),
  );
  const names = <T>(of: (outcome: Outcome) => readonly T[], name: (one: T) => string): string[] => [
    ...new Set(rehearsals.flatMap(({ outcome }) => of(outcome).map(name))),
  ];
  const nodes = names(
    ({ nodes: all }) => all,
    ({ node }) => node,
  ).map((name) => [
    name,
    ...rehearsals.map(({ outcome }) => nodeText(outcome.nodes.find(({ node }) => node === name))),
  ]);
  const pods = names(
    ({ pods: all }) => all,
    ({ pod }) => pod,
  ).map((name) => [
    name,
    rehearsals.flatMap(({ outcome }) => outcome.pods.find(({ pod }) => pod === name)?.node ?? [])[0] ?? '',
    ...rehearsals.map(({ outcome }) => podText(outcome.pods.find(({ pod }) => pod === name))),
  ]);
  return { nodes: [['NODE', ...heads], ...nodes], pods: [['POD', 'ON', ...heads], ...pods] };
}

/** What somebody should know before trusting it. `unwell`: nodes that were not Ready before anything failed. */
export function warningsOf({ policies, outcome }: Rehearsal, unwell: ReadonlySet<string>): string[] {
  const innocent = outcome.nodes.filter(
    ({ node, struck, fencedAt }) => !struck && !unwell.has(node) && fencedAt !== undefined,
  );
  return [
    ...innocent.map(({ node }) => `${policies}: ${node} would be fenced although nothing is wrong with it`),
    ...outcome.violations.map((violation) => `${policies}: ${toldViolation(violation, time(violation.at))}`),
    ...outcome.exemptions.map(
      ({ invariant, exemption, at, detail }) => `${policies}: ${detail}, at ${time(at)} (${invariant}, ${exemption})`,
    ),
  ];
}

function nodeText(node: NodeOutcome | undefined): string {
  if (node === undefined) return 'nothing';
  const { suspectedAt, fencedAt, confirmedAt, foundOffAt, isolatedAt, releases, backAt, fence } = node;
  const freed = releases.map(({ basis, at, pods }) => `frees ${count(pods, 'pod')} ${time(at)} (${basis})`);
  const hold =
    node.holds.findLast(({ until }) => until === undefined) ??
    (fencedAt === undefined && releases.length === 0 ? node.holds.at(-1) : undefined);
  const parts = [
    ...(suspectedAt === undefined ? [] : [`suspected ${time(suspectedAt)}`]),
    ...(fencedAt === undefined ? [] : [`fenced ${time(fencedAt)}`]),
    ...(foundOffAt === undefined ? [] : [`found off ${time(foundOffAt)}`]),
    ...(isolatedAt === undefined ? [] : [`cut off from its storage ${time(isolatedAt)}`]),
    ...(confirmedAt === undefined ? [] : [`confirmed off ${time(confirmedAt)}`]),
    ...freed,
    ...(hold === undefined ? [] : [`held ${time(hold.at)}: ${hold.message}`]),
    ...(backAt === undefined ? [unfinished(fence)] : [`back in service ${time(backAt)}`]),
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'nothing is done' : parts.join(', ');
}

function unfinished(fence: NodeOutcome['fence']): string {
  if (fence === undefined) return '';
  const { phase, waitsFor, message } = fence;
  const why = waitsFor ?? message;
  return `its fence ends as ${phase}${why === undefined ? '' : ` (${why})`}`;
}

function podText(pod: PodOutcome | undefined): string {
  if (pod === undefined || pod.becomes === 'stays') return 'stays';
  const { becomes, goneAt, runningAt, on, why } = pod;
  const gone = goneAt === undefined ? '' : `goes ${time(goneAt)}, `;
  const ran = runningAt === undefined ? '' : ` ${time(runningAt)}${on === pod.node ? '' : ` on ${on}`}`;
  return `${gone}${becomes === 'runs elsewhere' ? 'runs' : becomes}${ran}${why === undefined ? '' : `: ${why}`}`;
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`;
}

function time(ms: number): string {
  return clockText(ms).trim();
}
