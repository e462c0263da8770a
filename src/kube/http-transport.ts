/** Transport over the network: finds out what the server speaks, keeps connections, adds who we are. */
import type { Clock } from '../clock.ts';
import { within } from '../clock.ts';
import type { Connection, Credential } from './credentials.ts';
import type { Dialled, Protocol } from './dial.ts';
import { dial } from './dial.ts';
import { Http1Client } from './http1-client.ts';
import { Http2Session } from './http2-session.ts';
import type { HttpRequest, HttpResponse, Transport } from './transport.ts';
import { TransportError } from './transport.ts';

type Purpose = HttpRequest['purpose'];

interface Entry {
  opening: Promise<Http2Session | undefined>;
  open?: Http2Session | undefined;
  /** Requests on it, or about to be. */
  streams: number;
}

/**
 * The API server takes so many requests at a time on one connection and lets further ones wait: for ever, where those
 * before them are watches. It says so only in its first frame, too late for those that are sent at once.
 */
const maxStreams = 100;

const connectWithinMs = 10_000;

export class HttpTransport implements Transport {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #offered: Protocol[];
  readonly #prefix: string;
  readonly #sessions = new Map<Purpose, Set<Entry>>();
  #http1: Http1Client | undefined;
  /** The certificate that the open connections were made with: another one means new connections. */
  #certificate: string | undefined;
  #closed = false;

  /** `protocols` is for tests and benchmarks; a server is always offered both. */
  constructor(connection: Connection, clock: Clock, protocols: Protocol[] = ['h2', 'http/1.1']) {
    this.#connection = connection;
    this.#prefix = connection.endpoint.url.pathname.replace(/\/+$/, '');
    this.#clock = clock;
    this.#offered = protocols;
  }

  async send(asked: HttpRequest): Promise<HttpResponse> {
    // Some servers live under a path of their host, such as /k8s/clusters/a.
    const request = { ...asked, path: `${this.#prefix}${asked.path}` };
    const limit = new Limit(request, this.#clock);
    try {
      const credential = await this.#credential();
      const headers = this.#headers(request, credential);
      const response = await this.#dispatch(request, headers, credential, limit.signal);
      if (response.status === 401) this.#connection.credentials.rejected(credential);
      if (request.purpose === 'watch') limit.answered();
      return { ...response, body: limit.bound(response.body) };
    } catch (error) {
      throw limit.explain(error);
    }
  }

  close(): void {
    this.#closed = true;
    this.#dropConnections();
  }

  async #credential(): Promise<Credential> {
    if (this.#closed) throw new TransportError('notSent', 'the client is closed');
    try {
      const credential = await this.#connection.credentials.current();
      const certificate = credential.clientCertificate?.cert;
      if (certificate !== this.#certificate) this.#dropConnections();
      this.#certificate = certificate;
      return credential;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TransportError('notSent', `no credentials: ${reason}`, { cause: error });
    }
  }

  #headers(request: HttpRequest, credential: Credential): Record<string, string | string[]> {
    const headers: Record<string, string | string[]> = { ...request.headers };
    for (const [name, value] of Object.entries(this.#connection.impersonation)) headers[name.toLowerCase()] = value;
    if (credential.authorization !== undefined) headers['authorization'] = credential.authorization;
    if (request.body !== undefined) headers['content-length'] = String(Buffer.byteLength(request.body));
    return headers;
  }

  async #dispatch(
    request: HttpRequest,
    headers: Record<string, string | string[]>,
    credential: Credential,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    if (
      this.#http1 === undefined &&
      this.#offered.includes('h2') &&
      this.#connection.endpoint.url.protocol === 'https:'
    ) {
      const entry = this.#entry(request.purpose, credential);
      entry.streams += 1;
      const leave = (): void => this.#leave(request.purpose, entry);
      const session = await unlessAborted(entry.opening, signal).catch((error: unknown) => {
        leave();
        throw error;
      });
      if (session !== undefined) return session.send(request, headers, signal, leave);
      leave();
    }
    this.#http1 ??= new Http1Client(this.#connection.endpoint.url.host, async () => {
      return (await this.#dial(await this.#credential(), ['http/1.1'])).socket;
    });
    return this.#http1.send(request, headers, signal);
  }

  /** A live connection with room for one more, or a new one; callers at the same time share it. */
  #entry(purpose: Purpose, credential: Credential): Entry {
    const entries = this.#sessions.get(purpose) ?? new Set();
    this.#sessions.set(purpose, entries);
    for (const known of entries) {
      const isUsable = known.open === undefined || known.open.usable;
      if (!isUsable) entries.delete(known);
      else if (known.streams < maxStreams) return known;
    }
    const entry: Entry = { opening: this.#connect(credential), streams: 0 };
    entries.add(entry);
    entry.opening.then(
      (session) => {
        entry.open = session;
      },
      () => entries.delete(entry),
    );
    return entry;
  }

  /** One connection stays for the next request; those that a rush has needed go. */
  #leave(purpose: Purpose, entry: Entry): void {
    entry.streams -= 1;
    const entries = this.#sessions.get(purpose);
    if (entry.streams > 0 || entries === undefined || entries.size < 2) return;
    if (entries.delete(entry)) entry.open?.close();
  }

