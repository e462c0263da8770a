/**
 * One life of a program: the time and the network that it sees, until it is killed. A killed program does not get
 * another timer, another answer or another byte out, in the middle of whatever it was doing, and never learns of it.
 * What it had sent before may still arrive.
 */
import type { Clock } from '../../clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';
import { TransportError } from '../../kube/transport.ts';

export interface LifeOptions {
  clock: Clock;
  transport: Transport;
  /** Called with everything that goes out, before it does; may kill. */
  onSend?: (request: HttpRequest) => void;
}

/** A promise of its own each time: what waits for one that all share is never forgotten, nor is the world around it. */
const never = (): Promise<never> => new Promise<never>(() => {});

export class Life {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly #options: LifeOptions;
  readonly #timers = new Set<() => void>();
  readonly #connections = new Set<AbortController>();
  #dead = false;
  #isolated = false;

  constructor(options: LifeOptions) {
    this.#options = options;
    const { clock } = options;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (delayMs, callback) => this.#after(delayMs, callback),
    };
    this.transport = { send: (request) => this.#send(request), close: () => {} };
  }

  get dead(): boolean {
    return this.#dead;
  }

  kill(): void {
    this.#dead = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#cut();
  }

  /** Cut off from the API: calls fail and open watches break. */
  isolate(): void {
    this.#isolated = true;
    this.#cut();
  }

  restore(): void {
    this.#isolated = false;
  }

  #after(delayMs: number, callback: () => void): () => void {
    if (this.#dead) return () => {};
    const cancel = (): void => {
      cancelBase();
      this.#timers.delete(cancel);
    };
    const cancelBase = this.#options.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      callback();
    });
    this.#timers.add(cancel);
    return cancel;
  }

  #cut(): void {
    for (const connection of this.#connections) connection.abort();
    this.#connections.clear();
  }

  async #send(request: HttpRequest): Promise<HttpResponse> {
    if (!this.#dead) this.#options.onSend?.(request);
    if (this.#dead) return never();
    if (this.#isolated) throw new TransportError('notSent', 'cut off from the API server');
    const connection = new AbortController();
    const abort = (): void => connection.abort();
    const release = (): void => {
      this.#connections.delete(connection);
      request.signal?.removeEventListener('abort', abort);
    };
    this.#connections.add(connection);
    request.signal?.addEventListener('abort', abort, { once: true });
    if (request.signal?.aborted) abort();
    try {
      const response = await this.#options.transport.send({ ...request, signal: connection.signal });
      if (this.#dead) return await never();
      return { ...response, body: this.#body(response.body, connection, release) };
    } catch (error) {
      release();
      if (this.#dead) return await never();
      throw this.#explain(error, request.signal);
    }
  }

  async *#body(
    body: AsyncIterable<Uint8Array>,
    connection: AbortController,
    release: () => void,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        if (this.#dead) await never();
        if (this.#isolated && connection.signal.aborted) throw new TransportError('broken', 'cut off');
        yield chunk;
      }
    } catch (error) {
      if (this.#dead) await never();
      throw this.#explain(error, undefined);
    } finally {
      release();
    }
    if (this.#dead) await never();
  }

  /** Who did not give up by itself sees a broken connection, not one that it closed. */
  #explain(error: unknown, callerSignal: AbortSignal | undefined): unknown {
    if (!(error instanceof TransportError) || !this.#isolated || callerSignal?.aborted) return error;
    return new TransportError('broken', 'cut off from the API server', { cause: error });
  }
}
