/** What people have written on a Node to be left alone, and what they have written and nobody reads. */
import { maintenanceAt } from '../api/maintenance.ts';
import { nearest } from '../api/nearest.ts';
import { CORDONED_ANNOTATION, PAUSE_PREFIX } from '../api/plans.ts';
import {
  MAINTENANCE_ANNOTATION,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
} from '../api/release-view.ts';
import type { LeftAlone } from '../report/explanation.ts';
import type { KubeObject } from '../kube/client.ts';
import { liveNode } from '../observe/project-release.ts';
import { pausedByName } from '../release/patience.ts';

const written = [MAINTENANCE_ANNOTATION, `${PAUSE_PREFIX}NAME`];
const known: ReadonlySet<string> = new Set([
  MAINTENANCE_ANNOTATION,
  CORDONED_ANNOTATION,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
]);

const ours = 'fenceline.dev/';

export function isAnnotated({ metadata: { annotations = {} } }: KubeObject): boolean {
  return Object.keys(annotations).some((key) => key.startsWith(ours));
}

/** By its maintenance, or by the pauses that have a name. */
export function leftAloneBy(object: KubeObject, nowMs: number): LeftAlone[] {
  const node = liveNode(object);
  const maintenance = maintenanceAt(node.maintenanceUntil, nowMs);
  const paused = pausedByName({ node, serverNowMs: nowMs });
  return [
    ...(maintenance === undefined ? [] : [{ reason: 'Maintenance' as const, ...maintenance }]),
    ...(paused === undefined ? [] : [{ ...paused, reason: 'NamedPause' as const }]),
  ].map(({ reason, message, untilMs }) => ({ reason, message, ...(untilMs === undefined ? {} : { untilMs }) }));
}

/** Somebody meant something by it, and may believe that it is so. */
export function meaningless({ metadata: { name, annotations = {} } }: KubeObject): string[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith(ours) && !known.has(key) && !isPause(key))
    .map((key) => `the annotation ${key} of ${name} means nothing: did you mean ${nearest(key, written)}?`);
}

function isPause(key: string): boolean {
  return key.startsWith(PAUSE_PREFIX) && key.length > PAUSE_PREFIX.length;
}