  /** Undefined: the server has no HTTP/2. */
  async #connect(credential: Credential): Promise<Http2Session | undefined> {
    const dialled = await this.#dial(credential, this.#offered);
    if (dialled.protocol === 'h2') return new Http2Session(this.#connection.endpoint.url.origin, dialled, this.#clock);
    dialled.socket.destroy();
    return undefined;
  }

  /** Has a time limit of its own: a connection serves many requests, and must not die with the first that gives up. */
  async #dial(credential: Credential, protocols: Protocol[]): Promise<Dialled> {
    const dialled = await within(this.#clock, connectWithinMs, (signal) =>
      dial(this.#connection.endpoint, credential, protocols, signal),
    );
    if (!this.#closed) return dialled;
    dialled.socket.destroy();
    throw new TransportError('notSent', 'the client is closed');
  }

  #dropConnections(): void {
    for (const { opening } of [...this.#sessions.values()].flatMap((entries) => [...entries])) {
      opening.then(
        (session) => session?.close(),
        () => {},
      );
    }
    this.#sessions.clear();
    this.#http1?.close();
    this.#http1 = undefined;
  }
}

/** Given as the reason, which otherwise is an error made for each request, with its stack. */
const unread = 'what is left of the answer is not wanted';

/** The caller's signal and the time-out of a request as one signal, and which of the two it was. */
class Limit {
  readonly #controller = new AbortController();
  readonly #request: HttpRequest;
  readonly #cancelTimer: () => void;
  #timedOut = false;

  constructor(request: HttpRequest, clock: Clock) {
    this.#request = request;
    this.#cancelTimer = clock.after(request.timeoutMs, () => {
      this.#timedOut = true;
      this.#controller.abort();
    });
    request.signal?.addEventListener('abort', this.#abort, { once: true });
    if (request.signal?.aborted) this.#abort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The head of a watch is there: from now on only the caller ends it. */
  answered(): void {
    this.#cancelTimer();
  }

  async *bound(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let ended = false;
    try {
      yield* body;
      ended = true;
    } catch (error) {
      throw this.explain(error);
    } finally {
      this.#release();
      // A reader that stops early leaves the rest unread: the stream must not stay open for it.
      if (!ended) this.#controller.abort(unread);
    }
  }

  explain(error: unknown): unknown {
    this.#release();
    if (!(error instanceof TransportError) || !this.#timedOut) return error;
    const message = `no answer within ${this.#request.timeoutMs / 1000} s`;
    return new TransportError(error.failure === 'notSent' ? 'notSent' : 'timeout', message, { cause: error });
  }

  readonly #abort = (): void => this.#controller.abort();

  #release(): void {
    this.#cancelTimer();
    this.#request.signal?.removeEventListener('abort', this.#abort);
  }
}

/** The connection goes on being made for others when this caller gives up on it. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new TransportError('notSent', 'gave up connecting'));
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([promise, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}
