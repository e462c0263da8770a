/**
 * Time that passes only when it is told to. Timers run in the order of their time, those of one moment in the order in
 * which they were made, and everything that a timer sets off has come to rest before the next one runs. Nothing in the
 * simulator waits for anything but timers and promises, so the same start gives the same history, however fast the
 * machine is.
 */
import type { Clock } from '../../clock.ts';

export interface VirtualClockOptions {
  /** Wall time at the start. */
  epochMs?: number;
  /**
   * Resolves when all promise work is done. By default one turn of the event loop: it begins only when no microtask is
   * left, whoever queued it, and nothing here waits for real input or output.
   */
  settle?: () => Promise<void>;
}

interface Timer {
  at: number;
  order: number;
  callback: (() => void) | undefined;
}

/** Far more than any cluster needs: two parties that answer each other without any delay would keep it from moving on. */
const mostInAMoment = 100_000;
const defaultEpochMs = Date.UTC(2026, 0, 1);
/** Fewer cancelled timers are not worth a pass over all. */
const sweepAbove = 1024;

export class VirtualClock implements Clock {
  readonly #epochMs: number;
  readonly #settle: () => Promise<void>;
  readonly #heap = new TimerHeap();
  #elapsedMs = 0;
  #made = 0;
  #cancelled = 0;
  #running = false;
  #ran = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#epochMs = options.epochMs ?? defaultEpochMs;
    this.#settle = options.settle ?? nextTurn;
  }

  now(): number {
    // Whole milliseconds, as every wall clock that the API can write down.
    return this.#epochMs + Math.floor(this.#elapsedMs);
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    if (Number.isNaN(delayMs)) throw new RangeError('a timer without a time');
    this.#made += 1;
    const timer: Timer = { at: this.#elapsedMs + Math.max(0, delayMs), order: this.#made, callback };
    this.#heap.push(timer);
    return () => {
      if (timer.callback === undefined) return;
      timer.callback = undefined;
      this.#cancelled += 1;
      if (this.#cancelled > sweepAbove && this.#cancelled * 2 > this.#heap.size) this.#sweep();
    };
  }

  /** How many timers have run, for those who measure. */
  get timersRun(): number {
    return this.#ran;
  }

  /** How many timers wait. */
  get pending(): number {
    return this.#heap.size - this.#cancelled;
  }

  /** When the next timer is due; undefined when none waits. */
  get nextAt(): number | undefined {
    for (;;) {
      const next = this.#heap.first;
      if (next === undefined || next.callback !== undefined) return next?.at;
      this.#heap.pop();
      this.#cancelled -= 1;
    }
  }

  runFor(durationMs: number): Promise<void> {
    return this.runUntil(this.#elapsedMs + durationMs);
  }

  /**
   * Runs everything due up to and including `untilMs` of the monotonic clock, which it then shows. `onMoment` is called
   * when all work of a moment is done, before time moves on; `true` ends the run there.
   */
  async runUntil(untilMs: number, onMoment?: () => boolean | void): Promise<void> {
    if (this.#running) throw new Error('time passes already');
    this.#running = true;
    let ranNow = 0;
    try {
      await this.#settle();
      for (let at = this.nextAt; ; at = this.nextAt) {
        if (at === undefined || at > this.#elapsedMs) {
          if (onMoment?.() === true) return;
          if (at === undefined || at > untilMs) break;
          this.#elapsedMs = at;
          ranNow = 0;
        }
        ranNow += 1;
        if (ranNow > mostInAMoment) throw new Error(`time stands still at ${this.#elapsedMs} ms: something has no end`);
        this.#runFirst();
        await this.#settle();
      }
      if (this.#elapsedMs < untilMs) {
        this.#elapsedMs = untilMs;
        onMoment?.();
      }
    } finally {
      this.#running = false;
    }
  }

  #runFirst(): void {
    const timer = this.#heap.pop();
    const callback = timer?.callback;
    if (timer !== undefined) timer.callback = undefined;
    this.#ran += 1;
    callback?.();
  }

  /** Calls that ended in time leave their timeouts behind; most timers are never due. */
  #sweep(): void {
    this.#heap.keep((timer) => timer.callback !== undefined);
    this.#cancelled = 0;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** A binary heap, the next timer first. */
class TimerHeap {
  #timers: Timer[] = [];

  get size(): number {
    return this.#timers.length;
  }

  get first(): Timer | undefined {
    return this.#timers[0];
  }

  push(timer: Timer): void {
    const timers = this.#timers;
    let at = timers.length;
    timers.push(timer);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = timers[up];
      if (parent === undefined || !before(timer, parent)) break;
      timers[at] = parent;
      at = up;
    }
    timers[at] = timer;
  }

  pop(): Timer | undefined {
    const [first] = this.#timers;
    const last = this.#timers.pop();
    if (last !== undefined && this.#timers.length > 0) this.#sink(last);
    return first;
  }

  keep(wanted: (timer: Timer) => boolean): void {
    // A sorted array is a heap.
    this.#timers = this.#timers.filter(wanted).sort((a, b) => (before(a, b) ? -1 : 1));
  }

  #sink(timer: Timer): void {
    const timers = this.#timers;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let lower = timers[child];
      const right = timers[child + 1];
      if (lower === undefined) break;
      if (right !== undefined && before(right, lower)) {
        child += 1;
        lower = right;
      }
      if (!before(lower, timer)) break;
      timers[at] = lower;
      at = child;
    }
    timers[at] = timer;
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
