/**
 * The embedded API server: what kube-apiserver does, in memory. It has no threads, no disk and no network; time comes
 * from a clock and chance from a generator, so that the same requests in the same order give the same answers.
 */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';
import { checkGuard, TransportError } from '../../kube/transport.ts';
import { onePiece } from './byte-stream.ts';
import { builtInKinds } from './catalog.ts';
import { Core } from './core.ts';
import { customResourceKinds } from './crd/definitions.ts';
import type { ParseYaml } from './decode.ts';
import { discover } from './discovery.ts';
import { Faults } from './faults.ts';
import type { SeenRequest } from './faults.ts';
import type { Answer, Call } from './handler.ts';
import { Handler, verbOf } from './handler.ts';
import type { Feature } from './kind.ts';
import type { ApiObject } from './object.ts';
import type { Route } from './registry.ts';
import { ApiError, internalError, noSuchPath } from './status-error.ts';
import { presentationOf } from './tables/presentation.ts';
import { selfReview } from './self-review.ts';
import type { StoreEvent } from './store.ts';
import type { Watch } from './watches.ts';
import { create } from './writes.ts';

export interface ApiServerOptions {
  clock: Clock;
  random: () => number;
  /** What DefaultTolerationSeconds adds to pods; kube-apiserver's flag of that name. */
  defaultTolerationSeconds?: number;
  /** Features to leave out: for tests of the contract suite, and to save what a simulation does not look at. */
  without?: readonly Feature[];
  /** Of which storages it is kept who set which field; absent: of all. */
  ownersOf?: readonly string[];
  /** Makes a change of a stored object an error: for tests. */
  freezes?: boolean;
  /** Reads bodies that are not JSON, for servers that people talk to. */
  yaml?: ParseYaml;
}

export interface ApiRequest {
  method: string;
  /** Path with query. */
  path: string;
  /** Names in lower case. */
  headers?: Record<string, string>;
  body?: string;
  user: string;
  signal?: AbortSignal | undefined;
  /** How long the caller waits for the answer; for ever when not given. */
  timeoutMs?: number;
  /** The caller reads stored objects as they are instead of bytes, and promises not to change them. */
  shares?: boolean;
}

export interface ApiResponse {
  status: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array>;
}

export interface AuditRecord {
  at: number;
  user: string;
  verb: string;
  group: string;
  resource: string;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
  code: number;
  contentType: string;
  /** Nothing was stored, whatever was answered. */
  isDryRun: boolean;
  /** As it was sent. */
  body: string;
  before?: ApiObject | undefined;
  after?: ApiObject | undefined;
}

const writes = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const systemNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];

export class ApiServer {
  readonly faults: Faults;
  readonly #core: Core;
  readonly #handler: Handler;
  readonly #watches = new Set<Watch>();
  readonly #listeners = new Set<(record: AuditRecord) => void>();
  #acting: string | undefined;
  #dateOf = { atMs: -1, text: '' };

