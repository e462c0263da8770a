/** Since when each node has had which condition, by our own clock: what others wrote may be old or wrong. */
import type { LiveNode, TroubleFacts } from '../api/release-view.ts';
import type { ConditionStatus } from '../api/view.ts';
import type { Clock } from '../clock.ts';

interface Condition {
  type: string;
  status: ConditionStatus;
}

interface Seen {
  status: string;
  sinceMs: number;
  /** It was so when we first looked: nobody knows since when. */
  isFirst: boolean;
}

type Timed = TroubleFacts['conditions'];

export class ConditionTimes {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Map<string, Seen>>();
  /** By type: nodes of which we have seen whether they have it. Those that nobody attends to are not forgotten here. */
  readonly #met = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of({ name, conditions = [] }: LiveNode): Timed {
    return this.note(name, conditions);
  }

  /** All that is looked for: what a node does not report now either is seen to begin, if it does. */
  look(name: string, types: Iterable<string>, conditions: readonly Condition[]): void {
    this.#note(name, conditions);
    for (const type of types) this.#meet(name, type);
  }

  /** What is seen of a node now, each with the time for which it has been so. */
  note(name: string, conditions: readonly Condition[]): Timed {
    const now = this.#clock.monotonic();
    return this.#note(name, conditions).map(({ type, status, sinceMs }) => ({ type, status, forMs: now - sinceMs }));
  }

  /**
   * The same for whoever counts how many are in trouble: what was so when we first looked, as after a change of leaders, may have
   * been so for long.
   */
  atMost(name: string, conditions: readonly Condition[]): Timed {
    const now = this.#clock.monotonic();
    return this.#note(name, conditions).map(({ type, status, sinceMs, isFirst }) => ({
      type,
      status,
      forMs: isFirst ? Infinity : now - sinceMs,
    }));
  }

  forget(name: string): void {
    this.#seen.delete(name);
  }

  /** Its Node is gone: whoever has its name next is seen for the first time. */
  gone(name: string): void {
    this.forget(name);
    for (const [type, met] of this.#met) {
      met.delete(name);
      if (met.size === 0) this.#met.delete(type);
    }
  }

  #note(name: string, conditions: readonly Condition[]): (Seen & Condition)[] {
    if (conditions.length === 0) return [];
    const known = this.#seen.get(name) ?? new Map<string, Seen>();
    this.#seen.set(name, known);
    return conditions.map(({ type, status }) => {
      const before = known.get(type);
      const isFirst = this.#meet(name, type);
      const seen = before?.status === status ? before : { status, sinceMs: this.#clock.monotonic(), isFirst };
      known.set(type, seen);
      return { ...seen, type, status };
    });
  }

  #meet(name: string, type: string): boolean {
    const met = this.#met.get(type) ?? new Set();
    this.#met.set(type, met);
    const isFirst = !met.has(name);
    met.add(name);
    return isFirst;
  }
}
