/**
 * One HTTP/2 connection to the API server.
 *
 * Why HTTP/2: its PING goes end to end, so that a connection which something in between has silently dropped is
 * noticed in seconds, although the watch on it has nothing to say. With HTTP/1.1 an idle watch and a dead one look the
 * same until the next bookmark, a minute later. bench/http-client.ts has the figures.
 */
import * as http2 from 'node:http2';
import type { Clock } from '../clock.ts';
import type { Dialled } from './dial.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { checkGuard, TransportError } from './transport.ts';

const pingEveryMs = 5000;
const pingAnswerWithinMs = 5000;
/** Node's default of 64 KiB makes a list wait for a round trip every 64 KiB. */
const streamWindowBytes = 1024 * 1024;
const connectionWindowBytes = 8 * 1024 * 1024;
/** More of an answer than this is not read before its reader has come round. */
const unreadBytes = 64 * 1024;

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

  /**
   * Rejects with a TransportError if the connection breaks before the head of the answer. `onEnd`: the request, which may
   * go on long after its head is there, has nothing to do with the connection any more.
   */
  async send(
    request: HttpRequest,
    headers: Record<string, string | string[]>,
    signal: AbortSignal,
    onEnd: () => void,
  ): Promise<HttpResponse> {
    try {
      checkGuard(request);
    } catch (error) {
      onEnd();
      throw error;
    }
    return new Promise((resolve, reject) => {
      const stream = this.#open(request, headers, reject);
      if (stream === undefined) {
        onEnd();
        return;
      }
      stream.once('close', onEnd);
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

  /** Begins to read at once: Node destroys an HTTP/2 stream that has ended before anybody began. */
  #body(
    stream: http2.ClientHttp2Stream,
    signal: AbortSignal,
    failed: () => Error | undefined,
  ): AsyncIterable<Uint8Array> {
    return this.#read(new Received(stream), { stream, signal, failed });
  }

  async *#read(
    received: Received,
    of: { stream: http2.ClientHttp2Stream; signal: AbortSignal; failed: () => Error | undefined },
  ): AsyncGenerator<Uint8Array> {
    const { stream, signal, failed } = of;
    for (;;) {
      const chunk = received.take();
      if (chunk !== undefined) yield chunk;
      else if (received.closed) break;
      else await received.more();
    }
    // A reset without an error code, or a connection that ended, also ends a stream, quietly.
    const isReset = stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR || stream.aborted;
    if (!received.complete || signal.aborted || isReset) throw this.#broken(stream, signal, failed());
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

/** What has arrived and is not taken yet. A stream and an iterator of Node's own would be most of the cost of a small answer. */
class Received {
  readonly #stream: http2.ClientHttp2Stream;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #wake: (() => void) | undefined;
  complete = false;
  closed = false;

  constructor(stream: http2.ClientHttp2Stream) {
    this.#stream = stream;
    stream.on('data', (chunk: Uint8Array) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes > unreadBytes) stream.pause();
      this.#wake?.();
    });
    stream.once('end', () => {
      this.complete = true;
    });
    stream.once('close', () => {
      this.closed = true;
      this.#wake?.();
    });
  }

  take(): Uint8Array | undefined {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return undefined;
    this.#bytes -= chunk.length;
    if (this.#bytes <= unreadBytes && this.#stream.isPaused()) this.#stream.resume();
    return chunk;
  }

  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
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
