/** Two hundred requests that nobody honest sends: each is refused, nothing is done, and the console answers on. */
import assert from 'node:assert/strict';
import * as http from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { loadAssets } from '../../src/console/assets.ts';
import { UserError } from '../../src/cli/user-error.ts';
import type { Session } from '../../src/console/console-server.ts';
import { ConsoleServer } from '../../src/console/console-server.ts';
import { Rehearsals } from '../../src/console/rehearsals.ts';

const done: string[] = [];
const session: Session = {
  source: { parts: () => new Map(), onChange: () => () => {}, nowMs: 0, silentMs: 0, watchers: 0 },
  act: async ({ act, node }) => {
    done.push(`${act} ${node}`);
    return { ok: true, text: 'done' };
  },
  read: async () => {
    done.push('read');
    throw new UserError('not here');
  },
};
const good = { 'x-fenceline-console': '1', authorization: 'Bearer good' };
let port = 0;
let server: ConsoleServer;

before(async () => {
  const admit = async ({ headers }: http.IncomingMessage) =>
    headers.authorization === good.authorization ? session : ({ status: 401, text: 'sign in' } as const);
  const machines = {
    act: () => Boolean(done.push('machine')),
    actZone: () => Boolean(done.push('zone')),
    time: () => Boolean(done.push('time')),
  };
  const start = (): never => {
    done.push('rehearsal');
    throw new Error('none is to be started');
  };
  const rehearsals = new Rehearsals({ clock: realClock, start, memoryMiB: 1 });
  server = new ConsoleServer({ clock: realClock, gate: { admit }, assets: await loadAssets(), machines, rehearsals });
  port = await server.listen(0);
});
after(() => server.close());

interface Sent {
  method?: string;
  path: string;
  headers?: http.OutgoingHttpHeaders;
  body?: string | Buffer;
}

function ask({ method = 'GET', path, headers = {}, body }: Sent): Promise<number> {
  return new Promise((resolve) => {
    const request = http.request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
      if (response.headers['content-type'] === 'text/event-stream') request.destroy();
    });
    // What is cut off was refused, too.
    request.on('error', () => resolve(0));
    request.end(body);
  });
}

/** As it is, whatever HTTP says of it. */
function raw(text: string): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
      socket.end();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)));
  });
}

const script = '<script>alert(1)</script>';
const paths = [
  '/acts/fence/node-1',
  '/acts/stop/node-1',
  '/nodes/node-1/power-off',
  '/zones/z1/partition',
  '/rehearsals',
  '/time/60',
];
const body = JSON.stringify({ typed: 'node-1' });
const post = (path: string, headers: http.OutgoingHttpHeaders, sent: string | Buffer = body): Sent => ({
  method: 'POST',
  path,
  headers,
  body: sent,
});

