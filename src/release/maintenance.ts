/**
 * Somebody works on a node and has said until when: what is wrong with it meanwhile is no trouble (ADM-7). What was begun
 * before is brought to its end: a machine that was switched off and left so would be no help to whoever works there.
 */
import { clockTime, isUnderFence } from '../api/facts.ts';
import type { NodeCase } from '../api/release-view.ts';
import { MAINTENANCE_ANNOTATION } from '../api/release-view.ts';
import { timeWritten } from '../api/time-written.ts';
import type { Objection } from './checks.ts';
import { objection } from './checks.ts';

export interface Maintenance {
  message: string;
  /** By the API server's clock; absent: what is written is no time, and holds until it is mended. */
  untilMs?: number;
}

/** Nothing is begun; what was begun goes on. */
export function maintenanceOf(nodeCase: NodeCase): Maintenance | undefined {
  return isUnderFence(nodeCase.fence?.status.fence) ? undefined : maintenanceNow(nodeCase);
}

/** Somebody works on it, whatever was begun before. */
export function maintenanceNow({ node, serverNowMs }: NodeCase): Maintenance | undefined {
  const written = node?.maintenanceUntil;
  if (written === undefined) return undefined;
  const { atMs: untilMs, shown } = timeWritten(written);
  // Somebody meant to hold us back, and we do not know for how long: unknown is not no.
  if (untilMs === undefined) {
    const example = clockTime(serverNowMs + 7_200_000);
    const message = `the annotation ${MAINTENANCE_ANNOTATION} is ${shown}, which is no time: write one such as ${example}, or remove it`;
    return { message };
  }
  return serverNowMs < untilMs ? { message: `under maintenance until ${clockTime(untilMs)}`, untilMs } : undefined;
}

export function notInMaintenance(nodeCase: NodeCase): Objection | undefined {
  const found = maintenanceOf(nodeCase);
  return found === undefined ? undefined : objection('Maintenance', found.message, found.untilMs);
}
