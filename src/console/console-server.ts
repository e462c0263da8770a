/**
 * Serves the console: its page, news by server-sent events, and what a person does.
 *
 * A browser sends requests for whatever site is open in it, with the cookies of this one. So nothing is done but for our own page:
 * from its own origin, with a header that a foreign form cannot send; and on loopback, where nobody has to sign in, only under the
 * names of loopback, since another name may be anybody's. Headers and bodies have limits in size and time.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import type { Snapshot } from '../api/snapshot.ts';
import type { Clock } from '../clock.ts';
import { closeNow, listenOn } from '../operator/listen.ts';
import type { Asked, Told } from './acts.ts';
import type { Asset } from './assets.ts';
import { decoded } from './decoded.ts';
import { LiveStream } from './live.ts';
import type { NodeAct } from './picture.ts';
import { NODE_ACTS } from './picture.ts';
import { answerRehearsal } from './rehearsal-answer.ts';
import type { Rehearsals } from './rehearsals.ts';
import { readBody } from './request-body.ts';
import type { ConsoleSource } from './source.ts';

/** Who looks: what is shown, and what is done in that name. */
export interface Session {
  source: ConsoleSource;
  act: (asked: Asked) => Promise<Told>;
  /** The whole cluster, by lists. */
  read: (signal: AbortSignal) => Promise<Snapshot>;
}

export type Refusal = { status: 401 | 403 | 429 | 503; text: string };

/** Decides who somebody is. */
export interface Gate {
  /** A wrong name or origin is refused before. */
  admit(request: http.IncomingMessage): Promise<Session | Refusal>;
  /** Somebody signs in, or out; absent: nobody has to. The answer is a cookie. */
  signIn?(token: string, request: http.IncomingMessage): Promise<{ cookie: string; user: string } | Refusal>;
  signOut?(request: http.IncomingMessage): string;
  /** Somebody opens the address that was printed, with the key in it; the answer is a cookie. */
  enter?(key: string): string | undefined;
}

/** Machines that can be switched and cut off from the page, as in `make run`. */
export interface Machines {
  /** False: there is no such machine, or nothing of the kind can be done to it. */
  act(node: string, action: string): boolean;
  actZone(zone: string, action: string): boolean;
  /** Time passes so many times as fast. */
  time(rate: string): boolean;
}

export interface ConsoleServerOptions {
  clock: Clock;
  gate: Gate;
  assets: ReadonlyMap<string, Asset>;
  machines?: Machines;
  rehearsals?: Rehearsals;
  /** Answers under these names only, with or without a port; `*`: under any. Absent: those of loopback. */
  hosts?: readonly string[];
  /** Absent: in the clear. */
  tls?: { cert: string; key: string };
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const common: http.OutgoingHttpHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const limits: http.ServerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
};
const maxConnections = 512;
const maxStreams = 256;
/** A page that stays open asks for nothing more: whether it may still look is found out this often. */
const readmitMs = 60_000;

export class ConsoleServer {
  readonly #server: http.Server | https.Server;
  readonly #options: ConsoleServerOptions;
  #streams = 0;

  constructor(options: ConsoleServerOptions) {
    this.#options = options;
    const answer = (request: http.IncomingMessage, response: http.ServerResponse): void =>
      void this.#answer(request, response);
    this.#server =
      options.tls === undefined
        ? http.createServer(limits, answer)
        : https.createServer({ ...limits, ...options.tls, handshakeTimeout: 5000 }, answer);
    this.#server.maxConnections = maxConnections;
  }

  /** Answers the port; rejects if it is taken. */
  listen(port: number, host = '127.0.0.1'): Promise<number> {
    return listenOn(this.#server, { host, port });
  }

  close(): Promise<void> {
    return closeNow(this.#server);
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      // A mistake of ours: whoever asked is told no more than that, and the others are served on.
      process.emitWarning(error instanceof Error ? error : String(error));
      if (!response.headersSent) plain(response, 500, 'something went wrong here; nothing is known of what was done');
      else response.destroy();
    }
  }

  async #route(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2);
    const method = request.method ?? '';
    if (!this.#isOwnName(request)) return plain(response, 403, 'this console does not answer under this name');
    const key = path === '/' ? new URLSearchParams(query).get('key') : null;
    if (key !== null) return this.#enter(key, response);
    const asset = this.#options.assets.get(path);
    const reads = method === 'GET' || method === 'HEAD';
    if (reads && asset !== undefined) return sendAsset(request, response, asset);
    if (method === 'GET' && path === '/events') return this.#stream(request, response, query);
    if (method === 'GET' && path === '/healthz') return plain(response, 200, 'ok');
    if (method === 'GET' && path === '/whoami') return this.#whoAmI(request, response);
    if (method === 'POST') return this.#post(path, request, response);
    plain(response, reads ? 404 : 405, reads ? 'no such page' : 'not here');
  }

  /** The key is taken out of the address, where it would stand in the history of the browser. */
  #enter(key: string, response: http.ServerResponse): void {
    const cookie = this.#options.gate.enter?.(key);
    response.writeHead(303, { ...common, location: '/', ...(cookie === undefined ? {} : { 'set-cookie': cookie }) });
    response.end();
  }

