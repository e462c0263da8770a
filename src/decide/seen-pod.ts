/** A pod as a decision counts on it, to be found so by a live read before something rests on it that cannot be taken back. */
import { isOver } from '../api/facts.ts';
import type { PodFacts } from '../api/release-view.ts';
import type { SeenPod } from '../api/steps.ts';

export function seenPod(pod: PodFacts): SeenPod {
  return { uid: pod.uid, isInService: pod.deletionAtMs === undefined && !isOver(pod) };
}
