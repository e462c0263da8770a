/**
 * Keys of things to look at. A key waits at most once, is never worked on twice at the same time, and comes back when it
 * changed meanwhile. What fails is tried again after a growing pause.
 */
import type { Clock } from '../../clock.ts';
import type { KubeError } from '../../kube/errors.ts';

/** A call that did not succeed: the step ends here and is repeated from its start. */
export class StepFailed extends Error {
  readonly error: KubeError;
  constructor(error: KubeError) {
    super(error.message);
    this.error = error;
  }
}

export interface WorkQueueOptions {
  clock: Clock;
  /** Answers after how long to look at the key again by itself, or undefined. */
  handle: (key: string) => Promise<number | undefined>;
  onProblem: (error: KubeError) => void;
  /** A mistake of ours: the queue stands still and its owner has to say so. */
  onBroken: (error: unknown) => void;
  workers?: number;
  backoff?: { firstMs: number; maxMs: number };
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #waiting = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, { at: number; cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  #started = false;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#stopped) return;
    if (this.#busy.has(key)) this.#again.add(key);
    else this.#waiting.add(key);
    this.#pump();
  }

  /** The earliest of several wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const at = clock.monotonic() + delayMs;
    const known = this.#timers.get(key);
    if (known !== undefined) {
      if (known.at <= at) return;
      known.cancel();
    }
    const cancel = clock.after(delayMs, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, cancel });
  }

  /** Until then keys only gather. */
  start(): void {
    this.#started = true;
    this.#pump();
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #pump(): void {
    if (!this.#started || this.#stopped) return;
    for (const key of this.#waiting) {
      if (this.#busy.size >= (this.#options.workers ?? 5)) return;
      this.#waiting.delete(key);
      this.#busy.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    try {
      const afterMs = await this.#options.handle(key);
      this.#failures.delete(key);
      if (afterMs !== undefined) this.addAfter(key, afterMs);
    } catch (error) {
      if (this.#stopped) return;
      if (!(error instanceof StepFailed)) {
        this.stop();
        this.#options.onBroken(error);
        return;
      }
      this.#retry(key, error.error);
    }
    this.#busy.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    this.#pump();
  }

  #retry(key: string, error: KubeError): void {
    const { firstMs, maxMs } = this.#options.backoff ?? { firstMs: 5, maxMs: 60_000 };
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, Math.min(failures + 1, 30));
    if (error.kind !== 'conflict') this.#options.onProblem(error);
    this.addAfter(key, Math.min(maxMs, firstMs * 2 ** failures));
  }
}
