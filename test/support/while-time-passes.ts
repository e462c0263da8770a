import type { ManualClock } from './manual-clock.ts';

/** Moves the clock on until the work has ended, and answers with what it came to. */
export async function whileTimePasses<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  const state = { ended: false };
  const ended = work.finally(() => (state.ended = true));
  ended.catch(() => {});
  for (let round = 0; round < 2000 && !state.ended; round += 1) {
    await new Promise(setImmediate);
    clock.advance(500);
  }
  return ended;
}
