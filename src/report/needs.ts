/** What waits for a person: of all that waits, what nothing ends by itself. From the same value as an explanation. */
import { ALARM, DRAINING, FENCED, HELD, UNFENCEABLE, WRONG } from '../api/reasons.ts';
import type { Command } from '../api/advice.ts';
import { waitsOf } from './explain-waits.ts';
import type { Known } from './explanation.ts';

export interface Need {
  node: string;
  reason: string;
  message: string;
  since?: string;
  ends: string;
  /** What to do about it first. */
  command?: Command;
  /** It keeps what ran there from coming back, now; absent: it would, in the next outage. */
  isUrgent?: true;
}

const urgent: ReadonlySet<string> = new Set([
  HELD.reason.AwaitingApproval,
  HELD.reason.ReleaseRefused,
  HELD.reason.TooManyActs,
  FENCED.reason.FenceFailed,
  FENCED.reason.OutletsSwapped,
  ALARM.reason.LadderExhausted,
  ALARM.reason.FenceInError,
  ALARM.reason.OutletsSwapped,
  ALARM.reason.NeverOff,
  ALARM.reason.TooManyActs,
]);

const forPeople: ReadonlySet<string> = new Set([
  ...urgent,
  HELD.reason.Stopped,
  HELD.reason.Paused,
  ALARM.reason.RepeatedTrouble,
  DRAINING.reason.NowhereToRebuild,
  ...Object.keys(UNFENCEABLE.reason),
  ...Object.keys(WRONG.reason),
]);

const holds: ReadonlySet<string> = new Set(Object.keys(HELD.reason));
const unfenceable: ReadonlySet<string> = new Set(Object.keys(UNFENCEABLE.reason));

export function needsOf(known: Known): Need[] {
  const isOpen = known.record?.status.incident !== undefined;
  return (
    waitsOf(known)
      .filter(({ wait }) => forPeople.has(wait.reason))
      // What a check found of a machine that was just failing is out of date: whether it can be fenced is being found out.
      .filter(({ wait }) => !isOpen || !unfenceable.has(wait.reason))
      // What is held waits in several ways for the same: it is asked of a person once.
      .filter(
        ({ wait }, at, all) =>
          !holds.has(wait.reason) || all.findIndex((one) => one.wait.reason === wait.reason) === at,
      )
      .map(({ wait: { reason, message, since, ends }, commands: [command] }) => ({
        node: known.node,
        reason,
        message,
        ...(since === undefined ? {} : { since }),
        ends,
        ...(command === undefined ? {} : { command }),
        ...(urgent.has(reason) || (isOpen && reason === HELD.reason.Stopped) ? { isUrgent: true } : {}),
      }))
  );
}
