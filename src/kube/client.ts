/**
 * Calls to the API server. Every call answers with a Result; nothing is thrown for what the server or the network does.
 *
 * Reads carry no resourceVersion, so each is a quorum read (S15). Every write to somebody else's object carries a
 * precondition, because these methods offer no way to write without one (S14).
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeError, Result } from './errors.ts';
import { errorFromAnswer, failure } from './errors.ts';
import { asBuffer } from './json-stream.ts';
import type { ObjectRef, Resource } from './resources.ts';
import { apiVersionOf, collectionPath, objectPath, withQuery } from './resources.ts';
import type { ServerTime } from './server-time.ts';
import type { HttpRequest, HttpResponse, Transport } from './transport.ts';
import { Document, TransportError } from './transport.ts';

/** The part of every object that the client itself needs; callers give the rest as a type of their own. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
}

/** Which object exactly is meant: the one with this UID, and, where given, just as it was read. */
export interface Precondition {
  uid: string;
  resourceVersion?: string;
}

export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value: unknown }
  | { op: 'remove'; path: string };

export interface CallOptions {
  signal?: AbortSignal;
  /** For all attempts together. */
  timeoutMs?: number;
  /** Asked immediately before the bytes of each attempt leave; false: nothing is sent. */
  guard?: () => boolean;
  /** What it rests on was read right before, and may not be so later: a server that is busy is not asked again after a pause. */
  isAtOnce?: boolean;
  /** Of the object in the answer only its metadata is wanted: the rest of a Node or a Pod is kilobytes. */
  metadataOnly?: boolean;
  /** Of a write: it is only asked whether it would be taken. */
  dryRun?: boolean;
}

export interface KubeClientOptions {
  transport: Transport;
  clock: Clock;
  /** Shown in the server's audit log. */
  userAgent: string;
  /** Field manager of applies and patches. */
  fieldManager: string;
  /** Default for a call, all attempts together. */
  timeoutMs?: number;
  /** What the Dates of answers are read by; absent: each is taken as it is. */
  serverTime?: ServerTime;
}

const defaultTimeoutMs = 30_000;
/** A server that cannot do so, an aggregated one for instance, sends the whole object. */
const metadataAccepted = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
/** client-go gives up after ten; a server that sends Retry-After that often is better left alone. */
const maxAttempts = 10;
const defaultRetryAfterMs = 1000;

interface Call {
  method: HttpRequest['method'];
  path: string;
  body?: unknown;
  contentType?: string;
  /** An eviction answers 429 for a budget: repeating it at once would only hide that. */
  retryTooMany?: boolean;
}

interface ApiGroup {
  name: string;
  preferredVersion: { version: string };
}

