/**
 * One term of leadership, and the only place that knows whether it still lasts.
 *
 * It ends by looking at the clocks, at the moment of asking. A timer alone would not do: a process that was stopped
 * wakes up with its answers first and its timers later, and would act in between as the leader that it no longer is
 * (S19). Time counts from the start of the last request that renewed the Lease: the server cannot have seen it earlier,
 * so everyone who waits for the Lease to run out waits longer than we lead.
 */
import type { Clock } from '../clock.ts';

/**
 * A moment on both clocks. The monotonic one may stand still while a virtual machine is suspended; the other jumps then.
 * A time that the one slept through while the other was set back over it is seen by neither.
 */
export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
}

export type TermEnd =
  /** The renew deadline passed. */
  | 'deadline'
  /** The Lease is gone or names another holder. */
  | 'deposed'
  /** The process was asked to stop. */
  | 'shutdown'
  /** It wants another one to lead. */
  | 'handedOver'
  /** It can do nothing as the leader. */
  | 'unable'
  /** What was to be done in this term failed. */
  | 'failed';

/** What the work of a term sees of it. */
export interface Term {
  /**
   * `leaseTransitions` of the Lease: grows with every change of holder, and stays when the same process leads again.
   * Somebody who deletes the Lease and every process that remembers it makes it start at 0 again, so that it orders
   * terms for people and logs; exclusion has to come from a compare-and-swap on the object that is written (S18).
   */
  readonly epoch: number;
  /** Fires when the term ends; late, if the process was stopped. Good for giving up, not for leave to act. */
  readonly signal: AbortSignal;
  /**
   * Ask immediately before every act, with nothing awaited in between. For a request that is `guard: term.isLeading`:
   * the transport then asks when all that takes time is done, and again before each repetition.
   */
  readonly isLeading: () => boolean;
}

export class LeaseTerm implements Term {
  readonly epoch: number;
  readonly #clock: Clock;
  readonly #renewDeadlineMs: number;
  readonly #controller = new AbortController();
  #renewedAt: Moment;
  #end: TermEnd | undefined;
  #cancelTimer: () => void = () => {};

  constructor(options: { epoch: number; clock: Clock; renewDeadlineMs: number; renewedAt: Moment }) {
    this.epoch = options.epoch;
    this.#clock = options.clock;
    this.#renewDeadlineMs = options.renewDeadlineMs;
    this.#renewedAt = options.renewedAt;
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Undefined as long as nobody noticed an end: ask `isLeading` first. */
  get ended(): TermEnd | undefined {
    return this.#end;
  }

  readonly isLeading = (): boolean => {
    if (this.#end === undefined && this.remainingMs() <= 0) this.end('deadline');
    return this.#end === undefined;
  };

  /** Until the renew deadline, by the clock that ran further. Also counts on after the term has ended otherwise. */
  remainingMs(): number {
    const now = momentOf(this.#clock);
    const elapsedMs = Math.max(now.monotonicMs - this.#renewedAt.monotonicMs, now.wallMs - this.#renewedAt.wallMs);
    return this.#renewDeadlineMs - elapsedMs;
  }

  /** A renewal that was asked for at `startedAt` has succeeded. It cannot bring back a term that is over by now. */
  renewed(startedAt: Moment): void {
    if (!this.isLeading()) return;
    this.#renewedAt = startedAt;
    this.#arm();
  }

  end(reason: TermEnd): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    this.#cancelTimer();
    this.#controller.abort();
  }

  #arm(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(Math.max(1, this.remainingMs()), () => {
      if (this.isLeading()) this.#arm();
    });
  }
}
