/** Times and durations as people say them. Relative first; the exact one, in the reader's own zone, is always at hand. */

const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
] as const;

/** `12 s`, `1.5 s`, `4 min`, `2 h 10 min`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 59.95)
    return `${seconds % 1 < 0.05 || seconds % 1 > 0.95 ? Math.round(seconds) : seconds.toFixed(1)} s`;
  const at = units.findIndex((unit) => ms >= unit.ms);
  const unit = units[at] ?? units[2];
  const whole = Math.floor(ms / unit.ms);
  const smaller = units[at + 1] ?? { name: 's', ms: 1000 };
  const rest = Math.floor((ms % unit.ms) / smaller.ms);
  return rest === 0 || whole >= 10 ? `${whole} ${unit.name}` : `${whole} ${unit.name} ${rest} ${smaller.name}`;
}

/** Without a second unit: it is read, not reckoned with. */
function rough(ms: number): string {
  if (ms < 59_500) return `${Math.round(ms / 1000)} s`;
  const unit = units.find((one) => ms >= one.ms) ?? units[2];
  return `${Math.floor(ms / unit.ms)} ${unit.name}`;
}

/** `4 min ago`, `in 12 s`. */
export function relative(atMs: number, nowMs: number): string {
  const away = atMs - nowMs;
  if (Math.abs(away) < 1500) return 'now';
  return away < 0 ? `${rough(-away)} ago` : `in ${rough(away)}`;
}

/** `14:03:11`, in the reader's zone. */
export function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString(undefined, { hour12: false });
}

/** With day and zone. */
export function exact(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long', hour12: false });
}

const written = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** A text in which times are written for programs, cut where they are. */
export function withTimes(text: string): (string | { atMs: number })[] {
  const parts: (string | { atMs: number })[] = [];
  let from = 0;
  for (const match of text.matchAll(written)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    parts.push({ atMs: Date.parse(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}