export class KubeClient {
  readonly #options: KubeClientOptions;
  /** The query of writes, the same for all of them. */
  readonly #asManager: string;
  #date = { text: '', ms: Number.NaN };

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#asManager = withQuery('', this.#manager());
  }

  /** The same for who decides by it what time it is. */
  readingTimeBy(serverTime: ServerTime): KubeClient {
    return new KubeClient({ ...this.#options, serverTime });
  }

  get<T extends KubeObject>(ref: ObjectRef, options?: CallOptions): Promise<Result<T>> {
    return this.#call<T>({ method: 'GET', path: objectPath(ref) }, options);
  }

  /** One page, or everything when no limit is given. Large collections belong to a ListWatch, which streams them. */
  list<T extends KubeObject>(
    resource: Resource,
    query: { namespace?: string; labelSelector?: string; fieldSelector?: string; limit?: number } = {},
    options?: CallOptions,
  ): Promise<Result<{ metadata: { resourceVersion: string; continue?: string }; items: T[] }>> {
    const path = withQuery(collectionPath(resource, query.namespace), {
      labelSelector: query.labelSelector,
      fieldSelector: query.fieldSelector,
      limit: query.limit?.toString(),
    });
    return this.#call({ method: 'GET', path }, options);
  }

  /** Which groups there are, and the version of each that the server prefers: what is not among them costs no question of its own. */
  async groups(options?: CallOptions): Promise<Result<Map<string, string>>> {
    const read = await this.#call<{ groups?: ApiGroup[] }>({ method: 'GET', path: '/apis' }, options);
    if (!read.ok) return read;
    const versions = (read.value.groups ?? []).map(
      ({ name, preferredVersion }) => [name, preferredVersion.version] as const,
    );
    return { ...read, value: new Map(versions) };
  }

  create<T extends KubeObject>(resource: Resource, object: T, options?: CallOptions): Promise<Result<T>> {
    const path = collectionPath(resource, object.metadata.namespace) + this.#asManager + dryRunIn(options);
    const body = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
    return this.#call<T>({ method: 'POST', path, body }, options);
  }

  /** Replaces the object exactly as it was read: its UID and resourceVersion are the precondition. */
  replace<T extends KubeObject>(
    ref: ObjectRef,
    object: T,
    subresource?: string,
    options?: CallOptions,
  ): Promise<Result<T>> {
    const { uid, resourceVersion } = object.metadata;
    if (resourceVersion === undefined) {
      throw new Error(`replace of ${ref.resource.kind} ${ref.name} without a resourceVersion would clobber`);
    }
    // Kinds that may be created by an update, Leases among them, come back to life without it.
    if (uid === undefined) throw new Error(`replace of ${ref.resource.kind} ${ref.name} without a UID could resurrect`);
    const path = objectPath(ref, subresource) + this.#asManager + dryRunIn(options);
    const body = { apiVersion: apiVersionOf(ref.resource), kind: ref.resource.kind, ...object };
    return this.#call<T>({ method: 'PUT', path, body }, options);
  }

  /** JSON patch that applies only to the object meant by `only`: the server tests before it touches anything. */
  patch<T extends KubeObject>(
    ref: ObjectRef,
    only: Precondition,
    operations: JsonPatchOperation[],
    options?: CallOptions & { subresource?: string },
  ): Promise<Result<T>> {
    const tests: JsonPatchOperation[] = [{ op: 'test', path: '/metadata/uid', value: only.uid }];
    if (only.resourceVersion !== undefined) {
      tests.push({ op: 'test', path: '/metadata/resourceVersion', value: only.resourceVersion });
    }
    return this.#call<T>(
      {
        method: 'PATCH',
        path: objectPath(ref, options?.subresource) + this.#asManager + dryRunIn(options),
        body: [...tests, ...operations],
        contentType: 'application/json-patch+json',
      },
      options,
    ).then(testFailureIsConflict);
  }

  /** Server-side apply of the fields that are ours. A field that somebody else owns is a conflict, never taken by force. */
  apply<T extends KubeObject>(
    ref: ObjectRef,
    object: T,
    options?: CallOptions & { subresource?: string },
  ): Promise<Result<T>> {
    const path = withQuery(objectPath(ref, options?.subresource), { ...this.#manager(), force: 'false' });
    const body = { apiVersion: apiVersionOf(ref.resource), kind: ref.resource.kind, ...object };
    return this.#call<T>({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml' }, options);
  }

  /** Deletes the very object that `only` names; a newcomer of the same name is a conflict and stays. */
  delete(
    ref: ObjectRef,
    only: Precondition,
    options?: CallOptions & { gracePeriodSeconds?: number; propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' },
  ): Promise<Result<KubeObject>> {
    const body: Record<string, unknown> = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: only };
    if (options?.gracePeriodSeconds !== undefined) body['gracePeriodSeconds'] = options.gracePeriodSeconds;
    if (options?.propagationPolicy !== undefined) body['propagationPolicy'] = options.propagationPolicy;
    return this.#call({ method: 'DELETE', path: objectPath(ref), body }, options);
  }

  /** Asks the server to let a live pod go; `tooManyRequests` with cause DisruptionBudget means that a budget forbids it. */
  evict(
    pod: ObjectRef,
    only: Precondition,
    options?: CallOptions & { gracePeriodSeconds?: number },
  ): Promise<Result<KubeObject>> {
    const deleteOptions: Record<string, unknown> = { preconditions: only };
    if (options?.gracePeriodSeconds !== undefined) deleteOptions['gracePeriodSeconds'] = options.gracePeriodSeconds;
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: pod.name, namespace: pod.namespace },
      deleteOptions,
    };
    return this.#call({ method: 'POST', path: objectPath(pod, 'eviction'), body, retryTooMany: false }, options);
  }

  /** An answer whose body is read by the caller as it arrives: lists page by page, and watches. */
  async stream(
    path: string,
    purpose: HttpRequest['purpose'],
    options: { signal: AbortSignal; timeoutMs?: number },
  ): Promise<Result<HttpResponse>> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs();
    const request: HttpRequest = { method: 'GET', path, headers: this.#headers(), purpose, timeoutMs };
    const sent = await this.#send({ ...request, signal: options.signal });
    if (!sent.ok) return sent;
    if (sent.value.status === 200) return sent;
    return this.#refusal(request, sent.value);
  }

  close(): void {
    this.#options.transport.close();
  }

  async #call<T>(call: Call, options: CallOptions = {}): Promise<Result<T>> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + (options.timeoutMs ?? this.#timeoutMs());
    for (let attempt = 1; ; attempt += 1) {
      const result = await this.#once<T>(call, Math.max(1, deadline - clock.monotonic()), options);
      if (result.ok || attempt === maxAttempts) return result;
      const delayMs = retryDelayMs(call, result.error, attempt);
      if (delayMs !== 0 && options.isAtOnce === true) return result;
      if (delayMs === undefined || clock.monotonic() + delayMs >= deadline) return result;
      if (delayMs > 0) await sleep(clock, delayMs, options.signal);
      // The process may have been stopped in its sleep: whoever wakes up late must not write on an old decision.
      if (options.signal?.aborted || clock.monotonic() >= deadline) return result;
    }
  }

  async #once<T>(call: Call, timeoutMs: number, options: CallOptions): Promise<Result<T>> {
    const request: HttpRequest = {
      method: call.method,
      path: call.path,
      headers: this.#headers(options.metadataOnly),
      purpose: 'call',
      timeoutMs,
    };
    if (call.body !== undefined) {
      request.body = escaped(JSON.stringify(call.body));
      request.headers = { ...request.headers, 'content-type': call.contentType ?? 'application/json' };
    }
    if (options.signal !== undefined) request.signal = options.signal;
    if (options.guard !== undefined) request.guard = options.guard;
    const sent = await this.#send(request);
    if (!sent.ok) return sent;
    if (sent.value.status < 200 || sent.value.status > 299) return this.#refusal(request, sent.value);
    const read = await readAll(request, sent.value);
    if (!read.ok) return read;
    if (read.value instanceof Document) return { ...sent, value: read.value.value as T };
    const text = read.value.toString('utf8');
    try {
      return { ...sent, value: JSON.parse(text) as T };
    } catch {
      return failure({
        kind: 'malformed',
        message: `${nameOf(request)}: the answer is not JSON: ${text.slice(0, 100)}`,
        mayHaveHappened: true,
      });
    }
  }

  async #send(request: HttpRequest): Promise<Result<HttpResponse>> {
    const askedMs = this.#options.clock.monotonic();
    try {
      const response = await this.#options.transport.send(request);
      return this.#withServerTime(response, askedMs);
    } catch (error) {
      return failure(transportFailure(request, error));
    }
  }

  async #refusal(request: HttpRequest, response: HttpResponse): Promise<Result<never>> {
    const read = await readAll(request, response);
    const body = read.ok ? read.value.toString('utf8') : '';
    return failure(errorFromAnswer(nameOf(request), response.status, body, response.headers['retry-after']));
  }

  #withServerTime(response: HttpResponse, askedMs: number): Result<HttpResponse> {
    const text = response.headers['date'] ?? '';
    // It names a second, in which there may be many answers.
    if (text !== this.#date.text) this.#date = { text, ms: Date.parse(text) };
    const { ms } = this.#date;
    if (Number.isNaN(ms)) return { ok: true, value: response };
    return { ok: true, value: response, serverTime: this.#options.serverTime?.read(ms, askedMs) ?? ms };
  }

  #headers(metadataOnly = false): Record<string, string> {
    return { accept: metadataOnly ? metadataAccepted : 'application/json', 'user-agent': this.#options.userAgent };
  }

  #manager(): { fieldManager: string } {
    return { fieldManager: this.#options.fieldManager };
  }

  #timeoutMs(): number {
    return this.#options.timeoutMs ?? defaultTimeoutMs;
  }
}

