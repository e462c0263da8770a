/**
 * S16: the view never goes back in time. Seen from the wire: whoever has watched a collection up to a version and then
 * asks to watch it from an earlier one has taken over an older state. Lists alone say nothing: they may be refused.
 *
 * An operator may watch a collection more than once, each watch for itself. One that begins goes on from one that has ended, and
 * is wrong where all of those had come further.
 */
import { compareVersions } from '../../kube/resource-version.ts';
import type { CheckContext, Checker, Invariant, WireEvent } from './checker.ts';

export const s16: Invariant = { id: 'S16', check: (context) => new NoGoingBack(context) };

interface Cursor {
  /** By operator and collection. */
  key: string;
  at: string;
}

class NoGoingBack implements Checker {
  readonly #violated: CheckContext['violated'];
  /** By operator and number of the watch. */
  readonly #open = new Map<string, Cursor>();
  readonly #ended = new Set<Cursor>();

  constructor({ violated }: CheckContext) {
    this.#violated = violated;
  }

  onWire(event: WireEvent): void {
    if (event.type === 'started') this.#forget(event.operator);
    if (!('watch' in event)) return;
    const id = `${event.operator} ${event.watch}`;
    const cursor = this.#open.get(id);
    if (event.type === 'watching') this.#open.set(id, this.#goOn(event));
    else if (event.type === 'delivered') {
      if (cursor !== undefined && compareVersions(event.version, cursor.at) > 0) cursor.at = event.version;
    } else if (cursor !== undefined) {
      this.#open.delete(id);
      this.#ended.add(cursor);
    }
  }

  #goOn({ operator, collection, from }: Extract<WireEvent, { type: 'watching' }>): Cursor {
    const key = `${operator} ${collection}`;
    const before = [...this.#ended].filter((cursor) => cursor.key === key);
    const [furthest] = before
      .filter(({ at }) => compareVersions(at, from) <= 0)
      .toSorted((a, b) => compareVersions(b.at, a.at));
    const [known] = before;
    if (furthest === undefined && known !== undefined) {
      this.#violated(`operator ${operator} knew ${collection} at ${known.at} and went back to ${from}`);
    }
    const taken = furthest ?? known;
    if (taken !== undefined) this.#ended.delete(taken);
    return { key, at: from };
  }

  /** A new process begins with what is there now. */
  #forget(operator: number): void {
    for (const cursor of this.#ended) if (cursor.key.startsWith(`${operator} `)) this.#ended.delete(cursor);
    for (const id of this.#open.keys()) if (id.startsWith(`${operator} `)) this.#open.delete(id);
  }
}
