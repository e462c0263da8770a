/**
 * Somebody works on a node and has said until when: what is wrong with it meanwhile is no trouble (ADM-7). What was begun
 * before is brought to its end: a machine that was switched off and left so would be no help to whoever works there.
 */
import { isUnderFence } from '../api/facts.ts';
import type { Maintenance } from '../api/maintenance.ts';
import { maintenanceAt } from '../api/maintenance.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Objection } from './checks.ts';
import { objection } from './checks.ts';

/** Nothing is begun; what was begun goes on. */
export function maintenanceOf(nodeCase: NodeCase): Maintenance | undefined {
  return isUnderFence(nodeCase.fence?.status.fence) ? undefined : maintenanceNow(nodeCase);
}

/** Somebody works on it, whatever was begun before. */
export function maintenanceNow({ node, serverNowMs }: NodeCase): Maintenance | undefined {
  return maintenanceAt(node?.maintenanceUntil, serverNowMs);
}

export function notInMaintenance(nodeCase: NodeCase): Objection | undefined {
  const found = maintenanceOf(nodeCase);
  return found === undefined ? undefined : objection('Maintenance', found.message, found.untilMs);
}
