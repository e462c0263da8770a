/**
 * Time as an input. Nothing in the product reads a clock of its own: it is handed one, so that the same code runs in
 * real time and in the simulator's virtual time.
 */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May jump; never used to measure how long something took. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start. Goes on while the process is stopped. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`, or some weeks, if that is less; the answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** A timer of Node.js counts to this; one for longer than these 24 days would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, maxTimerMs));
    return () => clearTimeout(timer);
  },
};

/** Ends the signal of `work` after `limitMs`; the timer goes with the work. */
export async function within<T>(clock: Clock, limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const cancel = clock.after(limitMs, () => limit.abort());
  try {
    return await work(limit.signal);
  } finally {
    cancel();
  }
}

/** Waits `delayMs`, or less when `signal` fires; never rejects: the caller looks at its signal anyway. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** So many at a time, each as soon as there is room. */
export async function inTurns<T>(
  items: readonly T[],
  atATime: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: Math.min(atATime, queue.length) }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
    }),
  );
}

/**
 * So many times in a second for each who comes, and for so many of them: whoever comes more often, or when there are more, is put
 * off until the next second. Strangers cause no more than that, and what one of them does takes nothing from another.
 */
export class PerSecond {
  readonly #clock: Clock;
  readonly #limits: { each: number; comers: number };
  readonly #times = new Map<string, number>();
  #second = Number.NaN;

  constructor(clock: Clock, limits: { each: number; comers: number }) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether this time is one of them. */
  take(who: string): boolean {
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second !== this.#second) this.#times.clear();
    this.#second = second;
    const times = this.#times.get(who) ?? 0;
    if (times >= this.#limits.each) return false;
    if (times === 0 && this.#times.size >= this.#limits.comers) return false;
    this.#times.set(who, times + 1);
    return true;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#times.size;
  }
}
