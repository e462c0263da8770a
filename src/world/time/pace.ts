/**
 * Simulated time that follows real time, as fast as is wished. Whatever is due runs in its order and to its end before the next, so that
 * nobody in the cluster is ever late: a machine that is busy, at whatever rate, makes time slower for all of them alike, and never lets a
 * Lease go stale that its kubelet was about to renew. A clock that merely ran faster would: at sixty, a fifth of a second is twelve.
 */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import type { VirtualClock } from './virtual-clock.ts';

const stepMs = 20;
/** What was longer than that was no time for the cluster: a laptop was closed, or a process was stopped. */
const mostMs = 500;

export interface PaceOptions {
  real: Clock;
  time: VirtualClock;
  /** How many seconds of it pass in one. */
  rate: () => number;
}

export async function pass({ real, time, rate }: PaceOptions, signal: AbortSignal): Promise<void> {
  let lastMs = real.monotonic();
  while (!signal.aborted) {
    await sleep(real, stepMs, signal);
    const nowMs = real.monotonic();
    await time.runFor(Math.min(nowMs - lastMs, mostMs) * rate());
    lastMs = nowMs;
  }
}
