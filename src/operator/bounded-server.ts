/**
 * An HTTP server that strangers may reach. One request is answered on a connection, by its first line and its headers: no body is
 * read. So many connections are open, so many of one address, so many are taken from it in a second, and each has its time.
 * Nothing is logged: what anybody can cause a million times is counted.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { PerSecond, type Clock } from '../clock.ts';
import { closeNow, listenOn } from './listen.ts';

export interface Answer {
  status: number;
  text: string | Buffer;
  headers?: Record<string, string>;
}

export interface ServerBounds {
  connections: number;
  connectionsOfOne: number;
  /** Of one address; a probe and a scrape are one each in seconds. */
  aSecond: number;
  /** So many addresses in a second. */
  addresses: number;
  headerBytes: number;
  /** For the handshake of TLS, and for all headers. */
  requestMs: number;
  /** Until the answer is taken: by then whoever reads slowly is left. */
  answerMs: number;
}

export const defaultBounds: ServerBounds = {
  connections: 256,
  connectionsOfOne: 16,
  aSecond: 100,
  addresses: 1024,
  headerBytes: 8192,
  requestMs: 5000,
  answerMs: 10_000,
};

export interface BoundedServerOptions {
  clock: Clock;
  answer: (request: http.IncomingMessage) => Answer | Promise<Answer>;
  bounds?: Partial<ServerBounds>;
  /** Absent: in the clear. */
  tls?: TlsOptions;
}

export class BoundedServer {
  readonly #options: BoundedServerOptions;
  readonly #bounds: ServerBounds;
  readonly #server: http.Server | https.Server;
  readonly #rate: PerSecond;
  readonly #open = new Map<string, Set<Socket>>();
  #refused = 0;

  constructor(options: BoundedServerOptions) {
    this.#options = options;
    this.#bounds = { ...defaultBounds, ...options.bounds };
    const { headerBytes, requestMs, connections, aSecond, addresses } = this.#bounds;
    this.#rate = new PerSecond(options.clock, { each: aSecond, comers: addresses });
    const limits: http.ServerOptions = {
      maxHeaderSize: headerBytes,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(1000, requestMs),
    };
    this.#server =
      options.tls === undefined
        ? http.createServer(limits)
        : https.createServer({ ...limits, ...options.tls, handshakeTimeout: requestMs });
    this.#server.maxConnections = connections;
    this.#server.maxRequestsPerSocket = 1;
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
    this.#server.on('drop', () => {
      this.#refused += 1;
    });
    const answered = (request: http.IncomingMessage, response: http.ServerResponse): void =>
      void this.#respond(request, response);
    this.#server.on('request', answered);
    // Who asks first whether to send a body is answered without one.
    this.#server.on('checkContinue', answered);
  }

  /** Connections that were not taken. */
  get refused(): number {
    return this.#refused;
  }

  /** Connections that are open. */
  get open(): number {
    return [...this.#open.values()].reduce((sum, sockets) => sum + sockets.size, 0);
  }

  /** Answers the port; rejects if the address is taken. */
  listen(address: { host?: string; port: number }): Promise<number> {
    return listenOn(this.#server, address);
  }

  /** From the next connection on. */
  useCertificate(pair: { cert: string; key: string }): void {
    if (this.#server instanceof https.Server) this.#server.setSecureContext(pair);
  }

  async close(): Promise<void> {
    const closed = closeNow(this.#server);
    for (const sockets of this.#open.values()) for (const socket of sockets) socket.destroy();
    await closed;
  }

  #admit(socket: Socket): void {
    const from = socket.remoteAddress ?? '';
    const sockets = this.#open.get(from) ?? new Set();
    if (sockets.size >= this.#bounds.connectionsOfOne || !this.#rate.take(from)) {
      this.#refused += 1;
      socket.destroy();
      return;
    }
    this.#open.set(from, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0 && this.#open.get(from) === sockets) this.#open.delete(from);
    });
  }

  async #respond(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const cancel = this.#options.clock.after(this.#bounds.answerMs, () => request.socket.destroy());
    response.once('close', cancel);
    const { status, text, headers } = await this.#options.answer(request);
    response.writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': Buffer.byteLength(text),
      connection: 'close',
      ...headers,
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }
}
