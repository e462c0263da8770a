/**
 * Tells people what happened, in Events. Never in the way of what it tells about: `record` returns at once and does not
 * fail, what cannot be written is tried again a few times, and then counted and reported.
 *
 * What happens again becomes a series of the same Event instead of another one, so that a controller that meets the same
 * obstacle every second does not fill the cluster's store. Memory is bounded: when more comes than can be written, the
 * newest is dropped and counted.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient } from './client.ts';
import type { KubeError, KubeErrorKind, Result } from './errors.ts';
import type { EventInput, EventObject, Reporter } from './event-object.ts';
import { eventObject } from './event-object.ts';
import { microTime } from './micro-time.ts';
import type { ObjectRef } from './resources.ts';
import { events } from './resources.ts';

export type { EventInput, ObjectReference } from './event-object.ts';

export interface EventLimits {
  /** What happens again within this time since it last did belongs to the same Event. */
  windowMs: number;
  /** A series is written at most this often, after its second occurrence. */
  seriesEveryMs: number;
  /** Events remembered for series. */
  maxKnown: number;
  /** Events that wait to be written. */
  maxQueued: number;
  attempts: number;
  firstBackoffMs: number;
  callTimeoutMs: number;
}

export const defaultEventLimits: EventLimits = {
  windowMs: 6 * 60_000,
  seriesEveryMs: 30_000,
  maxKnown: 4096,
  maxQueued: 1000,
  attempts: 5,
  firstBackoffMs: 1000,
  callTimeoutMs: 10_000,
};

export type EventProblem =
  /** The event is given up. */
  { kind: 'failed'; event: EventObject; error: KubeError } | { kind: 'dropped'; count: number };

export interface EventRecorderOptions extends Reporter {
  client: KubeClient;
  clock: Clock;
  /** Between 0 and 1, as Math.random. */
  random: () => number;
  onProblem: (problem: EventProblem) => void;
  limits?: Partial<EventLimits>;
}

interface Entry {
  key: string;
  event: EventObject;
  /** Of the object that the server has; absent until it is known to have one. */
  uid?: string;
  count: number;
  writtenCount: number;
  lastWallMs: number;
  lastMs: number;
  nextWriteMs: number;
  cancelTimer?: () => void;
}

