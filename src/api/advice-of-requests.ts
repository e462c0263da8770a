/** What becomes of a fence that somebody has asked for, and what that person can do about it. */
import type { AdviceFor } from './advice.ts';
import { COMMANDS as c } from './advice.ts';
import type { REQUESTED } from './reasons.ts';

export const REQUESTED_ADVICE: AdviceFor<typeof REQUESTED> = {
  TakenUp: {
    ends: 'it is begun; if nothing is begun in time, it lapses',
    can: [c.withdraw, c.explain],
  },
  TimeUnreadable: { ends: 'it is asked for again', can: [c.fence] },
  InTheFuture: { ends: 'it is asked for again, by a clock that is right', can: [c.fence] },
  Restored: { ends: 'it is asked for again', can: [c.fence] },
  TooOld: { ends: 'it is asked for again', can: [c.leader, c.fence] },
  ModeDoesNotAct: { ends: 'the policy acts, and it is asked for again', can: [c.enforce, c.fence] },
  PausedForAll: { ends: 'the pause is over, and it is asked for again', can: [c.endPause, c.fence] },
  Stopped: { ends: 'it is resumed, and asked for again', can: [c.resume, c.fence] },
  Maintenance: { ends: 'the maintenance is over, and it is asked for again', can: [c.maintenanceOver, c.fence] },
  Forbidden: {
    ends: 'the operator is started without that --forbid, or a policy that does without it selects the node, and it is asked for again',
    can: [c.leader, c.fence],
  },
  NoPolicy: { ends: 'it is asked for again, in so many words', can: [c.fenceAnyway] },
  ConfigurationInvalid: { ends: 'the configuration is corrected, and it is asked for again', can: [c.check, c.fence] },
  OtherNode: { ends: 'it is asked for again', can: [c.fence] },
  NodeIsBack: { ends: 'it is asked for again, of the node as it is now', can: [c.explain, c.fence] },
};
