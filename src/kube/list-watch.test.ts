/** What no real server can be made to do at will: lie, lag, repeat itself, break off in the middle of a page. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { KubeObject } from './client.ts';
import { KubeClient } from './client.ts';
import { ListWatch } from './list-watch.ts';
import { configMaps } from './resources.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { TransportError } from './transport.ts';
import type { Change } from './view.ts';

interface Waiting {
  request: HttpRequest;
  answer: (response: HttpResponse) => void;
  fail: (error: Error) => void;
}

/** Answers requests by hand: the test takes the next one of a kind, and says what the server does. */
class ScriptedServer {
  readonly #waiting: Waiting[] = [];

  send = (request: HttpRequest): Promise<HttpResponse> =>
    new Promise((answer, fail) => {
      this.#waiting.push({ request, answer, fail });
      request.signal?.addEventListener('abort', () => fail(new TransportError('aborted', 'aborted')), { once: true });
    });

  /** The next request that is waiting; probes are those with limit=1. */
  async next(kind: 'list' | 'watch' | 'probe'): Promise<Waiting> {
    for (let turn = 0; turn < 200; turn += 1) {
      const at = this.#waiting.findIndex(({ request }) => kindOf(request) === kind);
      const found = at === -1 ? undefined : this.#waiting.splice(at, 1)[0];
      if (found !== undefined) return found;
      await settle();
    }
    throw new Error(`no ${kind} was asked for; waiting: ${this.#waiting.map((one) => one.request.path).join(', ')}`);
  }

  async list(version: string, items: KubeObject[], more?: string): Promise<HttpRequest> {
    const { request, answer } = await this.next('list');
    const metadata = { resourceVersion: version, ...(more !== undefined && { continue: more }) };
    answer(response(JSON.stringify({ metadata, items })));
    return request;
  }

  async watch(): Promise<WatchStream> {
    const { request, answer } = await this.next('watch');
    const stream = new WatchStream(request);
    answer({ status: 200, headers: {}, body: stream.body() });
    return stream;
  }

  async probe(version: string): Promise<void> {
    (await this.next('probe')).answer(response(JSON.stringify({ metadata: { resourceVersion: version }, items: [] })));
    await settle();
  }
}

class WatchStream {
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
  return query.get('limit') === '1' ? 'probe' : 'list';
}

function response(body: string, status = 200, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers,
    body: (async function* () {
      yield Buffer.from(body);
    })(),
  };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function object(name: string, resourceVersion: string, uid = `uid-${name}`): KubeObject {
  return { metadata: { name, namespace: 'ns', uid, resourceVersion } };
}

function begin(
  options: { onChange?: (change: Change<string>) => void; project?: (object: KubeObject) => string } = {},
) {
  const server = new ScriptedServer();
  const clock = manualClock();
  const client = new KubeClient({
    transport: { send: server.send, close: () => {} },
    clock,
    userAgent: 't',
    fieldManager: 't',
  });
  const log: string[] = [];
  const problems: string[] = [];
  const subject = new ListWatch<string>({
    client,
    clock,
    random: () => 1,
    resource: configMaps,
    project: options.project ?? ((one) => one.metadata.resourceVersion ?? ''),
    onChange:
      options.onChange ??
      ((change) => log.push(`${change.type} ${change.entry.key} ${change.entry.value} ${change.entry.uid}`)),
    onProblem: (problem) => problems.push(`${problem.kind}: ${problem.message}`),
  });
  const stop = new AbortController();
  const running = subject.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  /** Lets back-off and other timers pass until the list-watch asks for something again. */
  const pass = async (ms: number): Promise<void> => {
    await settle();
    clock.advance(ms);
    await settle();
  };
  return { server, clock, subject, log, problems, running, end, pass };
}

