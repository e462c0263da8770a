/** How what takes its time is doing, as a case has it. */

import type { DeedOutcome } from './deed-names.ts';

/** How a try is doing. `unknown` is neither: it is tried again, and never taken for done. */
export type TaskOutcome = 'running' | 'succeeded' | 'failed' | 'unknown';

/** A try of this process. `dropped`: nothing more was done, because what it rested on is not so any more. */
export interface TaskSign {
  key: string;
  outcome: TaskOutcome | 'dropped';
  message?: string;
  /** A device may have been told something, in it or in an earlier one; absent: it is not about a device, or nobody knows. */
  told?: boolean;
  /** What was switched off says on since, and how: somebody has switched it on. Absent: off was its last word. */
  onAgain?: string;
}

export interface Begun {
  /** What came of what was done at once in the pass before, as far as this process did it. */
  outcomes?: readonly DeedOutcome[];
  /** What this process has begun about the node last, and how it is doing. */
  task?: TaskSign;
  /** The command that this process has put on record, and has not sent, as `commandKey` names it. */
  unsent?: string;
}

/** A command by what is on record of it: two of them may be recorded in the same second. */
export function commandKey(method: string, recordedAt: string): string {
  return `${method} ${Date.parse(recordedAt)}`;
}
