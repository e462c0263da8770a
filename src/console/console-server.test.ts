import assert from 'node:assert/strict';
import * as http from 'node:http';
import * as net from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Asked } from './acts.ts';
import type { ConsoleServerOptions } from './console-server.ts';
import { ConsoleServer } from './console-server.ts';
import type { ConsoleSource } from './source.ts';

const clock = manualClock();
const acts: string[] = [];
const asked: Asked[] = [];
let notify: () => void = () => {};
let pictures = 0;
const parts = new Map<string, unknown>([
  ['node/a', { name: 'a' }],
  ['head', { text: 'well' }],
]);
const source: ConsoleSource = {
  parts: () => {
    pictures += 1;
    return parts;
  },
  onChange: (callback) => {
    notify = callback;
    return () => {
      notify = () => {};
    };
  },
  nowMs: 0,
  silentMs: 0,
  watchers: 0,
};
const asset = (type: string, text: string) => ({ type, body: Buffer.from(text), etag: `"${text.length}"` });
const options: ConsoleServerOptions = {
  clock,
  gate: {
    admit: async () => ({
      source,
      act: async (one) => {
        asked.push(one);
        return one.node === 'a b' ? { ok: true, text: 'done so' } : { ok: false, text: 'refused' };
      },
      read: () => Promise.reject(new Error('nothing is rehearsed here')),
    }),
  },
  assets: new Map([
    ['/', asset('text/html', '<title>Fenceline</title>')],
    ['/page.js', asset('text/javascript', '1')],
  ]),
  machines: {
    act: (node, action) => {
      if (node !== 'a b' || action === 'explode') return false;
      acts.push(action);
      return true;
    },
    actZone: (zone) => zone === 'z1',
    time: (rate) => rate === '10',
  },
};

/** Opens a stream and leaves it open. */
function open(port: number): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = http.get({ host: '127.0.0.1', port, path: '/events', agent: false }, resolve);
    asked.on('error', reject);
  });
}

function ask(
  port: number,
  options: http.RequestOptions & { body?: string },
): Promise<{ status: number; text: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: response.headers,
        }),
      );
    });
    request.on('error', reject);
    request.end(options.body);
  });
}

