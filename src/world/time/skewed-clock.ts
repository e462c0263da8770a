/** A clock that is wrong: it shows another time, or runs faster or slower than the one it is derived from. */
import type { Clock } from '../../clock.ts';

export class SkewedClock implements Clock {
  readonly #base: Clock;
  /** Where both clocks stood when the rate was last set. */
  #from: { baseMs: number; ownMs: number };
  #rate = 1;
  #wallOffsetMs: number;

  constructor(base: Clock, options: { byMs?: number; rate?: number } = {}) {
    this.#base = base;
    const baseMs = base.monotonic();
    this.#from = { baseMs, ownMs: baseMs };
    // The wall clock is kept as its distance from the monotonic one, so that a wrong rate makes it drift too.
    this.#wallOffsetMs = base.now() - baseMs + (options.byMs ?? 0);
    this.#rate = checkedRate(options.rate ?? 1);
  }

  now(): number {
    return Math.floor(this.monotonic() + this.#wallOffsetMs);
  }

  monotonic(): number {
    return this.#from.ownMs + (this.#base.monotonic() - this.#from.baseMs) * this.#rate;
  }

  /** Timers under way keep the length that the rate gave them when they were set. */
  after(delayMs: number, callback: () => void): () => void {
    return this.#base.after(delayMs / this.#rate, callback);
  }

  /** Sets the wall clock forward, or back where negative. The monotonic clock never jumps. */
  jump(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  setRate(rate: number): void {
    this.#from = { baseMs: this.#base.monotonic(), ownMs: this.monotonic() };
    this.#rate = checkedRate(rate);
  }
}

function checkedRate(rate: number): number {
  if (!(rate > 0)) throw new RangeError(`a clock cannot run at the rate ${rate}`);
  return rate;
}
