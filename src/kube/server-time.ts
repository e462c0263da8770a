/**
 * The API server's clock, as far as its answers tell. A Date is whole seconds and was true when the answer left, so each
 * is a lower bound; the best of them tells when a later moment will have come. For waiting only: what is decided rests
 * on the Date of the very answer that it is about.
 */
import type { Clock } from '../clock.ts';

export class ServerTime {
  readonly #clock: Clock;
  #offsetMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(dateMs: number): void {
    this.#offsetMs = Math.max(this.#offsetMs, dateMs - this.#clock.monotonic());
  }

  /** How long until its clock shows `atMs`, after an answer dated `dateMs` has shown that it does not yet. */
  until(atMs: number, dateMs: number): number {
    const waitMs = atMs - (this.#clock.monotonic() + this.#offsetMs);
    if (waitMs > 0) return waitMs;
    // It should have come by now: the clock was set back, or another server answers.
    this.#offsetMs = dateMs - this.#clock.monotonic();
    return Math.max(100, atMs - dateMs);
  }
}
