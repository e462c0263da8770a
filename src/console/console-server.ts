/**
 * Serves the page, streams snapshots to it (server-sent events), and takes what a person does to a machine.
 *
 * It listens on loopback without a login, so that it has to tell a person at the page from a web site that makes their
 * browser send requests here: it answers to loopback names only, and takes actions only from its own page.
 */
import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import type { Clock } from '../clock.ts';
import { closeNow, listenOn } from '../operator/listen.ts';
import type { ConsoleSource, MachineAction } from './snapshot.ts';
import { MACHINE_ACTIONS } from './snapshot.ts';

/** Changes come in bursts; a person does not need more than ten pictures a second. */
const pauseMs = 100;

const files: Record<string, { name: string; type: string }> = {
  '/': { name: 'index.html', type: 'text/html; charset=utf-8' },
  '/page.js': { name: 'page.js', type: 'text/javascript; charset=utf-8' },
  '/page.css': { name: 'page.css', type: 'text/css; charset=utf-8' },
};

export class ConsoleServer {
  readonly #server: http.Server;
  readonly #source: ConsoleSource;
  readonly #clock: Clock;

  constructor(source: ConsoleSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.#server = http.createServer((request, response) => this.#answer(request, response));
  }

  /** Answers the port; rejects if it is taken. */
  listen(port: number): Promise<number> {
    return listenOn(this.#server, { host: '127.0.0.1', port });
  }

  close(): Promise<void> {
    return closeNow(this.#server);
  }

  #answer(request: http.IncomingMessage, response: http.ServerResponse): void {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (!isLoopbackHost(request.headers.host)) {
      plain(response, 403, 'this console answers on loopback only');
      return;
    }
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (reads && files[path] !== undefined) this.#file(path, request.method === 'HEAD', response);
    else if (request.method === 'GET' && path === '/events') this.#stream(request, response);
    else if (request.method === 'POST' && path.startsWith('/nodes/')) this.#act(path, request, response);
    else plain(response, reads ? 404 : 405, reads ? 'no such page' : 'not here');
  }

  #file(path: string, headOnly: boolean, response: http.ServerResponse): void {
    const file = files[path];
    if (file === undefined) return;
    const content = readFileSync(new URL(`./page/${file.name}`, import.meta.url));
    response.writeHead(200, {
      'content-type': file.type,
      'content-length': content.length,
      'content-security-policy': "default-src 'self'; img-src 'self' data:",
      'cache-control': 'no-store',
    });
    response.end(headOnly ? undefined : content);
  }

  #stream(request: http.IncomingMessage, response: http.ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    let waiting: (() => void) | undefined;
    const send = (): void => {
      waiting = undefined;
      response.write(`data: ${JSON.stringify(this.#source.snapshot())}\n\n`);
    };
    const stop = this.#source.onChange(() => {
      waiting ??= this.#clock.after(pauseMs, send);
    });
    send();
    request.once('close', () => {
      stop();
      waiting?.();
    });
  }

  #act(path: string, request: http.IncomingMessage, response: http.ServerResponse): void {
    const [, , node = '', action = ''] = path.split('/').map(decoded);
    // A form or script of another site can send a POST here, but not with this header.
    if (request.headers['x-fenceline-console'] !== '1') plain(response, 403, 'actions come from the page');
    else if (!isAction(action)) plain(response, 404, `no such action; there are ${MACHINE_ACTIONS.join(', ')}`);
    else if (!this.#source.act(node, action)) plain(response, 404, 'no such machine');
    else plain(response, 202, 'done');
  }
}

/** What is not an encoding stands for itself, and is then no machine. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isAction(text: string): text is MachineAction {
  return (MACHINE_ACTIONS as readonly string[]).includes(text);
}

/** A name that an attacker points at 127.0.0.1 must not open this page to their scripts. */
function isLoopbackHost(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host ?? '');
}

function plain(response: http.ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}