describe('console server', () => {
  const server = new ConsoleServer(options);
  let port = 0;
  before(async () => {
    port = await server.listen(0);
  });
  after(() => server.close());

  test('the page answers to GET and HEAD, and loads nothing from elsewhere', async () => {
    const page = await ask(port, { path: '/' });
    assert.equal(page.status, 200);
    assert.match(page.text, /<title>Fenceline<\/title>/);
    assert.match(
      String(page.headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    const head = await ask(port, { path: '/', method: 'HEAD' });
    assert.deepEqual(
      [head.status, head.text, head.headers['content-length']],
      [200, '', String(Buffer.byteLength(page.text))],
    );
    assert.equal((await ask(port, { path: '/page.js' })).status, 200);
    const { etag = '' } = page.headers;
    assert.equal((await ask(port, { path: '/', headers: { 'if-none-match': etag } })).status, 304);
    assert.equal((await ask(port, { path: '/../../package.json' })).status, 404);
  });

  test('an action comes from the page, names a machine and something that can be done to it', async () => {
    const headers = { 'x-fenceline-console': '1' };
    const post = (path: string, more: http.RequestOptions = { headers }): Promise<number> =>
      ask(port, { method: 'POST', path, ...more }).then(({ status }) => status);
    assert.equal(await post('/nodes/a%20b/power-off'), 202);
    assert.equal(await post('/nodes/a%20b/power-off', {}), 403, 'another site can send a POST, but not our header');
    assert.equal(await post('/nodes/b/power-off'), 404);
    assert.equal(await post('/nodes/%zz/power-off'), 404);
    assert.equal(await post('/nodes/a%20b/explode'), 404);
    assert.equal(await post('/', { headers }), 404);
    assert.equal((await ask(port, { method: 'PUT', path: '/' })).status, 405);
    assert.equal(await post('/nodes/a%20b/power-off', { headers: { ...headers, host: 'evil.example' } }), 403);
    const foreign = { ...headers, origin: 'https://evil.example' };
    assert.equal(await post('/nodes/a%20b/power-off', { headers: foreign }), 403);
    assert.equal(
      await post('/nodes/a%20b/power-off', { headers: { ...headers, 'sec-fetch-site': 'cross-site' } }),
      403,
    );
    assert.equal(await post('/zones/z1/partition'), 202);
    assert.equal(await post('/zones/z9/partition'), 404);
    assert.equal(await post('/time/10'), 202);
    assert.equal(await post('/time/1000'), 404);
    assert.equal(await post('/time'), 404);
    for (const action of ['drain', 'uncordon']) assert.equal(await post(`/nodes/a%20b/${action}`), 202);
    assert.deepEqual(acts, ['power-off', 'drain', 'uncordon']);
  });

  test('what is done to a node is what was asked for, with what was typed; a body has its limits', async () => {
    const headers = { 'x-fenceline-console': '1' };
    const post = async (path: string, body: string): Promise<[number, string]> => {
      const { status, text } = await ask(port, { method: 'POST', path, headers, body });
      return [status, text.trim()];
    };
    assert.deepEqual(await post('/acts/fence/a%20b', '{"typed":"a b"}'), [200, 'done so']);
    assert.deepEqual(asked, [{ act: 'fence', node: 'a b', typed: 'a b' }]);
    assert.deepEqual(await post('/acts/approve/c', '{"incident":"c-1","typed":7}'), [409, 'refused']);
    assert.deepEqual(asked[1], { act: 'approve', node: 'c', incident: 'c-1' });
    assert.equal((await post('/acts/explode/c', ''))[0], 404);
    assert.equal((await post('/acts/fence', ''))[0], 404);
    assert.equal((await post('/acts/stop/c', '[]'))[0], 400);
    assert.equal((await post('/acts/stop/c', '{'))[0], 400);
    assert.equal((await post('/acts/stop/c', `"${'x'.repeat(20_000)}"`))[0], 413);
    assert.equal((await post('/session', '{"token":"t"}'))[0], 404, 'nobody has to sign in');
    assert.equal((await post('/rehearsals', '{}'))[0], 404, 'nothing can be rehearsed here');
    assert.equal(asked.length, 2);
  });

  test('of two names nobody knows which is meant', async () => {
    const head = 'GET /page.js HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\n';
    const answer = (rest: string): Promise<string> => {
      const socket = net.connect(port, '127.0.0.1');
      socket.end(`${head}${rest}\r\n`);
      return text(socket);
    };
    assert.match(await answer(''), /^HTTP\/1\.1 200 /);
    assert.match(await answer('Host: evil.example\r\n'), /^HTTP\/1\.1 4\d\d /);
  });

  test('changes are streamed, a burst of them as one message, and of all parts those that are new', async () => {
    const response = await new Promise<http.IncomingMessage>((resolve) => {
      http.get({ host: '127.0.0.1', port, path: '/events' }, resolve);
    });
    const body = response[Symbol.asyncIterator]();
    const next = async (): Promise<{ set: unknown; gone: string[] }> =>
      JSON.parse(String((await body.next()).value).replace('data: ', '')) as { set: unknown; gone: string[] };
    assert.deepEqual((await next()).set, Object.fromEntries(parts));
    const before = pictures;
    parts.set('head', { text: 'not well' });
    parts.delete('node/a');
    notify();
    notify();
    notify();
    clock.advance(100);
    const { set, gone } = await next();
    assert.deepEqual([set, gone], [{ head: { text: 'not well' } }, ['node/a']]);
    assert.equal(pictures, before + 1);
    clock.advance(1000);
    assert.deepEqual((await next()).set, {}, 'the time alone');
    response.destroy();
  });
});

describe('[ADM-4] a console whose gate says no', () => {
  let says: 200 | 401 | 503 = 401;
  let admitted = (): void => {};
  const clockHere = manualClock();
  const gate: ConsoleServerOptions['gate'] = {
    async admit(request) {
      const session = await options.gate.admit(request);
      admitted();
      return says === 200 ? session : { status: says, text: 'not you' };
    },
  };
  const server = new ConsoleServer({ ...options, clock: clockHere, gate });
  let port = 0;
  before(async () => {
    port = await server.listen(0);
  });
  after(() => server.close());
  const statusOf = async (path: string, method = 'GET'): Promise<number> => {
    const headers = { 'x-fenceline-console': '1' };
    return (await ask(port, { path, method, headers })).status;
  };

  test('shows nothing, does nothing and says nothing of who is asked', async () => {
    says = 401;
    const before = [asked.length, acts.length];
    assert.equal(await statusOf('/events'), 401);
    assert.equal(await statusOf('/whoami'), 401);
    for (const path of [
      '/acts/fence/a%20b',
      '/nodes/a%20b/power-off',
      '/zones/z1/partition',
      '/time/10',
      '/rehearsals',
    ])
      assert.equal(await statusOf(path, 'POST'), 401, path);
    assert.deepEqual([asked.length, acts.length], before);
  });

  /** A minute passes, and whoever looks is looked at again. */
  const aMinute = async (): Promise<void> => {
    const looked = new Promise<void>((resolve) => {
      admitted = resolve;
    });
    clockHere.advance(60_000);
    await looked;
    // What comes of it comes after it.
    await new Promise((resolve) => setImmediate(resolve));
  };

  test('a page that is open is closed within a minute of a no, and not because nobody can say', async () => {
    says = 200;
    const stream = await open(port);
    let isOver = false;
    const over = new Promise<void>((resolve) => stream.once('end', () => resolve(void (isOver = true))));
    stream.resume();
    await aMinute();
    says = 503;
    await aMinute();
    assert.equal(isOver, false);
    says = 401;
    await aMinute();
    await over;
  });

  test('only so many pages are open at once; who leaves makes room', async () => {
    says = 200;
    const streams = await Promise.all(Array.from({ length: 256 }, () => open(port)));
    assert.deepEqual([...new Set(streams.map(({ statusCode }) => statusCode))], [200]);
    assert.equal((await open(port)).statusCode, 503);
    for (const stream of streams) stream.destroy();
    for (;;) {
      const next = await open(port);
      next.destroy();
      if (next.statusCode === 200) break;
    }
  });
});