/**
 * When to repeat what failed. A 429 did nothing and may always be repeated; so may a 401 once, with fresh credentials.
 * Anything else is repeated only for reads: the caller of a write decides with what it knows.
 */
function retryDelayMs(call: Call, error: KubeError, attempt: number): number | undefined {
  if (error.kind === 'tooManyRequests') {
    return call.retryTooMany === false ? undefined : (error.retryAfterMs ?? defaultRetryAfterMs);
  }
  if (error.kind === 'unauthorized') return attempt === 1 ? 0 : undefined;
  if (call.method !== 'GET') return undefined;
  if (error.kind === 'unreachable') return attempt === 1 ? 0 : undefined;
  return error.kind === 'serverError' || error.kind === 'timeout' ? error.retryAfterMs : undefined;
}

/**
 * The API server keeps to itself which operation of a JSON patch did not apply, and answers with the first of these. An
 * object that would be invalid after the patch gets a message of its own instead: `Node "a" is invalid: …`. The others
 * are the words of the library that applies patches, for servers that pass them on.
 */
const testFailure =
  /rejected our request due to an error in our request|testing value .* failed|error in test for path|test operation does not apply/;

/** The API server answers 422 when a `test` fails; for the caller it is what any failed precondition is. */
function testFailureIsConflict<T>(result: Result<T>): Result<T> {
  if (result.ok || result.error.kind !== 'invalid') return result;
  if (!testFailure.test(result.error.message)) return result;
  return failure({ ...result.error, kind: 'conflict' });
}

