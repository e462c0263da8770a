/** /healthz, /readyz and /metrics. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import { contentType } from '../report/prometheus.ts';
import type { Answer, ServerBounds } from './bounded-server.ts';
import { BoundedServer } from './bounded-server.ts';

export interface HealthSources {
  /** Undefined: all is well; else what is wrong. A process that is not healthy is restarted: only for what that mends. */
  unhealthy: () => string | undefined;
  unready: () => string | undefined;
  /** Absent: not here. */
  metrics?: () => Buffer;
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

/** A rendering is work and memory for each node of the cluster: whoever asks within a second gets the same. */
export function onceASecond(clock: Clock, render: () => string): () => Buffer {
  let rendered: { text: Buffer; atMs: number } | undefined;
  return () => {
    const atMs = clock.monotonic();
    if (rendered === undefined || atMs - rendered.atMs >= 1000) rendered = { text: Buffer.from(render()), atMs };
    return rendered.text;
  };
}

export function healthServer(
  sources: HealthSources,
  options: { clock: Clock; bounds?: Partial<ServerBounds> },
): BoundedServer {
  return new BoundedServer({ ...options, answer: (request) => answer(request, sources) });
}

export function pathOf({ url }: IncomingMessage): string {
  return (url ?? '').split('?', 1)[0] ?? '';
}

/** Undefined: it is asked for as it should be. */
export function wrongMethod({ method }: IncomingMessage): Answer | undefined {
  return method === 'GET' || method === 'HEAD' ? undefined : { status: 405, text: 'GET or HEAD only\n' };
}

export function metricsAnswer(text: Buffer): Answer {
  return { status: 200, text, headers: { 'content-type': contentType } };
}

function answer(request: IncomingMessage, { unhealthy, unready, metrics }: HealthSources): Answer {
  const wrong = wrongMethod(request);
  if (wrong !== undefined) return wrong;
  const path = pathOf(request);
  if (path === '/healthz') return verdictOf(unhealthy());
  if (path === '/readyz') return verdictOf(unready());
  if (path === '/metrics' && metrics !== undefined) return metricsAnswer(metrics());
  return { status: 404, text: `there are ${metrics === undefined ? '' : '/metrics, '}/healthz and /readyz\n` };
}

function verdictOf(problem: string | undefined): Answer {
  return problem === undefined ? { status: 200, text: 'ok\n' } : { status: 503, text: `${problem}\n` };
}
