/**
 * Durations as users write them: `90s`, `5m`, `1h30m`. They stay strings in the objects, so that what is read back is
 * what was written, and become milliseconds only where they are used.
 *
 * No days, fractions, signs or bare numbers: a reader must not have to guess whether `5` was meant as seconds or
 * minutes when the answer decides when a machine loses its power.
 *
 * Apart from its schema (duration-schema.ts), so that the operator reads its flags without loading zod.
 */
import type { z } from 'zod';

export type Duration = string & z.$brand<'Duration'>;

// Six digits at most: larger numbers overflow the API server's own duration type, which then fails instead of refusing.
export const FORM = /^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?([0-9]{1,6}ms)?$/;
const UNITS_MS = [3_600_000, 60_000, 1000, 1] as const;
const NAMES = ['h', 'm', 's', 'ms'] as const;

/** Milliseconds, or undefined when the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = FORM.exec(text);
  if (match === null || text === '') return undefined;
  return UNITS_MS.reduce((sum, unitMs, i) => sum + Number.parseInt(match[i + 1] ?? '0', 10) * unitMs, 0);
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