  constructor(options: ApiServerOptions) {
    const { clock, random, defaultTolerationSeconds = 300, without = [], ownersOf, freezes = false, yaml } = options;
    const tolerationSeconds = defaultTolerationSeconds;
    this.#core = new Core({
      clock,
      random,
      tolerationSeconds,
      without: new Set(without),
      ownersOf: ownersOf && new Set(ownersOf),
      freezes,
    });
    this.faults = new Faults({
      breakWatches: () => this.#breakWatches(),
      compact: () => this.#core.store.compact(),
    });
    this.#handler = new Handler({
      core: this.#core,
      faults: this.faults,
      yaml,
      presentationOf: (accept) => presentationOf(accept, this.#core),
      onDeleted: () => {},
    });
    for (const kind of builtInKinds()) this.#core.registry.add(kind);
    customResourceKinds(this.#core);
    this.#makeNamespaces();
  }

  /** The newest resourceVersion. */
  get revision(): number {
    return this.#core.store.revision;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** `shares`: for those in this process who never change what they read; saves writing and parsing it. */
  transport(user: string, { shares = false }: { shares?: boolean } = {}): Transport {
    return new MemoryTransport(this, { user, shares });
  }

  onAudit(listener: (record: AuditRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Every change of what is stored, as it happens, and on whose request; the server's own have no user. */
  onChange(listener: (event: StoreEvent, user: string | undefined) => void): () => void {
    return this.#core.store.onChange((event) => listener(event, this.#acting));
  }

  /** An object as it is stored, by the group and plural of its resource and its key. */
  peek(group: string, plural: string, key: string): ApiObject | undefined {
    return this.#core.store.collection(`${group}/${plural}`).get(key)?.object;
  }

  /**
   * A replacement of an object as it stands by somebody in this process, stored as a PUT would have stored it without being written
   * down and read again. False: it has to be sent as everything else, because there is a fault to meet or a book to keep.
   */
  amend(group: string, plural: string, key: string, change: (live: ApiObject) => ApiObject): boolean {
    const kind = this.#core.registry.find(group, 'v1', plural);
    const live = this.peek(group, plural, key);
    if (kind === undefined || live === undefined) return false;
    if (this.faults.isAny || this.#core.keepsOwners(kind)) return false;
    this.#core.put(kind, change(live));
    return true;
  }

  /** Rejects only with a TransportError. */
  async handle(request: ApiRequest): Promise<ApiResponse> {
    const { faults } = this;
    if (faults.unavailable !== undefined) {
      throw new TransportError(faults.unavailable, 'the API server does not answer');
    }
    const call = callOf(request);
    const route = this.#core.registry.route(call.path);
    const seen = seenOf(call, route);
    const delayMs = faults.delayMs(seen);
    if (delayMs > 0) await this.#wait(delayMs, request);
    return this.#respond(this.#answer(call, route, seen), request.signal);
  }

  async #wait(delayMs: number, { signal, timeoutMs = Infinity }: ApiRequest): Promise<void> {
    await sleep(this.#core.clock, Math.min(delayMs, timeoutMs), signal);
    if (signal?.aborted) throw new TransportError('aborted', 'the caller gave up');
    if (this.faults.unavailable !== undefined) throw new TransportError('broken', 'the API server went away');
    if (delayMs > timeoutMs) throw new TransportError('timeout', `no answer for ${timeoutMs} ms`);
  }

  #answer(call: Call, route: Route | undefined, seen: SeenRequest): Answer & { retryAfter?: number } {
    let answer: Answer & { retryAfter?: number };
    try {
      this.faults.strike(seen, 'before');
      if (route === undefined) {
        const found = selfReview(call) ?? discover(call, this.#core);
        if (found === undefined) {
          if (!this.#core.has('unknownPaths')) return { status: 200, text: '{}' };
          throw noSuchPath();
        }
        return found;
      }
      this.#acting = call.user;
      answer = this.#handler.handle(call, route, seen.verb);
      this.faults.strike(seen, 'after');
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : internalError((thrown as Error).stack ?? String(thrown));
      const status = error.toStatus();
      if (!this.#core.has('errorDetails')) delete status['details'];
      answer = { status: error.code, text: JSON.stringify(status) };
      const seconds = error.details?.retryAfterSeconds;
      if (seconds !== undefined) answer.retryAfter = seconds;
    } finally {
      this.#acting = undefined;
    }
    if (this.#listeners.size > 0 && route !== undefined && writes.has(seen.verb))
      this.#audit(call, route, { seen, answer });
    return answer;
  }

  #audit(
    call: Call,
    { kind, namespace, name, subresource }: Route,
    { seen, answer }: { seen: SeenRequest; answer: Answer },
  ): void {
    const record: AuditRecord = {
      at: this.#core.clock.now(),
      user: call.user,
      verb: seen.verb,
      group: kind.group,
      resource: kind.plural,
      namespace,
      name: name ?? answer.name,
      subresource,
      code: answer.status,
      contentType: call.headers['content-type'] ?? '',
      isDryRun: call.query.has('dryRun'),
      body: call.body,
      before: answer.before,
      after: answer.after,
    };
    for (const listener of this.#listeners) listener(record);
  }

  #respond(answer: Answer & { retryAfter?: number }, signal: AbortSignal | undefined): ApiResponse {
    const { status, text = '', watch, contentType = 'application/json' } = answer;
    const headers: Record<string, string> = { 'content-type': contentType };
    if (this.#core.has('dateHeader')) headers['date'] = this.#date();
    if (answer.retryAfter !== undefined) headers['retry-after'] = String(answer.retryAfter);
    if (watch === undefined) return { status, headers, body: onePiece(text) };
    this.#follow(watch, signal);
    return { status, headers, body: watch.stream };
  }

  #follow(watch: Watch, signal: AbortSignal | undefined): void {
    if (watch.stream.closed) return;
    const abort = (): void => watch.stream.fail(new TransportError('aborted', 'the caller gave up'));
    this.#watches.add(watch);
    watch.stream.onClose(() => {
      this.#watches.delete(watch);
      signal?.removeEventListener('abort', abort);
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  }

  #breakWatches(): void {
    for (const watch of this.#watches) watch.stream.fail(new TransportError('broken', 'the API server went away'));
  }

  #date(): string {
    const atMs = Math.floor((this.#core.clock.now() + this.faults.nextDateSkewMs()) / 1000);
    if (this.#dateOf.atMs !== atMs) this.#dateOf = { atMs, text: new Date(atMs * 1000).toUTCString() };
    return this.#dateOf.text;
  }

  #makeNamespaces(): void {
    const kind = this.#core.registry.find('', 'v1', 'namespaces');
    if (kind === undefined) throw new Error('there are no namespaces');
    for (const name of this.#core.has('systemNamespaces') ? systemNamespaces : ['default']) {
      const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      create(this.#core, { kind, namespace: undefined }, object, { manager: 'kube-apiserver', dryRun: false });
    }
  }
}

function callOf({ method, path, headers = {}, body = '', user, shares = false }: ApiRequest): Call {
  const mark = path.indexOf('?');
  const query = mark === -1 ? noQuery : queryOf(path.slice(mark + 1));
  return { method, path: mark === -1 ? path : path.slice(0, mark), query, headers, body, user, shares };
}

const noQuery = new URLSearchParams();
/** Callers ask the same in the same words again and again; nobody changes what was taken apart. */
const knownQueries = new Map<string, URLSearchParams>();
const mostQueries = 1000;

function queryOf(text: string): URLSearchParams {
  let query = knownQueries.get(text);
  if (query === undefined) {
    query = new URLSearchParams(text);
    if (knownQueries.size >= mostQueries) knownQueries.clear();
    knownQueries.set(text, query);
  }
  return query;
}

function seenOf(call: Call, route: Route | undefined): SeenRequest {
  const { user, method, path } = call;
  const verb = route === undefined ? method.toLowerCase() : verbOf(call, route);
  return { user, method, path, verb, resource: route?.kind.plural ?? '' };
}

/** The server as a client in the same process reaches it. */
class MemoryTransport implements Transport {
  readonly #server: ApiServer;
  readonly #caller: { user: string; shares: boolean };

  constructor(server: ApiServer, caller: { user: string; shares: boolean }) {
    this.#server = server;
    this.#caller = caller;
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    const { method, path, headers = {}, body = '', signal, timeoutMs } = request;
    if (signal?.aborted) throw new TransportError('aborted', 'the caller gave up');
    checkGuard(request);
    const { user, shares } = this.#caller;
    return this.#server.handle({ method, path, headers, body, user, shares, signal, timeoutMs });
  }

  close(): void {}
}
