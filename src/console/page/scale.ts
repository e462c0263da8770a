/**
 * The axis of an incident. What matters happens within seconds, and then a machine boots for minutes: a long while in which nothing
 * begins or ends is drawn shorter, and marked as such.
 */

export interface Scale {
  /** Pixels from the left. */
  x: (atMs: number) => number;
  /** Where time is drawn shorter than elsewhere. */
  breaks: { fromPx: number; toPx: number }[];
  ticks: { atMs: number; px: number }[];
}

/** So much of a gap is drawn as it is; of the rest less and less. */
const plainMs = 15_000;

function shownMs(gapMs: number): number {
  return gapMs <= plainMs ? gapMs : plainMs + 5000 * Math.log2(gapMs / plainMs);
}

/** `times`: all at which something begins or ends, the ends of the picture among them. */
export function scaleOf(times: readonly number[], width: number): Scale {
  const sorted = [...new Set(times)].toSorted((a, b) => a - b);
  const first = sorted[0] ?? 0;
  const stops = [{ atMs: first, shown: 0 }];
  for (const atMs of sorted.slice(1)) {
    const last = stops.at(-1) ?? { atMs: first, shown: 0 };
    stops.push({ atMs, shown: last.shown + shownMs(atMs - last.atMs) });
  }
  const total = stops.at(-1)?.shown || 1;
  const px = (shown: number): number => (shown / total) * width;
  const x = (atMs: number): number => {
    const at = stops.findIndex((stop) => stop.atMs >= atMs);
    const right = stops[at];
    if (right === undefined) return width;
    const left = stops[at - 1];
    if (left === undefined) return 0;
    return px(left.shown + ((atMs - left.atMs) / (right.atMs - left.atMs)) * (right.shown - left.shown));
  };
  const breaks = stops.slice(1).flatMap((right, at) => {
    const left = stops[at] ?? right;
    const isShort = right.atMs - left.atMs > plainMs;
    return isShort ? [{ fromPx: px(left.shown), toPx: px(right.shown) }] : [];
  });
  return { x, breaks, ticks: ticksOf(sorted, x, width) };
}

const steps = [
  1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000,
];
const roomPx = 76;
const maxTicks = 2000;

/** At round times, as close as there is room. */
function ticksOf(sorted: readonly number[], x: (atMs: number) => number, width: number): Scale['ticks'] {
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  const ticks: Scale['ticks'] = [];
  for (let atMs = first; atMs <= last && ticks.length < maxTicks;) {
    const from = ticks.at(-1)?.px ?? -roomPx;
    const step = steps.find((one) => {
      const next = Math.ceil((atMs + 1) / one) * one;
      return x(next) - from >= roomPx;
    });
    if (step === undefined) break;
    const next = Math.ceil((atMs + 1) / step) * step;
    if (next > last || x(next) > width - 30) break;
    ticks.push({ atMs: next, px: x(next) });
    atMs = next;
  }
  return ticks;
}

export interface Placed<T> {
  item: T;
  /** Which line of the lane, from 0. */
  line: number;
}

/** Puts what overlaps below each other. Those of one row stay on one line. */
export function linesFor<T extends { row?: string }>(
  items: readonly T[],
  extent: (item: T) => { fromPx: number; toPx: number },
): { placed: Placed<T>[]; lines: number } {
  const ends: number[] = [];
  const rows = new Map<string, number>();
  const placed = items.map((item) => {
    const { fromPx, toPx } = extent(item);
    const known = item.row === undefined ? undefined : rows.get(item.row);
    const free = ends.findIndex((end, line) => end <= fromPx && ![...rows.values()].includes(line));
    const line = known ?? (item.row === undefined && free >= 0 ? free : ends.length);
    if (item.row !== undefined) rows.set(item.row, line);
    ends[line] = Math.max(ends[line] ?? 0, toPx);
    return { item, line };
  });
  return { placed, lines: Math.max(1, ends.length) };
}
