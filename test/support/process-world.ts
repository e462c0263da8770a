/**
 * Processes in virtual time that can be stopped, suspended, have clocks of their own, and talk to a server over links
 * that are slow or lose things. What happens is decided by the test alone.
 */
import type { Clock } from '../../src/clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/kube/transport.ts';
import { checkGuard, TransportError } from '../../src/kube/transport.ts';

interface Scheduled {
  atMs: number;
  order: number;
  run: () => void;
}

export class ProcessWorld {
  nowMs = 0;
  /** Called after everything that happens, when all that followed from it has happened too. */
  afterEach: () => void = () => {};
  #queue: Scheduled[] = [];
  #order = 0;

  schedule(delayMs: number, run: () => void): void {
    this.#order += 1;
    this.#queue.push({ atMs: this.nowMs + Math.max(0, delayMs), order: this.#order, run });
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    await this.happen(() => {});
    for (;;) {
      const next = this.#takeBefore(untilMs);
      if (next === undefined) break;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      await this.happen(next.run);
    }
    this.nowMs = untilMs;
    await this.happen(() => {});
  }

  async happen(run: () => void): Promise<void> {
    run();
    // Promise jobs run before the next turn of the event loop, however many follow from each other.
    await new Promise((resolve) => setImmediate(resolve));
    this.afterEach();
  }

  #takeBefore(untilMs: number): Scheduled | undefined {
    let first: Scheduled | undefined;
    for (const entry of this.#queue) {
      if (entry.atMs > untilMs) continue;
      if (first === undefined || entry.atMs < first.atMs || (entry.atMs === first.atMs && entry.order < first.order)) {
        first = entry;
      }
    }
    if (first !== undefined) this.#queue = this.#queue.filter((entry) => entry !== first);
    return first;
  }
}

export interface Link {
  requestMs: number;
  answerMs: number;
  lose: 'nothing' | 'request' | 'answer';
}

export type Serve = (request: HttpRequest) => { status: number; body: string };

export class WorldProcess {
  readonly world: ProcessWorld;
  readonly clock: Clock;
  readonly transport: Transport;
  link: Link = { requestMs: 1, answerMs: 1, lose: 'nothing' };
  /** Requests that left the process: method, and when. */
  readonly sent: { method: string; atMs: number }[] = [];
  readonly #rate: number;
  readonly #serve: Serve;
  #wallOffsetMs: number;
  #stoodStillMs = 0;
  #stopped: { atMs: number; monotonicStandsStill: boolean } | undefined;
  #held: { kind: 'timer' | 'answer'; run: () => void }[] = [];

  constructor(world: ProcessWorld, serve: Serve, clocks: { rate: number; wallOffsetMs: number }) {
    this.world = world;
    this.#serve = serve;
    this.#rate = clocks.rate;
    this.#wallOffsetMs = clocks.wallOffsetMs;
    this.clock = {
      now: () => 1_700_000_000_000 + this.world.nowMs + this.#wallOffsetMs,
      monotonic: () => this.#monotonic(),
      after: (delayMs, callback) => this.#after(delayMs, callback),
    };
    this.transport = { send: (request) => this.#send(request), close: () => {} };
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** Like SIGSTOP; or, if the monotonic clock stands still meanwhile, like a suspended virtual machine. */
  stop(monotonicStandsStill = false): void {
    this.#stopped ??= { atMs: this.world.nowMs, monotonicStandsStill };
  }

  /** What came meanwhile is delivered in one turn each: the kind named first, then the other. */
  async resume(first: 'timer' | 'answer'): Promise<void> {
    if (this.#stopped === undefined) return;
    const { atMs, monotonicStandsStill } = this.#stopped;
    if (monotonicStandsStill) this.#stoodStillMs += this.world.nowMs - atMs;
    this.#stopped = undefined;
    this.world.afterEach();
    const held = this.#held;
    this.#held = [];
    for (const { run } of held.filter(({ kind }) => kind === first)) await this.world.happen(run);
    for (const { run } of held.filter(({ kind }) => kind !== first)) await this.world.happen(run);
  }

  #monotonic(): number {
    const standing = this.#stopped?.monotonicStandsStill ? this.world.nowMs - this.#stopped.atMs : 0;
    return (this.world.nowMs - this.#stoodStillMs - standing) * this.#rate;
  }

  #after(delayMs: number, callback: () => void): () => void {
    const dueMs = this.#monotonic() + delayMs;
    let cancelled = false;
    const fire = (): void => {
      if (cancelled) return;
      if (this.#monotonic() < dueMs - 1e-6) {
        this.world.schedule((dueMs - this.#monotonic()) / this.#rate, () => this.#deliver('timer', fire));
        return;
      }
      callback();
    };
    this.world.schedule(delayMs / this.#rate, () => this.#deliver('timer', fire));
    return () => {
      cancelled = true;
    };
  }

  #deliver(kind: 'timer' | 'answer', run: () => void): void {
    if (this.#stopped === undefined) run();
    else this.#held.push({ kind, run });
  }

  async #send(request: HttpRequest): Promise<HttpResponse> {
    checkGuard(request);
    this.sent.push({ method: request.method, atMs: this.world.nowMs });
    const { requestMs, answerMs, lose } = this.link;
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(request.timeoutMs, () => reject(new TransportError('timeout', 'no answer')));
      const abort = (): void => {
        cancel();
        reject(new TransportError('aborted', 'aborted'));
      };
      if (request.signal?.aborted) {
        abort();
        return;
      }
      request.signal?.addEventListener('abort', abort, { once: true });
      if (lose === 'request') return;
      this.world.schedule(requestMs, () => {
        const answer = this.#serve(request);
        if (lose === 'answer') return;
        this.world.schedule(answerMs, () =>
          this.#deliver('answer', () => {
            cancel();
            request.signal?.removeEventListener('abort', abort);
            resolve({ status: answer.status, headers: {}, body: bodyOf(answer.body) });
          }),
        );
      });
    });
  }
}

async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}
