/**
 * One HTTP/2 connection to the API server.
 *
 * Why HTTP/2: its PING goes end to end, so that a connection which something in between has silently dropped is
 * noticed in seconds, although the watch on it has nothing to say. With HTTP/1.1 an idle watch and a dead one look the
 * same until the next bookmark, a minute later. bench/http-client.ts has the figures.
 */
import * as http2 from 'node:http2';
import { PassThrough, pipeline } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Dialled } from './dial.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { checkGuard, TransportError } from './transport.ts';

const pingEveryMs = 5000;
const pingAnswerWithinMs = 5000;
/** Node's default of 64 KiB makes a list wait for a round trip every 64 KiB. */
const streamWindowBytes = 1024 * 1024;
const connectionWindowBytes = 8 * 1024 * 1024;

export class Http2Session {
  readonly #session: http2.ClientHttp2Session;
  readonly #clock: Clock;
  #cancelPing: () => void = () => {};
  #failure: Error | undefined;

  constructor(origin: string, dialled: Dialled, clock: Clock) {
    this.#clock = clock;
    this.#session = http2.connect(origin, {
      createConnection: () => dialled.socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    this.#session.once('connect', () => this.#session.setLocalWindowSize(connectionWindowBytes));
    this.#session.on('error', (error: Error) => {
      this.#failure = error;
    });
    this.#session.once('close', () => this.#cancelPing());
    this.#schedulePing();
  }

  /** False once the server said that it takes no more requests here, or the connection is gone. */
  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  close(): void {
    this.#session.destroy();
  }

  /** Rejects with a TransportError if the connection breaks before the head of the answer. */
  async send(
    request: HttpRequest,
    headers: Record<string, string | string[]>,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    checkGuard(request);
    return new Promise((resolve, reject) => {
      const stream = this.#open(request, headers, reject);
      if (stream === undefined) return;
      const abort = (): void => stream.close(http2.constants.NGHTTP2_CANCEL);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      let answered = false;
      let failed: Error | undefined;
      stream.on('error', (error: Error) => {
        failed = error;
      });
      stream.once('response', (head) => {
        answered = true;
        resolve({
          status: Number(head[':status']),
          headers: plain(head),
          body: this.#body(stream, signal, () => failed),
        });
      });
      stream.once('close', () => {
        signal.removeEventListener('abort', abort);
        if (!answered) reject(this.#broken(stream, signal, failed));
      });
      stream.end(request.body);
    });
  }

  #open(
    request: HttpRequest,
    headers: Record<string, string | string[]>,
    reject: (error: TransportError) => void,
  ): http2.ClientHttp2Stream | undefined {
    try {
      const endStream = request.body === undefined;
      return this.#session.request({ ':method': request.method, ':path': request.path, ...headers }, { endStream });
    } catch (error) {
      reject(new TransportError('notSent', 'the connection was closed', { cause: error }));
      return undefined;
    }
  }

  /**
   * Reads at once into a stream of our own. Node destroys an HTTP/2 stream that has ended before anybody began to read
   * it, and a caller begins only when its promise has come round: of many short answers at a time, some would be lost.
   */
  #body(
    stream: http2.ClientHttp2Stream,
    signal: AbortSignal,
    failed: () => Error | undefined,
  ): AsyncIterable<Uint8Array> {
    const received = new PassThrough();
    // What breaks the one destroys the other, and the reader learns it there.
    pipeline(stream, received, () => {});
    return this.#read(received, stream, signal, failed);
  }

  async *#read(
    received: PassThrough,
    stream: http2.ClientHttp2Stream,
    signal: AbortSignal,
    failed: () => Error | undefined,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of received) yield chunk as Uint8Array;
    } catch (error) {
      throw this.#broken(stream, signal, failed() ?? (error as Error));
    }
    // A reset without an error code, or a connection that ended, also ends the iteration, quietly.
    if (signal.aborted || stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR || stream.aborted) {
      throw this.#broken(stream, signal, failed());
    }
  }

  #broken(stream: http2.ClientHttp2Stream, signal: AbortSignal, error: Error | undefined): TransportError {
    if (signal.aborted) return new TransportError('aborted', 'aborted');
    const refused = stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM;
    const reason = this.#failure?.message ?? error?.message ?? `stream closed with code ${stream.rstCode}`;
    return new TransportError(refused ? 'notSent' : 'broken', `connection lost: ${reason}`, { cause: error });
  }

  #schedulePing(): void {
    this.#cancelPing = this.#clock.after(pingEveryMs, () => this.#ping());
  }

  #ping(): void {
    if (!this.usable) return;
    const answered = (): void => {
      this.#cancelPing();
      if (this.usable) this.#schedulePing();
    };
    this.#awaitAnswer(this.#clock.monotonic() + pingAnswerWithinMs);
    this.#session.ping((error) => {
      if (error === null) answered();
    });
  }

  /**
   * After the process itself was stopped for a while, the timer runs before the answer that has long arrived is read.
   * Such a late timer proves nothing and gets another turn.
   */
  #awaitAnswer(deadline: number): void {
    this.#cancelPing = this.#clock.after(deadline - this.#clock.monotonic(), () => {
      const lateMs = this.#clock.monotonic() - deadline;
      if (lateMs > 1000) {
        this.#awaitAnswer(this.#clock.monotonic() + pingAnswerWithinMs);
        return;
      }
      this.#failure = new Error(`no answer to a ping for ${pingAnswerWithinMs / 1000} s`);
      this.#session.destroy(this.#failure);
    });
  }
}

function plain(head: http2.IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(head)) {
    if (value !== undefined && !name.startsWith(':')) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}
