/**
 * The API as programs on a machine see it. Without power or link calls fail and open watches break at once; while the
 * machine hangs, answers wait unread, so that nothing on it moves until it resumes.
 */
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';
import { TransportError } from '../../kube/transport.ts';
import type { Machine } from '../machines/machine.ts';

export class LinkedTransport implements Transport {
  readonly #inner: Transport;
  readonly #machine: Machine;

  constructor(inner: Transport, machine: Machine) {
    this.#inner = inner;
    this.#machine = machine;
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    if (this.#machine.hung) await this.#machine.whenAwake();
    const line = new Line(this.#machine, request.signal);
    try {
      const response = await this.#inner.send({ ...request, signal: line.signal });
      await line.readable();
      return { ...response, body: this.#body(response.body, line) };
    } catch (error) {
      line.release();
      throw line.explain(error);
    }
  }

  /** The inner transport is shared with other machines: it is closed by its owner. */
  close(): void {}

  async *#body(body: AsyncIterable<Uint8Array>, line: Line): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        await line.readable();
        yield chunk;
      }
    } catch (error) {
      throw line.explain(error);
    } finally {
      line.release();
    }
  }
}

/** One request's hold on the machine: its signal fires when the caller gives up or the line is cut. */
class Line {
  readonly #machine: Machine;
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #unsubscribe: () => void;
  #cut = false;

  constructor(machine: Machine, callerSignal: AbortSignal | undefined) {
    if (!machine.connected) throw new TransportError('broken', `${machine.name} is cut off`);
    this.#machine = machine;
    this.#callerSignal = callerSignal;
    this.#unsubscribe = machine.on((event) => {
      if (event.type !== 'off' && event.type !== 'linkDown') return;
      this.#cut = true;
      this.#controller.abort();
    });
    callerSignal?.addEventListener('abort', this.#abort, { once: true });
    if (callerSignal?.aborted) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async readable(): Promise<void> {
    if (this.#machine.hung) await this.#machine.whenAwake();
    if (this.#cut) throw new TransportError('broken', `${this.#machine.name} was cut off`);
  }

  explain(error: unknown): unknown {
    if (!this.#cut || !(error instanceof TransportError)) return error;
    return new TransportError('broken', `${this.#machine.name} was cut off`, { cause: error });
  }

  release(): void {
    this.#unsubscribe();
    this.#callerSignal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort();
}
