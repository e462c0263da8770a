/**
 * Copies under way. The network of a node carries so much and no more: those that come from it or go to it share it
 * evenly, and a copy is as fast as the busier of its two ends lets it be.
 */
import type { Clock } from '../../clock.ts';

export interface Rebuild {
  source: string;
  target: string;
  onDone: () => void;
}

interface Running extends Rebuild {
  leftBytes: number;
  bytesPerMs: number;
}

export class Rebuilds {
  readonly #clock: Clock;
  readonly #bytesPerMs: number;
  readonly #running = new Set<Running>();
  #since = 0;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock, bytesPerSecond: number) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** The answer cancels it. */
  start(rebuild: Rebuild, bytes: number): () => void {
    this.#advance();
    const running: Running = { ...rebuild, leftBytes: bytes, bytesPerMs: 0 };
    this.#running.add(running);
    this.#share();
    return () => {
      this.#advance();
      if (this.#running.delete(running)) this.#share();
    };
  }

  stop(): void {
    this.#running.clear();
    this.#cancelTimer();
  }

  #advance(): void {
    const now = this.#clock.monotonic();
    for (const running of this.#running) running.leftBytes -= running.bytesPerMs * (now - this.#since);
    this.#since = now;
  }

  #share(): void {
    this.#cancelTimer();
    const users = new Map<string, number>();
    for (const { source, target } of this.#running) {
      for (const end of new Set([source, target])) users.set(end, (users.get(end) ?? 0) + 1);
    }
    let nextMs = Infinity;
    for (const running of this.#running) {
      const busiest = Math.max(users.get(running.source) ?? 1, users.get(running.target) ?? 1);
      running.bytesPerMs = this.#bytesPerMs / busiest;
      nextMs = Math.min(nextMs, Math.max(0, running.leftBytes) / running.bytesPerMs);
    }
    if (nextMs < Infinity) this.#cancelTimer = this.#clock.after(Math.ceil(nextMs), () => this.#finish());
  }

  #finish(): void {
    this.#advance();
    const done = [...this.#running].filter(({ leftBytes }) => leftBytes <= 0);
    for (const running of done) this.#running.delete(running);
    this.#share();
    for (const { onDone } of done) onDone();
  }
}