describe('list-watch', () => {
  test('pages are put together, and the watch begins where the list ended', async () => {
    const { server, log, end } = begin();
    await server.list('10', [object('a', '3')], 'token 1');
    const second = await server.list('10', [object('b', '4')]);
    assert.match(second.path, /continue=token\+1/);
    const watch = await server.watch();
    assert.match(watch.request.path, /resourceVersion=10&/);
    assert.match(watch.request.path, /allowWatchBookmarks=true/);
    await watch.event('MODIFIED', object('a', '11'));
    assert.deepEqual(log, ['added ns/a 3 uid-a', 'added ns/b 4 uid-b', 'updated ns/a 11 uid-a']);
    await end();
  });

  test('a continue token that expired, and pages of different versions, begin the list anew and show nothing of the old one', async () => {
    const { server, log, problems, end, pass } = begin();
    await server.list('10', [object('a', '3')], 'more');
    (await server.next('list')).answer(response(JSON.stringify({ message: 'expired', reason: 'Expired' }), 410));
    await pass(200);
    const fresh = await server.list('11', [object('b', '4')], 'more');
    assert.doesNotMatch(fresh.path, /continue/);
    await server.list('12', []);
    await pass(400);
    await server.list('20', [object('c', '5')]);
    await server.watch();
    assert.deepEqual(log, ['added ns/c 5 uid-c']);
    assert.match(problems.join('\n'), /gone.*\n.*different versions/);
    await end();
  });

  test('the view never goes back in time: an older list is refused, old and repeated events are dropped', async () => {
    const { server, log, subject, problems, end, pass } = begin();
    await server.list('100', [object('a', '90')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '110'));
    await watch.event('MODIFIED', object('a', '110'));
    await watch.event('MODIFIED', object('a', '105'));
    await watch.event('DELETED', object('a', '99'));
    await watch.event('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
    await pass(200);
    await server.list('108', []);
    await pass(400);
    await server.list('111', [object('a', '110')]);
    assert.deepEqual(log, ['added ns/a 90 uid-a', 'updated ns/a 110 uid-a']);
    assert.equal(subject.statistics.duplicates, 3);
    assert.match(problems.join('\n'), /server is at version 108, the view at 110/);
    await end();
  });

  test('versions are compared as numbers', async () => {
    const { server, log, end } = begin();
    await server.list('99', [object('a', '9')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '100'));
    assert.equal(log.at(-1), 'updated ns/a 100 uid-a');
    await end();
  });

  test('a recreated object is a delete and an add, in a watch and in a list', async () => {
    const { server, log, end, pass } = begin();
    await server.list('10', [object('a', '5', 'first')]);
    const watch = await server.watch();
    await watch.event('MODIFIED', object('a', '11', 'second'));
    await watch.event('ERROR', { code: 410, message: 'too old' });
    await pass(200);
    await server.list('20', [object('a', '15', 'third')]);
    await server.watch();
    assert.deepEqual(log, [
      'added ns/a 5 first',
      'deleted ns/a 5 first',
      'added ns/a 11 second',
      'deleted ns/a 11 second',
      'added ns/a 15 third',
    ]);
    await end();
  });

  test('a bookmark is where the next watch begins', async () => {
    const { server, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '500' } });
    await watch.end();
    await pass(0);
    assert.match((await server.watch()).request.path, /resourceVersion=500&/);
    await end();
  });

  test('it never stops for good: refused, broken, cut short, not JSON, without versions, of unknown type', async () => {
    const { server, log, problems, end, pass } = begin();
    (await server.next('list')).fail(new TransportError('notSent', 'connection refused'));
    await pass(200);
    (await server.next('list')).answer(response('{"metadata":{"resourceVersion":"10"},"items":[{"metadata"'));
    await pass(400);
    (await server.next('list')).answer(response('{"metadata":{},"items":[]}'));
    await pass(800);
    (await server.next('list')).answer(response('forbidden', 403));
    await pass(1600);
    await server.list('10', []);
    await (await server.watch()).raw('{"type":"ADDED"\n');
    await pass(3200);
    await (await server.watch()).event('SURPRISE', object('a', '11'));
    await pass(6400);
    await (await server.watch()).event('ADDED', { metadata: { name: 'a' } });
    await pass(12_800);
    await (await server.watch()).end(new TransportError('broken', 'reset'));
    await pass(25_600);
    await (await server.watch()).event('ADDED', object('b', '12'));
    assert.deepEqual(log, ['added ns/b 12 uid-b']);
    assert.equal(problems.length, 8, problems.join('\n'));
    await end();
  });

  test('Retry-After is respected', async () => {
    const { server, end, pass, clock } = begin();
    (await server.next('list')).answer(response('{}', 429, { 'retry-after': '7' }));
    await pass(6900);
    await assert.rejects(server.next('list'), /no list was asked for/);
    clock.advance(200);
    await server.list('1', []);
    await end();
  });

  test('a server that ends every watch at once is not asked without pause', async () => {
    const { server, end, pass } = begin();
    await server.list('10', []);
    await (await server.watch()).end();
    await assert.rejects(server.next('watch'), /no watch was asked for/);
    await pass(100);
    await server.watch();
    await end();
  });

  test('what a callback or a projection throws is not swallowed: it ends the run', async () => {
    for (const options of [
      {
        onChange: () => {
          throw new SyntaxError('mine');
        },
      },
      {
        project: () => {
          throw new SyntaxError('mine');
        },
      },
    ]) {
      const inList = begin(options);
      const listEnds = assert.rejects(inList.running, /mine/);
      await inList.server.list('10', [object('a', '3')]);
      await listEnds;
      const inWatch = begin(options);
      const watchEnds = assert.rejects(inWatch.running, /mine/);
      await inWatch.server.list('10', []);
      await (await inWatch.server.watch()).event('ADDED', object('a', '11'));
      await watchEnds;
    }
  });

  test('age: counted from what the server was asked, not from what arrives', async () => {
    const { server, clock, subject, end, pass } = begin();
    assert.equal(subject.ageMs, Infinity);
    const first = await server.next('list');
    clock.advance(300);
    first.answer(response('{"metadata":{"resourceVersion":"10"},"items":[]}'));
    const watch = await server.watch();
    assert.equal(subject.ageMs, 300, 'a list is as old as its question');

    await pass(4700);
    await server.probe('20');
    assert.equal(subject.ageMs, 5000, 'the server is at 20, the watch still at 10');
    clock.advance(1000);
    await watch.event('ADDED', object('a', '15'));
    assert.equal(subject.ageMs, 6000, 'an event that arrives now may be old');
    await watch.event('ADDED', object('b', '20'));
    assert.equal(subject.ageMs, 1000, 'now the watch has passed what the server was at a second ago');
    await end();
  });

  test('age: a bookmark settles every question that it has passed, so that a quiet view is never older than it must be', async () => {
    const { server, subject, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    for (let turn = 1; turn <= 12; turn += 1) {
      await pass(5000);
      await server.probe(String(10 + turn));
    }
    assert.equal(subject.ageMs, 60_000);
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '21' } });
    assert.equal(subject.ageMs, 5000, 'the server was at 21 five seconds ago');
    await end();
  });

  test('age: a probe that fails makes nothing younger', async () => {
    const { server, subject, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    await pass(5000);
    (await server.next('probe')).fail(new TransportError('broken', 'reset'));
    await watch.event('ADDED', object('a', '30'));
    assert.equal(subject.ageMs, 5000);
    await end();
  });

  test('a watch that falls behind is reopened where it stood, a quiet one that keeps up is not', async () => {
    const { server, subject, problems, end, pass } = begin();
    await server.list('10', []);
    const watch = await server.watch();
    await pass(5000);
    await server.probe('50');
    await pass(55_000);
    await watch.event('BOOKMARK', { metadata: { resourceVersion: '60' } });
    await pass(5000);
    await server.probe('70');
    await pass(89_000);
    assert.equal(subject.statistics.watches, 1);
    await pass(1000);
    await pass(200);
    assert.match((await server.watch()).request.path, /resourceVersion=60&/);
    assert.match(problems.join('\n'), /behind for \d+ s/);
    await end();
  });
});