/** Worth another attempt: the server or the way to it had a problem, not the event. */
const transient: ReadonlySet<KubeErrorKind> = new Set([
  'conflict',
  'tooManyRequests',
  'serverError',
  'unreachable',
  'timeout',
  'unauthorized',
  'malformed',
]);

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limits: EventLimits;
  /** Least recently used first. */
  readonly #known = new Map<string, Entry>();
  readonly #queue = new Set<Entry>();
  readonly #stop = new AbortController();
  readonly #counters = { written: 0, failed: 0, dropped: 0 };
  #sequence = 0;
  #reportedDropped = 0;
  #closed = false;
  #working: Promise<void> | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#limits = { ...defaultEventLimits, ...options.limits };
  }

  /** Writes that succeeded, events given up after failures, occurrences for which there was no room. */
  get counters(): Readonly<{ written: number; failed: number; dropped: number }> {
    return { ...this.#counters };
  }

  record(input: EventInput): void {
    if (this.#closed) {
      this.#counters.dropped += 1;
      return;
    }
    const { clock } = this.#options;
    const { regarding, type, reason, action, note } = input;
    const key = JSON.stringify([regarding.uid, regarding.kind, regarding.name, type, reason, action, note]);
    const known = this.#known.get(key);
    if (known !== undefined && clock.monotonic() - known.lastMs <= this.#limits.windowMs) {
      known.count += 1;
      known.lastMs = clock.monotonic();
      known.lastWallMs = clock.now();
      this.#remember(known);
      this.#schedule(known);
      return;
    }
    if (this.#queue.size >= this.#limits.maxQueued) {
      this.#counters.dropped += 1;
      return;
    }
    if (known !== undefined) this.#forget(known);
    this.#sequence += 1;
    const entry: Entry = {
      key,
      event: eventObject(input, this.#options, clock.now(), this.#sequence),
      count: 1,
      writtenCount: 0,
      lastWallMs: clock.now(),
      lastMs: clock.monotonic(),
      nextWriteMs: clock.monotonic(),
    };
    this.#remember(entry);
    this.#enqueue(entry);
  }

  /** Waits until all that was recorded is written or given up, but not longer than `withinMs`. True: it is. */
  async flush(withinMs: number): Promise<boolean> {
    const { clock } = this.#options;
    for (const entry of this.#known.values()) this.#writeNow(entry);
    const until = new AbortController();
    const deadline = clock.monotonic() + withinMs;
    while (this.#working !== undefined && clock.monotonic() < deadline) {
      await Promise.race([this.#working, sleep(clock, deadline - clock.monotonic(), until.signal)]);
    }
    until.abort();
    return this.#working === undefined;
  }

  /** Flushes and stops. What is not written by then is dropped, and said to be. */
  async close(withinMs: number): Promise<void> {
    this.#closed = true;
    await this.flush(withinMs);
    this.#stop.abort();
    await this.#working;
    this.#counters.dropped += this.#queue.size;
    this.#queue.clear();
    for (const { cancelTimer } of this.#known.values()) cancelTimer?.();
    this.#reportDropped();
  }

  #remember(entry: Entry): void {
    this.#known.delete(entry.key);
    this.#known.set(entry.key, entry);
    if (this.#known.size <= this.#limits.maxKnown) return;
    const [oldest] = this.#known.values();
    if (oldest !== undefined) this.#forget(oldest);
  }

  /** The end of its series: what it still has to say is said now. */
  #forget(entry: Entry): void {
    this.#known.delete(entry.key);
    this.#writeNow(entry);
  }

  #writeNow(entry: Entry): void {
    if (entry.cancelTimer === undefined) return;
    entry.cancelTimer();
    delete entry.cancelTimer;
    this.#enqueue(entry);
  }

  #schedule(entry: Entry): void {
    if (this.#queue.has(entry) || entry.cancelTimer !== undefined || entry.writtenCount === 0) return;
    const { clock } = this.#options;
    const delayMs = entry.nextWriteMs - clock.monotonic();
    if (delayMs <= 0 && this.#queue.size < this.#limits.maxQueued) {
      this.#enqueue(entry);
      return;
    }
    entry.cancelTimer = clock.after(delayMs <= 0 ? this.#limits.seriesEveryMs : delayMs, () => {
      delete entry.cancelTimer;
      this.#schedule(entry);
    });
  }

  #enqueue(entry: Entry): void {
    this.#queue.add(entry);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    // Not in the caller's turn: `record` only takes note.
    await Promise.resolve();
    try {
      for (const entry of this.#queue) {
        if (this.#stop.signal.aborted) return;
        this.#queue.delete(entry);
        await this.#deliver(entry);
        this.#reportDropped();
      }
    } finally {
      // In the same turn in which the queue was found empty: what comes next starts a new worker.
      this.#working = undefined;
    }
  }

  async #deliver(entry: Entry): Promise<void> {
    const { clock, random, onProblem } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const { count } = entry;
      entry.nextWriteMs = clock.monotonic() + (count === 1 ? 0 : this.#limits.seriesEveryMs);
      const result = await this.#write(entry);
      if (result.ok) {
        this.#counters.written += 1;
        entry.writtenCount = count;
        if (entry.count > count) this.#schedule(entry);
        return;
      }
      const { error } = result;
      if (attempt === this.#limits.attempts || !transient.has(error.kind) || this.#stop.signal.aborted) {
        this.#counters.failed += 1;
        // The next occurrence starts afresh.
        if (this.#known.get(entry.key) === entry) this.#known.delete(entry.key);
        onProblem({ kind: 'failed', event: entry.event, error });
        return;
      }
      const backoffMs = this.#limits.firstBackoffMs * 2 ** (attempt - 1) * (0.75 + random() / 2);
      await sleep(clock, backoffMs, this.#stop.signal);
    }
  }

  async #write(entry: Entry): Promise<Result<unknown>> {
    if (entry.uid === undefined) return this.#create(entry);
    const patched = await this.#patch(entry, entry.uid);
    // The server forgets Events after an hour.
    if (patched.ok || (patched.error.kind !== 'notFound' && patched.error.kind !== 'conflict')) return patched;
    delete entry.uid;
    return this.#create(entry);
  }

  async #create(entry: Entry): Promise<Result<unknown>> {
    const series = this.#series(entry);
    const event = series === undefined ? entry.event : { ...entry.event, series };
    const created = await this.#options.client.create<EventObject>(events, event, this.#callOptions());
    if (created.ok) {
      this.#found(entry, created.value);
      return created;
    }
    if (created.error.kind !== 'alreadyExists') return created;
    // An attempt whose outcome was unknown: the name is ours alone.
    const read = await this.#options.client.get<EventObject>(refOf(entry.event), this.#callOptions());
    if (!read.ok) return read;
    this.#found(entry, read.value);
    return entry.uid === undefined || series === undefined ? read : this.#patch(entry, entry.uid);
  }

  #patch(entry: Entry, uid: string): Promise<Result<unknown>> {
    const value = this.#series(entry);
    return this.#options.client.patch(
      refOf(entry.event),
      { uid },
      [{ op: 'add', path: '/series', value }],
      this.#callOptions(),
    );
  }

  #found(entry: Entry, event: EventObject): void {
    if (event.metadata.uid !== undefined) entry.uid = event.metadata.uid;
  }

  #series(entry: Entry): EventObject['series'] {
    return entry.count === 1 ? undefined : { count: entry.count, lastObservedTime: microTime(entry.lastWallMs) };
  }

  #callOptions(): { timeoutMs: number; signal: AbortSignal } {
    return { timeoutMs: this.#limits.callTimeoutMs, signal: this.#stop.signal };
  }

  #reportDropped(): void {
    const count = this.#counters.dropped - this.#reportedDropped;
    if (count === 0) return;
    this.#reportedDropped = this.#counters.dropped;
    this.#options.onProblem({ kind: 'dropped', count });
  }
}

function refOf(event: EventObject): ObjectRef {
  return { resource: events, namespace: event.metadata.namespace, name: event.metadata.name };
}
