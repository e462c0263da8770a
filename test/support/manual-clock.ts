/** A clock that stands still until a test moves it. */
import type { Clock } from '../../src/clock.ts';

export interface ManualClock extends Clock {
  /** Moves both clocks and runs what has become due, in order. */
  advance(ms: number): void;
}

export function manualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsedMs = 0;
  const due: { at: number; callback: () => void }[] = [];
  return {
    now: () => startMs + elapsedMs,
    monotonic: () => elapsedMs,
    after(delayMs, callback) {
      const entry = { at: elapsedMs + delayMs, callback };
      due.push(entry);
      return () => void (due.includes(entry) && due.splice(due.indexOf(entry), 1));
    },
    advance(ms) {
      elapsedMs += ms;
      for (;;) {
        const [next] = due.filter((entry) => entry.at <= elapsedMs).sort((a, b) => a.at - b.at);
        if (!next) return;
        due.splice(due.indexOf(next), 1);
        next.callback();
      }
    },
  };
}
