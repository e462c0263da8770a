/** The real kube-apiserver over HTTPS. */
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../support/control-plane.ts';
import type { CallOptions, Driver, Json, OpenWatch, Reply, WatchEvent } from './contract.ts';

const patienceMs = 10_000;
const againMs = 100;

/**
 * Whenever a CustomResourceDefinition changes, its own conditions included, the server builds the storage of that kind anew
 * and answers what meets the old one like this. Nothing has happened then, and clients are meant to come again.
 */
function isRebuilding({ status, body }: Reply): boolean {
  return status === 503 && body?.message === 'apiserver is shutting down';
}

export function realDriver(controlPlane: Pick<ControlPlane, 'url' | 'caCert' | 'token'>): Driver & { close(): void } {
  const agent = new Agent({ keepAlive: true, ca: controlPlane.caCert });
  const open = (method: string, path: string, body: unknown, options: CallOptions): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const outgoing = request(
        `${controlPlane.url}${path}`,
        {
          method,
          agent,
          headers: {
            authorization: `Bearer ${controlPlane.token}`,
            accept: options.accept ?? 'application/json',
            'user-agent': 'contract/1',
            'content-type': options.contentType ?? 'application/json',
            // Node sends none with DELETE, and the server then takes the body for the next request.
            'content-length': Buffer.byteLength(payload),
          },
        },
        resolve,
      );
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  const once = async (method: string, path: string, body: unknown, options: CallOptions): Promise<Reply> => {
    const incoming = await open(method, path, body, options);
    let text = '';
    incoming.setEncoding('utf8');
    for await (const chunk of incoming) text += chunk as string;
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([key, value]) => [key, String(value)]));
    return { status: incoming.statusCode ?? 0, headers, body: parsed(text) };
  };
  return {
    async call(method, path, body, options): Promise<Reply> {
      const untilMs = performance.now() + patienceMs;
      for (;;) {
        const reply = await once(method, path, body, options);
        if (!isRebuilding(reply) || performance.now() > untilMs) return reply;
        await delay(againMs);
      }
    },
    async watch(path): Promise<OpenWatch> {
      const incoming = await open('GET', path, undefined, {});
      incoming.on('error', () => {});
      const lines = linesOf(incoming);
      return { status: incoming.statusCode ?? 0, next: () => orNothing(lines.next()), close: () => incoming.destroy() };
    },
    pass: (ms) => delay(ms),
    close: () => agent.destroy(),
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function* linesOf(incoming: IncomingMessage): AsyncGenerator<WatchEvent> {
  let rest = '';
  incoming.setEncoding('utf8');
  for await (const chunk of incoming) {
    const parts = (rest + (chunk as string)).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) yield JSON.parse(line) as WatchEvent;
  }
}

async function orNothing(next: Promise<IteratorResult<WatchEvent>>): Promise<WatchEvent | undefined> {
  const ended = new AbortController();
  const nothing = delay(patienceMs, 'nothing' as const, { signal: ended.signal });
  nothing.catch(() => {});
  const first = await Promise.race([next, nothing]);
  ended.abort();
  if (first === 'nothing') throw new Error('no event came');
  return first.done ? undefined : first.value;
}
