/** Times as people read them. */
import { formatDuration } from '../api/duration.ts';

export function seconds(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/** A time, and how far away that is. */
export function when(time: string, now: string): string {
  const whole = seconds(time);
  // The day stands in the first lines.
  const clock = whole.slice(0, 10) === now.slice(0, 10) ? whole.slice(11) : whole;
  // Of the times as they are printed, so that two that are the same are equally far.
  const away = Math.floor(Date.parse(time) / 1000) - Math.floor(Date.parse(now) / 1000);
  if (Number.isNaN(away)) return clock;
  if (away === 0) return `${clock} (now)`;
  const span = formatDuration(Math.abs(away) * 1000);
  return away < 0 ? `${clock} (${span} ago)` : `${clock} (in ${span})`;
}
