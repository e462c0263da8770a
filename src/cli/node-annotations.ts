/** What people have written on a Node to be left alone, and what they have written and nobody reads. */
import { maintenanceAt } from '../api/maintenance.ts';
import { nearest } from '../api/nearest.ts';
import { isOurOutOfService } from '../api/out-of-service.ts';
import { CORDONED_ANNOTATION, PAUSE_PREFIX } from '../api/plans.ts';
import {
  MAINTENANCE_ANNOTATION,
  OUT_OF_SERVICE_KEY,
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

/** Something is written on the Node that is for us, or for everybody who has to know that its machine is off. */
export function isAnnotated(object: KubeObject): boolean {
  const { annotations = {} } = object.metadata;
  return Object.keys(annotations).some((key) => key.startsWith(ours)) || outOfServiceBy(object) !== undefined;
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

/** Takes every named pause away, as kubectl has it; undefined: there is none. */
export function unpauseOf({ metadata: { annotations = {} } }: KubeObject): string | undefined {
  const keys = Object.keys(annotations).filter((key) => isPause(key));
  return keys.length === 0 ? undefined : keys.map((key) => `${key}-`).join(' ');
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

export interface LeftTaint {
  message: string;
  /** Takes it away. */
  command: string;
}

/** By it Kubernetes drives every pod out, on the word of somebody that the machine is off: on one that lives it is a mistake. */
export function outOfServiceBy(object: KubeObject): LeftTaint | undefined {
  const { name, taints } = liveNode(object);
  const found = taints.find((taint) => taint.key === OUT_OF_SERVICE_KEY && !isOurOutOfService(taint));
  if (found === undefined) return undefined;
  return {
    message: `${name} has the taint ${OUT_OF_SERVICE_KEY}:${found.effect}, by which somebody has said that its machine is off: nothing runs there while it stands; take it away before the machine is switched on, or now if it is on`,
    command: `kubectl taint node ${name} ${OUT_OF_SERVICE_KEY}:${found.effect}-`,
  };
}
