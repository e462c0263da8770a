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
