/** Durations as fields of our objects. */
import { z } from 'zod';
import { FORM, LONGER_THAN_NOTHING, parseDuration } from './duration.ts';
import { celString, withRules, type Rule } from './rules.ts';

const MAX_LENGTH = 24;

/** By this message the reference recognises a duration. */
export const DURATION_HINT = 'write a number with its unit, h, m, s or ms, such as 90s, 5m, 1h30m or 1.5h';

const written: Rule<string> = {
  cel: `self.matches(${celString(FORM.source)})`,
  message: DURATION_HINT,
  holds: (text) => parseDuration(text) !== undefined,
};

const positive: Rule<string> = {
  // A text that is no duration is the other rule's business; refusing it here would only add a second, worse message.
  cel: `!self.matches(${celString(FORM.source)}) || self.matches(${celString(LONGER_THAN_NOTHING.source)})`,
  message: 'must be longer than nothing: write for instance 5s',
  holds: (text) => parseDuration(text) !== 0,
};

const notHasty: Rule<string> = {
  cel: `!self.matches(${celString(FORM.source)}) || duration(self) >= duration('1s')`,
  message: 'must be at least 1s',
  holds: (text) => (parseDuration(text) ?? Infinity) >= 1000,
};

/** How often something is done that costs somebody else something. */
export function interval() {
  return withRules(z.string().max(MAX_LENGTH), [written, notHasty]).brand<'Duration'>();
}

/** A duration that may be `0s`, which means "at once". */
export function duration() {
  return withRules(z.string().max(MAX_LENGTH), [written]).brand<'Duration'>();
}

/** A duration for which "at once" would make no sense. */
export function positiveDuration() {
  return withRules(z.string().max(MAX_LENGTH), [written, positive]).brand<'Duration'>();
}
