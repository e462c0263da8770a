/** What a run came to: as JSON for programs, and as a story for people. */
import type { Exemption } from './checkers/checker.ts';
import type { TimelineEntry } from './timeline.ts';
import type { ExpectationReport } from './tracker.ts';

/**
 * In the place of an invariant: an operator has ended by itself, or met an error of its own about a node and went on without it. There
 * is no checker of it, so that no run can be without.
 */
export const ownMistake = 'mistake';

export interface Violation {
  /** Or `ownMistake`. */
  invariant: string;
  at: number;
  detail: string;
}

/** What a checker let pass, and in whose name. */
export interface Exempted {
  invariant: string;
  exemption: Exemption;
  at: number;
  detail: string;
}

/** Times in milliseconds since time 0. */
export interface Report {
  scenario: string;
  seed: number;
  ok: boolean;
  expectations: ExpectationReport[];
  violations: Violation[];
  exemptions: Exempted[];
  timeline: TimelineEntry[];
  virtualMs: number;
  wallMs: number;
}

export function renderReport(report: Report): string {
  const { scenario, seed, ok, expectations, violations, exemptions, timeline, virtualMs, wallMs } = report;
  const width = Math.max(0, ...timeline.map(({ actor }) => actor.length));
  const speed = wallMs > 0 ? `, ${Math.round(virtualMs / wallMs).toLocaleString('en')} times faster than life` : '';
  const lines = [
    `${ok ? '✓' : '✗'} ${scenario} (seed ${seed})`,
    '',
    ...timeline.map(({ at, actor, what, object }) => `  ${clockText(at)}  ${actor.padEnd(width)}  ${object} ${what}`),
    ...(timeline.length > 0 ? [''] : []),
    ...expectations.map(expectationLine),
    ...violations.map((violation) => `  ✗ ${toldViolation(violation, clockText(violation.at).trim())}`),
    ...exemptions.map(
      ({ invariant, exemption, at, detail }) =>
        `  ! ${invariant} lets pass at ${clockText(at).trim()}, by ${exemption}: ${detail}`,
    ),
    ...(violations.length === 0 ? ['  ✓ no invariant was broken'] : []),
    '',
    `  ${clockText(virtualMs).trim()} in ${(wallMs / 1000).toFixed(1)} s${speed}`,
    '',
  ];
  return lines.join('\n');
}

export function toldViolation({ invariant, detail }: Violation, time: string): string {
  const what = invariant === ownMistake ? 'a mistake of the operator' : `${invariant} broken`;
  return `${what} at ${time}: ${detail}`;
}

function expectationLine({ expectation, ok, at, detail }: ExpectationReport): string {
  const when = at === null ? '' : ` at ${clockText(at).trim()}`;
  return `  ${ok ? '✓' : '✗'} ${inline(expectation)}${ok ? when : `\n      ${detail}${when}`}`;
}

/** As one would write it in a file. */
function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{${Object.entries(value)
    .map(([key, inner]) => `${key}: ${inline(inner)}`)
    .join(', ')}}`;
}

/** `   5:45.0`, with hours where there are any. */
export function clockText(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const hours = Math.floor(tenths / 36_000);
  const minutes = Math.floor(tenths / 600) % 60;
  const seconds = Math.floor(tenths / 10) % 60;
  const two = (value: number): string => String(value).padStart(2, '0');
  const text = `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds)}.${tenths % 10}`;
  return text.padStart(9);
}
