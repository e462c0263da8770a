/**
 * How long a kubelet waits before it starts a container again that has ended: not at all the first time, then ten
 * seconds, twice as long each time, at most five minutes; from the beginning after ten minutes without. It is kept in
 * memory: a kubelet that starts anew has forgotten it.
 */
const firstMs = 10_000;
const mostMs = 300_000;

export class BackOff {
  #lengthMs: number | undefined;
  #changedAt = 0;

  /** What is left of it, for a container that ended at `endedAt`. */
  waitMs(endedAt: number, now: number): number {
    if (this.#lengthMs === undefined || this.#isOver(endedAt)) return 0;
    return Math.max(0, endedAt + this.#lengthMs - now);
  }

  /** The container that ended at `endedAt` is started again. */
  started(endedAt: number, now: number): void {
    const again = this.#lengthMs !== undefined && !this.#isOver(endedAt);
    this.#lengthMs = again ? Math.min(mostMs, (this.#lengthMs ?? firstMs) * 2) : firstMs;
    this.#changedAt = now;
  }

  /** In the words of the stock kubelet. */
  get text(): string {
    const seconds = (this.#lengthMs ?? 0) / 1000;
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  }

  #isOver(endedAt: number): boolean {
    return endedAt - this.#changedAt > 2 * mostMs;
  }
}