  async #whoAmI(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const session = await this.#options.gate.admit(request);
    if ('status' in session) plain(response, session.status, session.text);
    else plain(response, 200, 'ok');
  }

  async #stream(request: http.IncomingMessage, response: http.ServerResponse, query: string): Promise<void> {
    const session = await this.#options.gate.admit(request);
    if ('status' in session) return plain(response, session.status, session.text);
    if (this.#streams >= maxStreams) return plain(response, 503, 'too many pages are open');
    this.#streams += 1;
    response.writeHead(200, { ...common, 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const page = new URLSearchParams(query).get('page') ?? 'now';
    const stream = new LiveStream({ source: session.source, page, response, clock: this.#options.clock });
    const leave = this.#readmit(request, response, session);
    response.once('close', () => {
      this.#streams -= 1;
      leave();
      stream.end();
    });
  }

  /** Whose token is revoked, or who has signed out elsewhere, sees nothing new; where nobody can say, nobody is thrown out. */
  #readmit(request: http.IncomingMessage, response: http.ServerResponse, { source }: Session): () => void {
    const { clock, gate } = this.#options;
    let cancel = (): void => {};
    const again = (): void => {
      cancel = clock.after(readmitMs, () => void look());
    };
    const look = async (): Promise<void> => {
      const now = await gate.admit(request).catch((): Refusal => ({ status: 503, text: '' }));
      if (response.destroyed) return;
      const isOut = 'status' in now ? now.status === 401 || now.status === 403 : now.source !== source;
      if (isOut) response.end();
      else again();
    };
    again();
    return () => cancel();
  }

  async #post(path: string, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    if (!isFromPage(request)) return plain(response, 403, 'actions come from the page');
    const [, kind = '', ...names] = path.split('/').map(decoded);
    if (kind === 'session') return this.#session(names, request, response);
    const session = await this.#options.gate.admit(request);
    if ('status' in session) return plain(response, session.status, session.text);
    const [first = '', second = ''] = names;
    if (kind === 'rehearsals') return this.#rehearse(session, request, response);
    if (kind === 'acts') return this.#act(session, { act: first, node: second }, { request, response });
    const { machines } = this.#options;
    const isDone =
      (kind === 'nodes' && machines?.act(first, second)) ||
      (kind === 'zones' && machines?.actZone(first, second)) ||
      (kind === 'time' && machines?.time(first));
    if (isDone) plain(response, 202, 'done');
    else plain(response, 404, 'no such machine, or nothing of the kind can be done to it');
  }

  async #rehearse(session: Session, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { rehearsals, clock } = this.#options;
    if (rehearsals === undefined) return plain(response, 404, 'nothing can be rehearsed here');
    const { read } = session;
    const asked = { rehearsals, person: session, read, request, response, headers: common, clock };
    const refusal = await answerRehearsal(asked);
    if (refusal !== undefined) plain(response, refusal.status, refusal.text);
  }

  async #act(
    session: Session,
    { act, node }: { act: string; node: string },
    { request, response }: { request: http.IncomingMessage; response: http.ServerResponse },
  ): Promise<void> {
    if (node === '') return plain(response, 404, 'the name of a node is missing');
    if (!isAct(act)) return plain(response, 404, `no such act; there are ${NODE_ACTS.join(', ')}`);
    const body = await readBody(request, this.#options.clock);
    if (!body.ok) return plain(response, body.status, body.text);
    const { incident, typed } = body.value;
    const told = await session.act({
      act,
      node,
      ...(typeof incident === 'string' ? { incident } : {}),
      ...(typeof typed === 'string' ? { typed } : {}),
    });
    plain(response, told.ok ? 200 : 409, told.text);
  }

  async #session(names: string[], request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { gate, clock } = this.#options;
    if (names[0] === 'end') {
      const cookie = gate.signOut?.(request);
      return plain(response, 200, 'signed out', cookie === undefined ? {} : { 'set-cookie': cookie });
    }
    if (gate.signIn === undefined) return plain(response, 404, 'nobody has to sign in here');
    const body = await readBody(request, clock);
    if (!body.ok) return plain(response, body.status, body.text);
    const { token } = body.value;
    if (typeof token !== 'string' || token === '') return plain(response, 401, 'a token is missing');
    const answer = await gate.signIn(token, request);
    if ('status' in answer) return plain(response, answer.status, answer.text);
    plain(response, 200, answer.user, { 'set-cookie': answer.cookie });
  }

  /** A name that an attacker points at this address must not open it to their scripts; of two names nobody knows which is meant. */
  #isOwnName({ headers, rawHeaders }: http.IncomingMessage): boolean {
    const names = rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === 'host');
    const name = (headers.host ?? '').replace(/:\d+$/, '');
    const { hosts = ['localhost', '127.0.0.1', '[::1]'] } = this.#options;
    return names.length === 1 && (hosts.includes('*') ? name !== '' : hosts.includes(name));
  }
}

/** A form or script of another site can send a POST here, but not with this header, and its browser says where it comes from. */
function isFromPage({ headers }: http.IncomingMessage): boolean {
  if (headers['x-fenceline-console'] !== '1') return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  return headers.origin === undefined || headers.origin.replace(/^https?:\/\//, '') === headers.host;
}

function isAct(text: string): text is NodeAct {
  return (NODE_ACTS as readonly string[]).includes(text);
}

function sendAsset(request: http.IncomingMessage, response: http.ServerResponse, { type, body, etag }: Asset): void {
  const headers = { ...common, 'cache-control': 'no-cache', etag };
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, { ...headers, 'content-type': type, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function plain(
  response: http.ServerResponse,
  status: number,
  text: string,
  headers: http.OutgoingHttpHeaders = {},
): void {
  // What was not read of the request is not waited for.
  const close = status >= 400 ? { connection: 'close' } : {};
  response.writeHead(status, {
    ...common,
    ...close,
    ...headers,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(`${text}\n`);
}
