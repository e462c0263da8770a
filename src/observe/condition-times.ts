/** Since when each node has had which condition, by our own clock: what others wrote may be old or wrong. */
import type { LiveNode, TroubleFacts } from '../api/release-view.ts';
import type { ConditionStatus } from '../api/view.ts';
import type { Clock } from '../clock.ts';

interface Condition {
  type: string;
  status: ConditionStatus;
}

type Timed = TroubleFacts['conditions'];

export class ConditionTimes {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Map<string, { status: string; sinceMs: number }>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({ name, conditions = [] }: LiveNode): Timed {
    return this.note(name, conditions);
  }

  /** What is seen of a node now, each with the time for which it has been so. */
  note(name: string, conditions: readonly Condition[]): Timed {
    if (conditions.length === 0) return [];
    const now = this.#clock.monotonic();
    const known = this.#seen.get(name) ?? new Map<string, { status: string; sinceMs: number }>();
    this.#seen.set(name, known);
    return conditions.map(({ type, status }) => {
      const before = known.get(type);
      const sinceMs = before?.status === status ? before.sinceMs : now;
      if (before?.status !== status) known.set(type, { status, sinceMs });
      return { type, status, forMs: now - sinceMs };
    });
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }
}