/**
 * The server compares the bytes of a `test`, and its own JSON is written as Go writes it: with these characters escaped.
 * An annotation with a `<` in it would never equal itself otherwise.
 */
function escaped(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function nameOf(request: Pick<HttpRequest, 'method' | 'path'>): string {
  return `${request.method} ${request.path.split('?', 1)[0]}`;
}

/** The whole body, or the document that it is. */
async function readAll(request: HttpRequest, response: HttpResponse): Promise<Result<Buffer | Document>> {
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const [first] = chunks;
    if (first === undefined || chunks.length > 1) return { ok: true, value: Buffer.concat(chunks) };
    // Most answers come in one piece, which needs no copy.
    return { ok: true, value: first instanceof Document ? first : asBuffer(first) };
  } catch (error) {
    return failure(transportFailure(request, error));
  }
}

/** Also used by those who read a body themselves. Anything but a TransportError is a bug of ours and goes on up. */
export function transportFailure(request: Pick<HttpRequest, 'method' | 'path'>, error: unknown): KubeError {
  if (!(error instanceof TransportError)) throw error;
  const kinds = { notSent: 'unreachable', broken: 'unreachable', timeout: 'timeout', aborted: 'aborted' } as const;
  return {
    kind: kinds[error.failure],
    message: `${nameOf(request)}: ${error.message}`,
    mayHaveHappened: error.failure !== 'notSent' && request.method !== 'GET',
  };
}

function dryRunIn(options: CallOptions | undefined): string {
  return options?.dryRun === true ? '&dryRun=All' : '';
}
