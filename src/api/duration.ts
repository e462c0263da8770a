/**
 * Durations as Go writes and reads them: `90s`, `1h30m`, `1h30m0s`, `1.5h`. Whoever pastes a value from the manifest of
 * another operator, or what kubectl printed of it, is understood. They stay strings in the objects, so that what is read
 * back is what was written, and become milliseconds only where they are used.
 *
 * No days, negative values or bare numbers: a reader must not have to guess whether `5` was meant as seconds or minutes
 * when the answer decides when a machine loses its power.
 *
 * Apart from its schema (duration-schema.ts), so that the operator reads its flags without loading zod.
 */
import type { z } from 'zod';

export type Duration = string & z.$brand<'Duration'>;

/** So many digits that no sum of them is more than a clock can count; Go refuses those as well. */
const number = (digits: number): string => `([0-9]{1,${digits}}([.][0-9]{0,9})?|[.][0-9]{1,9})`;
export const FORM = new RegExp(`^[+]?(${number(6)}h|${number(9)}(m|s|ms|us|µs|μs|ns))+$`);
/** What has a digit other than 0 is longer than nothing. */
export const LONGER_THAN_NOTHING = /[1-9]/;
const PART = /([0-9]*)[.]?([0-9]*)(h|ms|m|s|us|µs|μs|ns)/g;
const UNITS_NS: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: 1_000_000n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ns: 1n,
};
/** Nine digits after the point, so that nothing is lost to a binary fraction. */
const FRACTION = 1_000_000_000n;
const MS = 1_000_000n * FRACTION;
const UNITS_MS = [3_600_000, 60_000, 1000, 1] as const;
const NAMES = ['h', 'm', 's', 'ms'] as const;

/** Milliseconds, rounded up, so that a moment does not become "at once"; undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (!FORM.test(text)) return undefined;
  let total = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(PART)) {
    total += (BigInt(whole) * FRACTION + BigInt(fraction.padEnd(9, '0'))) * (UNITS_NS[unit] ?? 0n);
  }
  return Number((total + MS - 1n) / MS);
}

export function durationMs(duration: Duration): number {
  const ms = parseDuration(duration);
  if (ms === undefined) throw new Error(`"${duration}" was branded as a duration without having been parsed`);
  return ms;
}

/** The shortest spelling: `90s` comes back as `1m30s`. Negative or fractional milliseconds are a caller's mistake. */
export function formatDuration(ms: number): Duration {
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`not a whole number of milliseconds: ${ms}`);
  let rest = ms;
  let text = '';
  for (const [i, unitMs] of UNITS_MS.entries()) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0) text += `${count}${NAMES[i]}`;
  }
  return (text === '' ? '0s' : text) as Duration;
}
