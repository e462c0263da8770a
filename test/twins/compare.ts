/** Says exactly where two histories part. */
import type { Entry, History } from './history.ts';

export interface Divergence {
  id: string;
  /** Which of its states it is, from 0. */
  at: number;
  /** How many steps had been taken by then. */
  step: number;
  /** The state before, in which they still agree. */
  after: string | undefined;
  /** Undefined: there it has no further state. */
  expected: string | undefined;
  actual: string | undefined;
}

/** One for each thing whose histories differ, the earliest first. */
export function compare(expected: History, actual: History): Divergence[] {
  const ids = new Set([...expected.keys(), ...actual.keys()]);
  return [...ids]
    .flatMap((id) => differenceOf(id, expected.get(id) ?? [], actual.get(id) ?? []) ?? [])
    .sort((a, b) => a.step - b.step || (a.id < b.id ? -1 : 1));
}

function differenceOf(id: string, expected: readonly Entry[], actual: readonly Entry[]): Divergence | undefined {
  for (let at = 0; at < Math.max(expected.length, actual.length); at += 1) {
    const [one, other] = [expected[at], actual[at]];
    if (one !== undefined && other !== undefined && one.state === other.state && one.step === other.step) continue;
    return {
      id,
      at,
      step: Math.min(one?.step ?? Infinity, other?.step ?? Infinity),
      after: expected[at - 1]?.state,
      expected: one && shown(one),
      actual: other && shown(other),
    };
  }
  return undefined;
}

function shown({ step, state }: Entry): string {
  return `${state} [step ${step}]`;
}

export function describeDivergence({ id, at, after, expected, actual }: Divergence, names: [string, string]): string {
  const nothing = 'nothing more';
  const since = after === undefined ? '' : ` after "${after}"`;
  return `${id}, state ${at + 1}${since}: ${names[0]}: ${expected ?? nothing}; ${names[1]}: ${actual ?? nothing}`;
}
