import type { Clock } from '../../clock.ts';

/**
 * One piece of work that is looked at again whenever something changed: never twice at the same time, and never missing
 * a change that came while it was busy. `step` answers after how long to look again by itself, or undefined.
 */
export class LevelLoop {
  readonly #clock: Clock;
  readonly #step: () => Promise<number | undefined>;
  #busy = false;
  #again = false;
  #stopped = false;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock, step: () => Promise<number | undefined>) {
    this.#clock = clock;
    this.#step = step;
  }

  kick(): void {
    this.#again = true;
    if (!this.#busy && !this.#stopped) void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    let nextMs: number | undefined;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      this.#cancelTimer();
      nextMs = await this.#step();
    }
    this.#busy = false;
    if (nextMs !== undefined && !this.#stopped) this.#cancelTimer = this.#clock.after(nextMs, () => this.kick());
  }
}
