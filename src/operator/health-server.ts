/** /healthz, /readyz and /metrics. */
import * as http from 'node:http';
import { contentType } from '../report/prometheus.ts';
import { closeNow, listenOn } from './listen.ts';

export interface HealthSources {
  /** Undefined: all is well; else what is wrong. A process that is not healthy is restarted: only for what that mends. */
  unhealthy: () => string | undefined;
  unready: () => string | undefined;
  metrics: () => string;
}

/** `:8080`, `127.0.0.1:0`, `[::1]:8080`. */
export function parseBindAddress(text: string): { host?: string; port: number } {
  const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text);
  const port = Number(match?.groups?.['port']);
  if (match === null || port > 65_535) {
    throw new Error(
      `bind address ${JSON.stringify(text)}: write HOST:PORT or :PORT, for example :8080 or 127.0.0.1:8080`,
    );
  }
  const host = match.groups?.['v6'] ?? match.groups?.['host'] ?? '';
  return host === '' ? { port } : { host, port };
}

export class HealthServer {
  readonly #server: http.Server;

  constructor(sources: HealthSources) {
    this.#server = http.createServer((request, response) => {
      const { status, text, contentType } = answer(request, sources);
      response.writeHead(status, { 'content-type': contentType ?? 'text/plain; charset=utf-8' });
      response.end(request.method === 'HEAD' ? undefined : text);
    });
  }

  /** Answers the port; rejects if the address is taken. */
  listen(address: { host?: string; port: number }): Promise<number> {
    return listenOn(this.#server, address);
  }

  close(): Promise<void> {
    return closeNow(this.#server);
  }
}

interface Answer {
  status: number;
  text: string;
  contentType?: string;
}

function answer(request: http.IncomingMessage, sources: HealthSources): Answer {
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, text: 'GET or HEAD only\n' };
  switch ((request.url ?? '').split('?', 1)[0]) {
    case '/healthz':
      return verdictOf(sources.unhealthy());
    case '/readyz':
      return verdictOf(sources.unready());
    case '/metrics':
      return { status: 200, text: sources.metrics(), contentType };
    default:
      return { status: 404, text: 'there are /healthz, /readyz and /metrics\n' };
  }
}

function verdictOf(problem: string | undefined): Answer {
  return problem === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${problem}\n` };
}
