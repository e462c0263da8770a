/**
 * Who was in which storm by what this process has decided. The records say so too, and across restarts; but anybody may delete a
 * record, which says nothing of the switch that its node is behind.
 */
import type { StormSign } from '../api/storm-sign.ts';

/** So long after its end it is on record at most. */
const keptMs = 24 * 3_600_000;

export class StormMemory {
  /** By node: the last one, and when it was so. */
  readonly #known = new Map<string, { sign: StormSign; seenMs: number }>();

  /** In the tick of the decision. `sign`: as its record has it by that; undefined: it says nothing of a storm. */
  note(node: string, sign: StormSign | undefined, nowMs: number): void {
    const before = this.#known.get(node)?.sign;
    // What went on is over where the decision does not say so again.
    const now = sign ?? (before && { endedMs: nowMs, ...before });
    if (now !== undefined) this.#known.set(node, { sign: now, seenMs: nowMs });
  }

  signs(nowMs: number): StormSign[] {
    for (const [node, { sign }] of this.#known) {
      if (sign.endedMs !== undefined && sign.endedMs < nowMs - keptMs) this.#known.delete(node);
    }
    return [...this.#known.values()].map(({ sign }) => sign);
  }

  /** Nobody is left to notice its end. */
  forget(node: string): void {
    const known = this.#known.get(node);
    if (known !== undefined) known.sign = { endedMs: known.seenMs, ...known.sign };
  }

  clear(): void {
    this.#known.clear();
  }
}
