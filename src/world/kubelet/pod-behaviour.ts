/**
 * How pods behave that nobody says anything else about: they run until they are stopped. The pods of remedies do their
 * work and end, and any pod may say of itself when and how it ends and how long it takes to stop, for want of a program
 * that would.
 */
import type { Pod } from '../objects/pods.ts';
import type { PodBehaviour } from './pod-worker.ts';

const remedyLabel = 'fenceline.dev/remedied-node-uid';
const runsForAnnotation = 'simulation.fenceline.dev/runs-for-seconds';
const exitCodeAnnotation = 'simulation.fenceline.dev/exit-code';
const stopsAfterAnnotation = 'simulation.fenceline.dev/stops-after-seconds';

const steady: PodBehaviour = { startupMs: 100, stopMs: 500 };
const remedySeconds = 5;

export function behaviourOf({ metadata }: Pod): PodBehaviour {
  const { labels = {}, annotations = {} } = metadata;
  const stops = Number(annotations[stopsAfterAnnotation]);
  const usual = stops > 0 ? { ...steady, stopMs: stops * 1000 } : steady;
  const said = Number(annotations[runsForAnnotation]);
  const seconds = said > 0 ? said : labels[remedyLabel] === undefined ? undefined : remedySeconds;
  if (seconds === undefined) return usual;
  return { ...usual, exit: { afterMs: seconds * 1000, code: Number(annotations[exitCodeAnnotation] ?? 0) } };
}
