/** Durations as Go reads them, `1.5h` or `2h45m`, written as ours. */
import { formatDuration } from '../../api/duration.ts';
import type { Place, Read } from '../../scenario/reader.ts';
import { problem, scalar } from '../../scenario/reader.ts';

const unitsMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ns: 1e-6,
};
const part = /(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|μs|ns)/g;

/** Milliseconds, negative ones too; undefined for what Go would not read. */
export function parseGoDuration(text: string): number | undefined {
  const [, sign = '', rest = ''] = /^([+-]?)(.+)$/.exec(text) ?? [];
  if (rest === '0') return 0;
  if (rest === '' || rest.replaceAll(part, '') !== '') return undefined;
  let ms = 0;
  for (const [, number, unit = ''] of rest.matchAll(part)) ms += Number(number) * (unitsMs[unit] ?? 0);
  // A tenth of a nanosecond is what the fractions of floating point numbers are off by, and no more.
  return (sign === '-' ? -1 : 1) * (Math.abs(ms - Math.round(ms)) < 1e-7 ? Math.round(ms) : ms);
}

export const goDurationMs: Read<number> = (place) => {
  const value = scalar(place);
  const ms = typeof value === 'string' ? parseGoDuration(value) : value === 0 ? 0 : undefined;
  return ms ?? problem(place, 'write a duration such as 300s, 5m or 1.5h');
};

/** Ours have no parts of a millisecond: rounded up, since a shorter wait is the one that can do harm. */
export function ownDuration(ms: number): string {
  return formatDuration(Math.ceil(ms));
}

export function notNegative(place: Place): number {
  const ms = goDurationMs(place);
  return ms < 0 ? problem(place, 'a time cannot be negative here: write 0s or more') : ms;
}
