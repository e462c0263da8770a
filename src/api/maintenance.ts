/** Somebody works on a node, and has said until when: one reading of it, for what is decided and for what is told. */
import { clockTime } from './facts.ts';
import { MAINTENANCE_ANNOTATION } from './release-view.ts';
import { timeWritten } from './time-written.ts';

export interface Maintenance {
  message: string;
  /** By the API server's clock; absent: what is written is no time, and holds until it is mended. */
  untilMs?: number;
}

/** `written`: in the annotation of the node. Undefined: nobody works on it, or not any more. */
export function maintenanceAt(written: string | undefined, nowMs: number): Maintenance | undefined {
  if (written === undefined) return undefined;
  const { atMs: untilMs, shown } = timeWritten(written);
  // Somebody meant to hold us back, and we do not know for how long: unknown is not no.
  if (untilMs === undefined) {
    const example = clockTime(nowMs + 7_200_000);
    const message = `the annotation ${MAINTENANCE_ANNOTATION} is ${shown}, which is no time: write one such as ${example}, or remove it`;
    return { message };
  }
  return nowMs < untilMs ? { message: `under maintenance until ${clockTime(untilMs)}`, untilMs } : undefined;
}
