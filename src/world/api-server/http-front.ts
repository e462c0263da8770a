/**
 * The embedded server over HTTP, for people and their kubectl. On loopback and without credentials, unless it is given
 * tokens: whoever can reach it may do everything.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textIn } from 'node:stream/consumers';
import { TransportError } from '../../kube/transport.ts';
import { onePiece } from './byte-stream.ts';
import { insteadOf, withMetrics } from './people.ts';
import { isProtobuf, readProtobuf } from './protobuf.ts';
import type { ApiRequest, ApiResponse, ApiServer } from './server.ts';
import { ApiError } from './status-error.ts';

export interface HttpFrontOptions {
  /** Users by bearer token. Without any, every caller is `admin`. */
  tokens?: ReadonlyMap<string, string>;
}

/** More than any object of the API may have. */
const maxBodyBytes = 3 * 1024 * 1024;

export class HttpFront {
  readonly #server: ApiServer;
  readonly #tokens: ReadonlyMap<string, string> | undefined;
  readonly #http = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing));

  constructor(server: ApiServer, { tokens }: HttpFrontOptions = {}) {
    this.#server = server;
    this.#tokens = tokens;
    // A watch says nothing for as long as nothing happens.
    this.#http.requestTimeout = 0;
  }

  /** Answers the port; 0 takes any that is free. */
  listen(port: number, host = '127.0.0.1'): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        resolve((this.#http.address() as AddressInfo).port);
      });
    });
  }

  /** Ends open watches, too. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#http.close(() => resolve());
      this.#http.closeAllConnections();
    });
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    try {
      const user = this.#userOf(incoming);
      const body = await bodyOf(incoming);
      if (user === undefined || body === undefined) {
        refuse(outgoing, user === undefined ? unauthorized : tooLarge);
        return;
      }
      const response = await this.#answer({ ...textOf(incoming, body), user, signal: gone.signal });
      outgoing.writeHead(response.status, { ...response.headers, 'cache-control': 'no-cache, private' });
      // The head of a watch goes out before its first event: clients wait for it.
      outgoing.flushHeaders();
      for await (const chunk of response.body) {
        if (outgoing.destroyed) break;
        if (!outgoing.write(chunk)) await drained(outgoing);
      }
      outgoing.end();
    } catch (error) {
      if (error instanceof ApiError) return refuse(outgoing, error);
      // The server is down, or the caller has gone: either way there is nobody to answer.
      outgoing.destroy();
      if (!(error instanceof TransportError)) throw error;
    }
  }

  async #answer(request: ApiRequest): Promise<ApiResponse> {
    const [path = ''] = request.path.split('?', 1);
    const instead = insteadOf(path);
    if (instead !== undefined) throw instead;
    const response = await this.#server.handle(request);
    if (path !== '/apis' || response.status !== 200) return response;
    const text = await textIn(response.body);
    return { ...response, body: onePiece(withMetrics(text)) };
  }

  #userOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
    if (this.#tokens === undefined) return 'admin';
    return this.#tokens.get(authorization.replace(/^Bearer /, ''));
  }
}

const unauthorized = { code: 401, reason: 'Unauthorized', message: 'Unauthorized' };
const tooLarge = { code: 413, reason: 'RequestEntityTooLarge', message: 'Request entity too large: limit is 3145728' };

function refuse(
  outgoing: ServerResponse,
  { code, reason, message }: Pick<ApiError, 'code' | 'reason' | 'message'>,
): void {
  outgoing.writeHead(code, { 'content-type': 'application/json' });
  outgoing.end(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }),
  );
}

/** What typed clients send in protobuf is read here, so that everybody behind this door knows JSON only. */
function textOf(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  body: Buffer,
): Pick<ApiRequest, 'method' | 'path' | 'headers' | 'body'> {
  const request = { method, path: url, headers: headersOf(headers) };
  if (body.length === 0 || !isProtobuf(headers['content-type'])) return { ...request, body: body.toString('utf8') };
  const json = { ...request.headers, 'content-type': 'application/json' };
  return { ...request, headers: json, body: JSON.stringify(readProtobuf(body)) };
}

/** Undefined: larger than anything we take. */
async function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf(headers: IncomingMessage['headers']): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(headers)) {
    if (value !== undefined) result[key] = Array.isArray(value) ? value.join(', ') : value;
  }
  return result;
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once('drain', resolve);
    outgoing.once('close', resolve);
  });
}
