/** An API server that does what a test says, request by request: lies, lags, repeats itself, breaks off. */
import type { KubeObject } from '../../src/kube/client.ts';
import type { HttpRequest, HttpResponse } from '../../src/kube/transport.ts';
import { TransportError } from '../../src/kube/transport.ts';

interface Waiting {
  request: HttpRequest;
  answer: (response: HttpResponse) => void;
  fail: (error: Error) => void;
}

/** Answers requests by hand: the test takes the next one of a kind, and says what the server does. */
export class ScriptedServer {
  readonly #waiting: Waiting[] = [];

  send = (request: HttpRequest): Promise<HttpResponse> =>
    new Promise((answer, fail) => {
      this.#waiting.push({ request, answer, fail });
      request.signal?.addEventListener('abort', () => fail(new TransportError('aborted', 'aborted')), { once: true });
    });

  /** The next request that is waiting; probes are those with limit=1. */
  async next(kind: 'list' | 'watch' | 'probe' | 'read', about = ''): Promise<Waiting> {
    for (let turn = 0; turn < 200; turn += 1) {
      const at = this.#waiting.findIndex(({ request }) => kindOf(request) === kind && request.path.includes(about));
      const found = at === -1 ? undefined : this.#waiting.splice(at, 1)[0];
      if (found !== undefined) return found;
      await settle();
    }
    throw new Error(`no ${kind} was asked for; waiting: ${this.#waiting.map((one) => one.request.path).join(', ')}`);
  }

  async list(version: string, items: KubeObject[], more?: string, about?: string): Promise<HttpRequest> {
    const { request, answer } = await this.next('list', about);
    const metadata = { resourceVersion: version, ...(more !== undefined && { continue: more }) };
    answer(response(JSON.stringify({ metadata, items })));
    return request;
  }

  async watch(about?: string): Promise<WatchStream> {
    const { request, answer } = await this.next('watch', about);
    const stream = new WatchStream(request);
    answer({ status: 200, headers: {}, body: stream.body() });
    return stream;
  }

  async probe(version: string): Promise<void> {
    (await this.next('probe')).answer(response(JSON.stringify({ metadata: { resourceVersion: version }, items: [] })));
    await settle();
  }
}

export class WatchStream {
  readonly request: HttpRequest;
  #queue: (string | Error | undefined)[] = [];
  #wake: () => void = () => {};

  constructor(request: HttpRequest) {
    this.request = request;
    request.signal?.addEventListener('abort', () => void this.#push(new TransportError('aborted', 'aborted')));
  }

  event(type: string, object: unknown): Promise<void> {
    return this.#push(`${JSON.stringify({ type, object })}\n`);
  }

  raw(text: string): Promise<void> {
    return this.#push(text);
  }

  end(error?: Error): Promise<void> {
    return this.#push(error);
  }

  async *body(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#queue.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (next instanceof Error) throw next;
      yield Buffer.from(next);
    }
  }

  #push(item: string | Error | undefined): Promise<void> {
    this.#queue.push(item);
    this.#wake();
    return settle();
  }
}

function kindOf(request: HttpRequest): string {
  const query = new URLSearchParams(request.path.split('?')[1]);
  if (query.has('watch')) return 'watch';
  if (!query.has('limit')) return 'read';
  return query.get('limit') === '1' ? 'probe' : 'list';
}

export function response(body: string, status = 200, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers,
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  };
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
