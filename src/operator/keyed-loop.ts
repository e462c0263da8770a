/**
 * One loop keyed by node. The queue holds names, never events: whoever is called looks at the present state. Keys run
 * side by side, so that a node whose work takes long delays no other (S27); one key never runs twice at a time.
 */
import type { Clock } from '../clock.ts';

export interface KeyedLoopOptions {
  clock: Clock;
  /** How many keys may be worked on at a time. */
  concurrency: number;
  /** How many of those that do not come first. */
  ordinary: number;
  /** Whether something is being done about a key: it does not wait for those that are only looked at. */
  comesFirst: (key: string) => boolean;
  /** Answers when to come back; without any of that: when somebody asks. What it throws ends `run`. */
  work: (key: string, why: Why) => Promise<Again>;
}

/**
 * Why a key is looked at: somebody asks for it, it is its turn among those that wait or rest, something about it has changed, or
 * nothing has, and the time has come for which it was to come back.
 */
export type Why = 'asked' | 'turn' | 'heard' | 'timer';

export interface Again {
  /** In so many milliseconds. */
  inMs?: number | undefined;
  /** After so many at the earliest, when those have had their turn who wait for longer: nothing is due then. */
  idleMs?: number | undefined;
  /** When those have had their turn who have waited for longer; whatever is heard of it meanwhile, it keeps its place. */
  inTurn?: true;
}

/** However many keys wait for their turn, or rest because nothing happens to them, so many of them are looked at in a second. */
const turnsPerSecond = 25;
const idlePerSecond = 20;

export class KeyedLoop {
  readonly #options: KeyedLoopOptions;
  /** Those that come first, and the others. */
  readonly #first = new Set<string>();
  readonly #ready = new Set<string>();
  /** Those that are worked on, and whether they came first. */
  readonly #running = new Map<string, boolean>();
  /** Of those: who waits for something that is slow by itself, and takes nobody's place meanwhile. */
  readonly #aside = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, () => void>();
  /** Of those that are ready: why, if it is not that something about them has changed. */
  readonly #why = new Map<string, Why>();
  /** Those that wait for their turn, in its order. */
  readonly #queue = new Set<string>();
  /** When it is the turn of each key to which nothing happens. */
  readonly #idle = new Map<string, number>();
  #sweep: { atMs: number; cancel: () => void } | undefined;
  #sweptMs = -Infinity;
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
      this.#why.clear();
      this.#queue.clear();
      this.#idle.clear();
      this.#sweep?.cancel();
      this.#sweep = undefined;
      this.#first.clear();
      this.#ready.clear();
      this.#again.clear();
      if (this.#running.size === 0) this.#settle.resolve();
    };
    signal.addEventListener('abort', close, { once: true });
    for (const key of keys) {
      this.#ready.add(key);
      this.#why.set(key, 'heard');
    }
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
    this.#enqueue(key, 'asked');
  }

  /** The same for one that has changed: where there are many, it may take its turn. */
  hear(key: string): void {
    this.#enqueue(key, 'heard');
  }

  /** While `wait` lasts, `key` is worked on beside those that may be at a time. */
  async aside<Answer>(key: string, wait: Promise<Answer>): Promise<Answer> {
    this.#aside.add(key);
    this.#pump();
    try {
      return await wait;
    } finally {
      this.#aside.delete(key);
    }
  }

  #enqueue(key: string, why: Why): void {
    if (!this.#open) return;
    const before = this.#why.get(key);
    if (before === undefined || weights[why] > weights[before]) this.#why.set(key, why);
    if (this.#running.has(key)) this.#again.add(key);
    else if (this.#options.comesFirst(key)) this.#first.add(key);
    else this.#ready.add(key);
    this.#pump();
  }

  #pump(): void {
    const { concurrency, ordinary } = this.#options;
    for (const key of this.#first) {
      if (!this.#open || this.#busy().length >= concurrency) return;
      this.#first.delete(key);
      this.#ready.delete(key);
      void this.#one(key, true);
    }
    for (const key of this.#ready) {
      const busy = this.#busy();
      if (!this.#open || busy.length >= concurrency) return;
      if (busy.filter((isFirst) => !isFirst).length >= ordinary) return;
      this.#ready.delete(key);
      void this.#one(key, false);
    }
  }

  /** Who takes a place, by whether it came first. */
  #busy(): boolean[] {
    return [...this.#running].flatMap(([key, isFirst]) => (this.#aside.has(key) ? [] : [isFirst]));
  }

  async #one(key: string, isFirst: boolean): Promise<void> {
    this.#running.set(key, isFirst);
    this.#cancelTimer(key);
    this.#idle.delete(key);
    const why = this.#why.get(key) ?? 'heard';
    this.#why.delete(key);
    try {
      const { inMs, idleMs, inTurn } = await this.#options.work(key, why);
      if (inTurn === true) this.#queueUp(key);
      else this.#queue.delete(key);
      if (this.#open && inMs !== undefined) this.#schedule(key, inMs);
      if (this.#open && idleMs !== undefined) this.#rest(key, idleMs);
    } catch (error) {
      this.#settle.reject(error);
    }
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#enqueue(key, this.#why.get(key) ?? 'heard');
    if (!this.#open && this.#running.size === 0) this.#settle.resolve();
    this.#pump();
  }

  #schedule(key: string, delayMs: number): void {
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(key);
      this.#enqueue(key, 'timer');
    });
    this.#timers.set(key, cancel);
  }

  #queueUp(key: string): void {
    if (!this.#open) return;
    this.#queue.add(key);
    this.#sweepLater();
  }

  #rest(key: string, idleMs: number): void {
    const atMs = this.#options.clock.monotonic() + idleMs;
    this.#idle.set(key, atMs);
    if (this.#sweep === undefined || this.#sweep.atMs > atMs) this.#sweepLater();
  }

  /** Whoever has waited for longest is next, each a moment after the one before; who rests comes after those that wait. */
  #sweepLater(): void {
    const { clock } = this.#options;
    const next = this.#next();
    if (next === undefined) return;
    const atMs = Math.max(next.atMs, this.#sweptMs + 1000 / next.perSecond);
    if (this.#sweep !== undefined && this.#sweep.atMs <= atMs) return;
    this.#sweep?.cancel();
    const cancel = clock.after(Math.max(0, atMs - clock.monotonic()), () => this.#sweepNow());
    this.#sweep = { atMs, cancel };
  }

  #sweepNow(): void {
    this.#sweep = undefined;
    const nowMs = this.#options.clock.monotonic();
    const next = this.#next();
    if (next !== undefined && next.atMs <= nowMs) {
      this.#sweptMs = nowMs;
      this.#queue.delete(next.key);
      this.#idle.delete(next.key);
      this.#enqueue(next.key, 'turn');
    }
    this.#sweepLater();
  }

  #next(): { key: string; atMs: number; perSecond: number } | undefined {
    for (const key of this.#queue) return { key, atMs: -Infinity, perSecond: turnsPerSecond };
    const idle = this.#longestIdle();
    return idle && { ...idle, perSecond: idlePerSecond };
  }

  #longestIdle(): { key: string; atMs: number } | undefined {
    let found: { key: string; atMs: number } | undefined;
    for (const [key, atMs] of this.#idle) if (found === undefined || atMs < found.atMs) found = { key, atMs };
    return found;
  }

  #cancelTimer(key: string): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
  }
}

/** Of several reasons the one that leads to most. */
const weights: Readonly<Record<Why, number>> = { asked: 3, turn: 2, heard: 1, timer: 0 };
