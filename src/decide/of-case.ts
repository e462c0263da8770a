/** What ladder, fence and brake all read of a case. */
import type { NodeCase, RemedyFacts } from '../api/release-view.ts';
import type { TaskOutcome } from '../api/task.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { keyOf } from '../remedy/ladder.ts';

export function remedyOf({ policy }: NodeCase): RemedyFacts | undefined {
  return policy.kind === 'one' ? policy.policy.remedy : undefined;
}

/** How the try of this key is doing; undefined: this process has not begun it, or has dropped it. */
export function taskOf({ task }: NodeCase, key: string): { outcome: TaskOutcome; message?: string } | undefined {
  if (task?.key !== key || task.outcome === 'dropped') return undefined;
  return { ...task, outcome: task.outcome };
}

export function ladderKey(ladder: LadderState): string {
  return `ladder ${keyOf(ladder)}`;
}
