/**
 * The pause for all (ADM-5): while its ConfigMap is there and its time has not passed, nothing is begun that cannot be taken
 * back.
 */
import { clockTime } from './facts.ts';
import { nearest } from './nearest.ts';
import type { SeenPause } from './seen-pause.ts';
import { PAUSE_KEYS, PAUSE_NAME } from './seen-pause.ts';
import { timeWritten } from './time-written.ts';

export interface Pause {
  message: string;
  /** By the API server's clock; absent: until somebody ends it. */
  untilMs?: number;
}

/** Undefined: there is none, or its time has passed. What is no time is not over: unknown is not no. */
export function pauseOf({ written }: SeenPause, nowMs: number): Pause | undefined {
  if (written === undefined) return undefined;
  const { by, reason, until, unknown } = written;
  const time = until === undefined ? undefined : timeWritten(until);
  const untilMs = time?.atMs;
  if (untilMs !== undefined && nowMs >= untilMs) return undefined;
  const who = by === undefined || by === '' ? '' : ` by ${by}`;
  const long = untilMs === undefined ? '' : ` until ${clockTime(untilMs)}`;
  const why = reason === undefined || reason === '' ? '' : `: ${reason}`;
  const mistakes = [
    ...(time !== undefined && untilMs === undefined ? [noTime(time.shown, nowMs)] : []),
    ...(unknown === undefined ? [] : [meaningless(unknown)]),
  ];
  const message = [`everything is paused${who}${long}${why}`, ...mistakes].join('; ');
  return { message, ...(untilMs === undefined ? {} : { untilMs }) };
}

function noTime(shown: string, nowMs: number): string {
  const example = clockTime(nowMs + 7_200_000);
  return `until in ConfigMap ${PAUSE_NAME} is ${shown}, which is no time: write one such as ${example}, or end the pause`;
}

function meaningless(key: string): string {
  return `the key ${JSON.stringify(key)} of ConfigMap ${PAUSE_NAME} means nothing: did you mean ${nearest(key, PAUSE_KEYS)}?`;
}
