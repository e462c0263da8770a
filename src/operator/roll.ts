/**
 * Everybody there is, as they are seen: made once for a decision, whatever it asks of all of them. Where there are many, a first look
 * may be by what was seen a moment ago: thousands of nodes in trouble would have thousands looked at for each of them. Whatever comes
 * of a decision is decided by everybody as they are then, but for a node whose pods nobody has read: all that comes of that is why
 * nothing is done there.
 */
import type { LeaseSign } from '../api/release-view.ts';
import type { NodeFacts } from '../api/view.ts';
import type { Clock } from '../clock.ts';
import type { Observer } from '../observe/observer.ts';

export interface Listed {
  name: string;
  node?: NodeFacts | undefined;
  /** When the API server says that its Node was made; NaN: it does not. */
  madeMs: number;
  lease?: LeaseSign | undefined;
  /** By our own clock: when its Lease was renewed, at the latest; absent: nobody has seen it renewed. */
  renewedAtMs?: number;
}

/** By what was seen at that very moment, or not longer ago than `latelyMs`. */
export type Age = 'now' | 'lately';

/** Who is only told why nothing is done waits for longer than this between two looks. */
export const latelyMs = 1000;
/** Fewer are looked at in no time. */
const many = 500;

export class Roll {
  readonly #observer: Observer;
  readonly #clock: Clock;
  #recent: { all: readonly Listed[]; atMs: number } | undefined;

  constructor({ observer, clock }: { observer: Observer; clock: Clock }) {
    this.#observer = observer;
    this.#clock = clock;
  }

  get isLong(): boolean {
    return this.#observer.nodeCount >= many;
  }

  of(age: Age): readonly Listed[] {
    const nowMs = this.#clock.monotonic();
    if (age === 'now') return this.#now(nowMs);
    if (this.#recent === undefined || nowMs - this.#recent.atMs >= latelyMs) {
      this.#recent = { all: this.#now(nowMs), atMs: nowMs };
    }
    return this.#recent.all;
  }

  #now(nowMs: number): Listed[] {
    const observer = this.#observer;
    return [...observer.nodeNames].map((name) => {
      const renewedForMs = observer.renewedForMs(name);
      const node = observer.nodeOf(name);
      return {
        name,
        node,
        madeMs: Date.parse(node?.createdAt ?? ''),
        lease: observer.leaseSign(name),
        ...(renewedForMs === undefined ? {} : { renewedAtMs: nowMs - renewedForMs }),
      };
    });
  }
}
