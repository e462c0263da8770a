/**
 * One loop keyed by node. The queue holds names, never events: whoever is called looks at the present state. Keys run
 * side by side, so that a node whose work takes long delays no other (S27); one key never runs twice at a time.
 */
import type { Clock } from '../clock.ts';

export interface KeyedLoopOptions {
  clock: Clock;
  /** How many keys may be worked on at a time. */
  concurrency: number;
  /** Answers when to come back, in milliseconds; undefined: when somebody asks. What it throws ends `run`. */
  work: (key: string) => Promise<number | undefined>;
}

export class KeyedLoop {
  readonly #options: KeyedLoopOptions;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, () => void>();
  #open = false;
  #settle: PromiseWithResolvers<void> = Promise.withResolvers<void>();

  constructor(options: KeyedLoopOptions) {
    this.#options = options;
  }

  /** Works until `signal` fires and what is under way has ended. Whatever was asked before is forgotten. */
  async run(signal: AbortSignal, keys: Iterable<string>): Promise<void> {
    this.#settle = Promise.withResolvers<void>();
    this.#open = !signal.aborted;
    const close = (): void => {
      this.#open = false;
      for (const cancel of this.#timers.values()) cancel();
      this.#timers.clear();
      this.#ready.clear();
      this.#again.clear();
      if (this.#running.size === 0) this.#settle.resolve();
    };
    signal.addEventListener('abort', close, { once: true });
    for (const key of keys) this.#ready.add(key);
    if (signal.aborted) close();
    this.#pump();
    try {
      await this.#settle.promise;
    } finally {
      signal.removeEventListener('abort', close);
      close();
    }
  }

  /** Asks for `key` to be looked at as soon as possible; ignored while the loop does not run. */
  add(key: string): void {
    if (!this.#open) return;
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#pump();
  }

  #pump(): void {
    for (const key of this.#ready) {
      if (!this.#open || this.#running.size >= this.#options.concurrency) return;
      this.#ready.delete(key);
      void this.#one(key);
    }
  }

  async #one(key: string): Promise<void> {
    this.#running.add(key);
    this.#cancelTimer(key);
    try {
      const delayMs = await this.#options.work(key);
      if (this.#open && delayMs !== undefined) this.#schedule(key, delayMs);
    } catch (error) {
      this.#settle.reject(error);
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.add(key);
    if (!this.#open && this.#running.size === 0) this.#settle.resolve();
    this.#pump();
  }

  #schedule(key: string, delayMs: number): void {
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, cancel);
  }

  #cancelTimer(key: string): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
  }
}
