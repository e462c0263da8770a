/**
 * What is on record by a clock that was ahead, and is right again: moments that have not come, of what has happened. All that counts
 * from them would wait for as long as that clock was off, a year if need be. They are now, what was due some time after them is due
 * so long after now, and it is written down like that, or it would be now for ever.
 */
import { timeOf } from './facts.ts';
import type { NodeFenceStatus } from './node-fence.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;
type Ladder = NodeFenceStatus['ladders'][number];
type Storm = NonNullable<NodeFenceStatus['storm']>;

/** Clocks that are looked after differ by less, and what is rounded up is ahead by less. */
const toleratedMs = 60_000;
/** After this at the latest what a device was told is told again, or counts as not done. */
const longestRetryMs = 180_000;

/** What nothing counts from, or what is compared with what others have written. */
const untouched: ReadonlySet<string> = new Set([
  'approval',
  'conditions',
  'history',
  'hold',
  'jobs',
  'next',
  'problems',
  'rehearsal',
  'request',
]);
const isStamp = (key: string): boolean => /^(?:at|since)$|(?:At|Since)$/.test(key);
const isDeadline = (key: string): boolean => /^until$|Until$/.test(key);

/** Undefined: nothing of it is ahead. */
export function withoutAhead(status: NodeFenceStatus, nowMs: number): NodeFenceStatus | undefined {
  const mended = brought(status, nowMs) as NodeFenceStatus;
  return JSON.stringify(mended) === JSON.stringify(status) ? undefined : mended;
}

/**
 * The clock was set by so much since all this was written down: it is as long ago as it was. A storm began when it began, by the clock
 * by which Nodes are made.
 */
export function setBy(status: NodeFenceStatus, byMs: number): NodeFenceStatus {
  return moved(status, byMs) as NodeFenceStatus;
}

function moved(value: unknown, byMs: number): unknown {
  if (Array.isArray(value)) return value.map((one) => moved(one, byMs));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => {
    if (untouched.has(key)) return [key, one];
    if (key === 'storm') return [key, { ...(moved(one, byMs) as Storm), since: (one as Storm).since }];
    if ((isStamp(key) || isDeadline(key)) && typeof one === 'string') return [key, timeOf(Date.parse(one) + byMs)];
    return [key, moved(one, byMs)];
  });
  return Object.fromEntries(entries);
}

/** What counts from a moment that is ahead, brought back by as much. */
function brought(value: unknown, nowMs: number): unknown {
  if (Array.isArray(value)) return value.map((one) => brought(one, nowMs));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const aheadMs = Math.max(0, ...entries.map(([key, one]) => (isStamp(key) ? Date.parse(one) - nowMs : 0)));
  const changed = entries.map(([key, one]) => {
    if (untouched.has(key)) return [key, one];
    if (key === 'storm') return [key, { ...(brought(one, nowMs) as Storm), since: (one as Storm).since }];
    if (isStamp(key)) return [key, Date.parse(one) > nowMs + toleratedMs ? timeOf(nowMs) : one];
    if (isDeadline(key) && aheadMs > toleratedMs) return [key, timeOf(Date.parse(one) - aheadMs)];
    if (key === 'ladders') return [key, (one as Ladder[]).map((ladder) => within(ladder, nowMs, intervalOf(ladder)))];
    const next = brought(one, nowMs);
    return [key, key === 'fence' ? within(next as Fence, nowMs, longestRetryMs) : next];
  });
  return Object.fromEntries(changed);
}

/** A deadline that is further ahead than it can have been when it was set. */
function within<T extends { until?: string | undefined }>(one: T, nowMs: number, intervalMs: number): T {
  const isAhead = one.until !== undefined && Date.parse(one.until) > nowMs + intervalMs + toleratedMs;
  return isAhead ? { ...one, until: timeOf(nowMs + intervalMs) } : one;
}

function intervalOf({ startedAt, until }: Ladder): number {
  return until === undefined ? 0 : Date.parse(until) - Date.parse(startedAt);
}
