/**
 * The lowest seam towards an API server: one request, one answer whose body is a stream of bytes.
 *
 * Over TLS it is HTTP/2 where the server offers it, else HTTP/1.1; the simulator implements it in memory. It knows
 * nothing of Kubernetes and never retries: whether a request may be repeated is for the caller to know.
 */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with query, as it goes over the wire. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /**
   * `watch`: stays open for long. Such requests have a connection of their own, so that a large list on one cannot
   * hold up the others.
   */
  purpose: 'call' | 'watch';
  /** Until the head of the answer is there, and for a `call` until the body has ended. */
  timeoutMs: number;
  signal?: AbortSignal;
  /**
   * Asked with nothing awaited between it and the first byte on the wire; false: the request is not sent. Credentials
   * and connections take their time, and a process may be stopped while it waits for them.
   */
  guard?: () => boolean;
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** Rejects with a TransportError when the connection breaks before the end. */
  body: AsyncIterable<Uint8Array>;
}

/**
 * A piece of a body that holds no bytes but the document that they would say: from a server in the same process to
 * those of its clients that asked for it. Both ends share the value, so nobody may change it.
 */
export class Document extends Uint8Array {
  readonly value: unknown;
  constructor(value: unknown) {
    super(0);
    this.value = value;
  }
}

export interface Transport {
  /** Rejects only with a TransportError. */
  send(request: HttpRequest): Promise<HttpResponse>;
  close(): void;
}

/**
 * `notSent` is the only reason that proves that the server did nothing. After any other the request may have been
 * carried out: unknown is not no (S26).
 */
export type TransportFailure = 'notSent' | 'broken' | 'timeout' | 'aborted';

/** For implementations: throws where the guard of a request no longer holds. */
export function checkGuard(request: HttpRequest): void {
  if (request.guard?.() === false) throw new TransportError('notSent', 'not sent: no longer entitled to act');
}

export class TransportError extends Error {
  readonly failure: TransportFailure;
  constructor(failure: TransportFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TransportError';
    this.failure = failure;
  }
}
