/** How the devices of a node answered when they were asked whether it could be fenced. */
import type { UNFENCEABLE } from './reasons.ts';

export type CheckReason = keyof (typeof UNFENCEABLE)['reason'];

export interface NodeCheck {
  node: string;
  /** Absent: it could be fenced. */
  problem?: {
    reason: CheckReason;
    message: string;
    /** It has said off under a node that seems to live: so does one whose machine has just lost its power. */
    mayPass?: true;
  };
}
