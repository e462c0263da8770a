/** HTTP/1.1, for servers and proxies without HTTP/2: one keep-alive connection per request at a time. */
import * as http from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { checkGuard, TransportError } from './transport.ts';

export class Http1Client {
  readonly #agent: http.Agent;
  readonly #host: string;

  constructor(host: string, open: () => Promise<Duplex>) {
    this.#host = host;
    this.#agent = new http.Agent({ keepAlive: true });
    this.#agent.createConnection = (_options, callback) => {
      open().then(
        (socket) => callback?.(null, socket),
        (error: Error) => callback?.(error, undefined as unknown as Duplex),
      );
      return undefined;
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  send(request: HttpRequest, headers: Record<string, string | string[]>, signal: AbortSignal): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = http.request({
        agent: this.#agent,
        method: request.method,
        path: request.path,
        headers: { ...headers, host: this.#host },
        signal,
      });
      outgoing.once('error', (error) => reject(broken(error, signal)));
      outgoing.once('response', (incoming) => {
        resolve({ status: incoming.statusCode ?? 0, headers: plain(incoming.headers), body: body(incoming, signal) });
      });
      // Nothing is written before `end`, and a socket may take its time to come.
      outgoing.once('socket', () => {
        try {
          checkGuard(request);
          outgoing.end(request.body);
        } catch (error) {
          outgoing.destroy(error as Error);
        }
      });
    });
  }
}

async function* body(incoming: http.IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of incoming) yield chunk as Uint8Array;
  } catch (error) {
    throw broken(error as Error, signal);
  }
}

function broken(error: Error, signal: AbortSignal): TransportError {
  if (error instanceof TransportError) return error;
  if (signal.aborted) return new TransportError('aborted', 'aborted');
  return new TransportError('broken', `connection lost: ${error.message}`, { cause: error });
}

function plain(incoming: http.IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}
