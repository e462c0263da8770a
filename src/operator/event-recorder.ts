/** Events as this instance writes them. */
import type { EventRecorderOptions } from '../kube/events.ts';
import { EventRecorder } from '../kube/events.ts';
import type { Log } from '../report/log.ts';

export function recorderFor(
  base: Pick<EventRecorderOptions, 'client' | 'clock' | 'random'>,
  { identity, log }: { identity: string; log: Pick<Log, 'warn'> },
): EventRecorder {
  return new EventRecorder({
    ...base,
    reportingController: 'fenceline.dev/operator',
    reportingInstance: identity,
    onProblem: (problem) => log.warn({ problem: problem.kind }, 'events'),
  });
}