const requests: Sent[] = [
  // No token, or one that nobody knows.
  ...paths.flatMap((path) => [
    post(path, { 'x-fenceline-console': '1' }),
    post(path, { ...good, authorization: 'Bearer bad' }),
    post(path, { ...good, authorization: 'Basic good' }),
  ]),
  { path: '/events' },
  { path: '/events?page=node/node-1', headers: { authorization: 'Bearer ' } },
  { path: '/whoami' },
  // From another page.
  ...paths.flatMap((path) => [
    post(path, { authorization: good.authorization }),
    post(path, { ...good, origin: 'https://evil.example' }),
    post(path, { ...good, origin: 'null' }),
    post(path, { ...good, 'sec-fetch-site': 'cross-site' }),
    post(path, { ...good, 'sec-fetch-site': 'same-site' }),
    post(path, { ...good, host: 'evil.example' }),
    post(path, { ...good, host: `127.0.0.1.evil.example:${port}` }),
    post(path, { ...good, host: `evil.example:${port}` }),
  ]),
  ...['evil.example', 'localhost.evil.example', '0.0.0.0', '169.254.169.254'].flatMap((host) => [
    { path: '/', headers: { host } },
    { path: '/page.js', headers: { host } },
    { path: '/events', headers: { ...good, host } },
  ]),
  // Out of what is served.
  ...[
    '/../package.json',
    '/..%2f..%2fpackage.json',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/page/main.tsx',
    '/page.js/../../x',
    '//etc/passwd',
    '/.git/config',
    '/index.html',
    '/console-server.ts',
    '/page.js%00',
    '/constructor',
    '/__proto__',
    '/toString',
    `/${script}`,
    `/${'a/'.repeat(400)}`,
  ].map((path) => ({ path, headers: good })),
  // What there is not, and odd methods.
  ...['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'].flatMap((method) =>
    ['/', '/events', ...paths].map((path) => ({ method, path, headers: good })),
  ),
  ...[
    '/acts/explode/node-1',
    '/acts//node-1',
    '/acts/fence',
    '/session',
    `/acts/${script}/node-1`,
    '/acts/__proto__/x',
    '/acts/constructor/x',
    '/acts',
    '/',
  ].map((path) => post(path, good)),
  // Bodies that are none, or too large.
  ...['{', '[]', '"x"', 'null', '7', '{"typed":', '\0\0', '<xml/>', 'typed=node-1'].map((sent) =>
    post('/acts/fence/node-1', good, sent),
  ),
  ...[17_000, 100_000, 3_000_000].map((size) => post('/acts/fence/node-1', good, `{"typed":"${'x'.repeat(size)}"}`)),
  // Rehearsals of what there is not, for ever, and of texts that are too long.
  ...[
    {},
    { what: 'node' },
    { what: 'everything', which: 'node-1' },
    { what: '__proto__', which: 'node-1' },
    { what: ['node'], which: 'node-1' },
    { what: 'node', which: { length: 1 } },
    { what: 'node', which: 'x'.repeat(10_000) },
    { what: 'node', which: 'node-1', runFor: '9999h' },
    { what: 'node', which: 'node-1', runFor: '1e9h' },
    { what: 'node', which: 'node-1', runFor: -1 },
    { what: 'node', which: 'node-1', endsAfter: '$(reboot)' },
    { what: 'node', which: 'node-1', policy: ['x'] },
    { what: 'node', which: 'node-1', policy: 'x'.repeat(40_000) },
    { what: 'node', which: 'node-1', policy: 'x'.repeat(100_000) },
    { what: 'node', which: 'node-1', policy: script, runFor: script },
  ].map((asked) => post('/rehearsals', good, JSON.stringify(asked))),
  ...['{', '[]', 'null', '', 'what=node&which=node-1'].map((sent) => post('/rehearsals', good, sent)),
  { path: '/rehearsals', headers: good },
  { path: '/rehearsals?what=node&which=node-1', headers: good },
  ...Array.from({ length: 10 }, (_, index) => ({
    path: '/',
    headers: { ...good, [`x-${index}`]: 'a'.repeat(20_000) },
  })),
  ...Array.from({ length: 61 }, (_, index) => ({
    path: `/${String.fromCodePoint(0x40 + index)}${index}`,
    headers: good,
  })),
];

describe('[SEC-5] hostile requests', () => {
  test('two hundred and more: every one is refused, and nothing is done', async () => {
    assert.ok(requests.length >= 200, String(requests.length));
    const taken: string[] = [];
    for (const request of requests) {
      const status = await ask(request);
      const isRefused = status === 0 || (status >= 400 && status < 500);
      if (!isRefused) taken.push(`${status} ${request.method ?? 'GET'} ${request.path.slice(0, 80)}`);
    }
    assert.deepEqual(taken, []);
    assert.deepEqual(done, []);
    assert.equal(await ask({ path: '/' }), 200, 'it answers on');
    assert.equal(await ask(post('/acts/stop/node-1', good)), 200);
    assert.deepEqual(done.splice(0), ['stop node-1']);
  });

  test('what is no HTTP at all, a request that is smuggled in another, and a body that never comes', async () => {
    const head = `Host: 127.0.0.1:${port}\r\nX-Fenceline-Console: 1\r\nAuthorization: Bearer good\r\n`;
    const odd = [
      'nonsense\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00',
      `POST /acts/fence/node-1 HTTP/1.1\r\n${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /acts/fence/node-1 HTTP/1.1\r\n\r\n`,
      `POST /acts/fence/node-1 HTTP/1.1\r\n${head}Content-Length: -1\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n`,
      `GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
      `POST /acts/fence/node-1 HTTP/1.1\r\n${head}Content-Length: 500\r\n\r\n{"typed":`,
    ];
    const statuses = await Promise.all(odd.map(raw));
    assert.deepEqual(
      statuses.filter((status) => status !== 0 && (status < 400 || status > 499)),
      [],
    );
    assert.equal(statuses.at(-1), 408, 'a slow body is given up');
    assert.deepEqual(done, []);
    assert.equal(await ask({ path: '/' }), 200);
  });
});
