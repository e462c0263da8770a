/** How what takes its time is doing, as a case has it. */

/** How a try is doing. `unknown` is neither: it is tried again, and never taken for done. */
export type TaskOutcome = 'running' | 'succeeded' | 'failed' | 'unknown';

/** A try of this process. `dropped`: nothing more was done, because what it rested on is not so any more. */
export interface TaskSign {
  key: string;
  outcome: TaskOutcome | 'dropped';
  message?: string;
  /** A device may have been told something, in it or in an earlier one; absent: it is not about a device, or nobody knows. */
  told?: boolean;
}
