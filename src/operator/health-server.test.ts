/** What strangers can cause at the port of probes and metrics, by real sockets. What is counted are acts, never seconds. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { BoundedServer, ServerBounds } from './bounded-server.ts';
import { healthServer, onceASecond, parseBindAddress } from './health-server.ts';

const clock = manualClock();
const sockets: Socket[] = [];
let server: BoundedServer | undefined;
let port = 0;
let renders = 0;
let asked = 0;

async function start(bounds: Partial<ServerBounds> = {}, bytes = 100_000): Promise<BoundedServer> {
  renders = 0;
  asked = 0;
  const metrics = onceASecond(clock, () => {
    renders += 1;
    return `rendered ${renders}\n`.padEnd(bytes, '.');
  });
  const ready = (): undefined => {
    asked += 1;
  };
  // The addresses of tests are all the same.
  const many = { aSecond: 100_000, connectionsOfOne: 1000 };
  server = healthServer(
    { unhealthy: ready, unready: () => 'not yet', metrics },
    { clock, bounds: { ...many, ...bounds } },
  );
  port = await server.listen({ host: '127.0.0.1', port: 0 });
  return server;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
});

function visitor(localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

/** However it ends. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

/** Everything that comes until the connection is over. */
async function answerTo(text: string, socket = visitor()): Promise<string> {
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
  });
  socket.write(text);
  await closed(socket);
  return answer;
}

const ask = (path: string, method = 'GET'): string => `${method} ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const statusesIn = (answer: string): string[] => [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code = '']) => code);
const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4);

describe('the port of probes and metrics', { timeout: 60_000 }, () => {
  test('answers what it has, and says what that is', async () => {
    await start();
    assert.equal(bodyOf(await answerTo(ask('/healthz'))), 'ok\n');
    assert.match(await answerTo(ask('/readyz?verbose=1')), /^HTTP\/1\.1 503 [^]*\r\n\r\nnot yet\n$/);
    assert.match(await answerTo(ask('/metrics')), /content-type: text\/plain; version=0\.0\.4/);
    assert.equal(bodyOf(await answerTo(ask('/metrics', 'HEAD'))), '');
    assert.match(
      await answerTo(ask('/')),
      /^HTTP\/1\.1 404 [^]*\r\n\r\nthere are \/metrics, \/healthz and \/readyz\n$/,
    );
  });

  test('[SEC-5] however many ask for metrics, they are rendered once a second, and all get the same', async () => {
    await start();
    const answers = await Promise.all(Array.from({ length: 200 }, () => answerTo(ask('/metrics'))));
    assert.deepEqual([renders, new Set(answers.map(bodyOf)).size], [1, 1]);
    assert.equal(bodyOf(answers[0] ?? '').length, 100_000);
    clock.advance(1000);
    await Promise.all(Array.from({ length: 200 }, () => answerTo(ask('/metrics'))));
    assert.equal(renders, 2);
  });

  test('[SEC-5] of a pipeline of a hundred thousand requests one is answered', async () => {
    await start();
    await answerTo(ask('/healthz').repeat(100_000));
    assert.equal(asked, 1);
  });

  test('[SEC-5] odd methods, upgrades and what is not HTTP are refused, and nothing is looked at', async () => {
    await start();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      assert.deepEqual(statusesIn(await answerTo(ask('/metrics', method))), ['405'], method);
    }
    await answerTo('CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n');
    assert.deepEqual(statusesIn(await answerTo('\u0016\u0003\u0001 hello\r\n\r\n')), ['400']);
    const upgrade = 'POST /metrics HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
    assert.deepEqual(statusesIn(await answerTo(upgrade)), ['405']);
    assert.deepEqual([renders, asked], [0, 0]);
  });

  test('[SEC-5] endless headers are cut off, in one line or in many', async () => {
    await start();
    assert.deepEqual(statusesIn(await answerTo(`GET /healthz HTTP/1.1\r\nhost: x\r\na: ${'b'.repeat(10_000)}`)), [
      '431',
    ]);
    const many = Array.from({ length: 2000 }, (_, at) => `h${at}: v\r\n`).join('');
    assert.deepEqual(statusesIn(await answerTo(`GET /healthz HTTP/1.1\r\nhost: x\r\n${many}`)), ['431']);
    assert.deepEqual(statusesIn(await answerTo(`GET /${'a'.repeat(10_000)}`)), ['431']);
    assert.equal(asked, 0);
  });

  test('[SEC-5] a huge body is not waited for, and not read', async () => {
    await start();
    for (const head of [`content-length: ${2 ** 40}`, 'transfer-encoding: chunked', 'expect: 100-continue']) {
      const socket = visitor();
      const answer = answerTo(`POST /metrics HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n`, socket);
      let pieces = 0;
      while (!socket.destroyed && pieces < 10_000) {
        pieces += 1;
        if (!socket.write(`fffff\r\n${'x'.repeat(0xfffff)}\r\n`)) {
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed(socket)]);
        }
      }
      assert.doesNotMatch(await answer, /100 Continue/);
      assert.ok(pieces < 10_000, `${head}: ${pieces} MiB were taken`);
    }
    assert.equal(renders, 0);
  });

  test('[SEC-5] who sends headers drop by drop, or nothing at all, is left', async () => {
    const running = await start({ requestMs: 300 });
    const silent = visitor();
    const slow = visitor();
    slow.write('GET /healthz HTTP/1.1\r\n');
    const drops = setInterval(() => slow.write('a: b\r\n'), 20);
    await Promise.all([closed(silent.resume()), closed(slow.resume())]);
    clearInterval(drops);
    await waitFor('nobody', () => running.open === 0);
    assert.equal(asked, 0);
  });

  test('[SEC-5] who does not take the answer is left', async () => {
    // More than the buffers of the kernel, or it would be taken by these.
    const running = await start({}, 64 * 2 ** 20);
    const socket = visitor().pause();
    socket.write(ask('/metrics'));
    await waitFor('the request', () => renders === 1);
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    assert.equal(running.open, 1);
    clock.advance(10_000);
    await waitFor('nobody', () => running.open === 0);
  });

  test('[SEC-5] so many connections of one address, and those of others are taken all the same', async () => {
    const running = await start({ connectionsOfOne: 4 });
    const first = visitor();
    await waitFor('the first', () => running.open === 1);
    const hoard = Array.from({ length: 40 }, () => visitor());
    await waitFor('the rest to be refused', () => running.refused === 37);
    assert.equal(running.open, 4);
    // Whoever leaves makes room for one, and not for as many again.
    first.destroy();
    await waitFor('one to be gone', () => running.open === 3);
    hoard.push(visitor(), visitor());
    await waitFor('one of two to be refused', () => running.refused === 38);
    assert.equal(running.open, 4);
    const probe = visitor('127.0.0.2');
    assert.equal(bodyOf(await answerTo(ask('/healthz'), probe)), 'ok\n');
    for (const socket of hoard) socket.destroy();
    await waitFor('nobody', () => running.open === 0);
    assert.equal(bodyOf(await answerTo(ask('/healthz'))), 'ok\n');
  });

  test('[SEC-5] so many of one address in a second, and so many of all at a time', async () => {
    const running = await start({ aSecond: 5, connections: 8 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => answerTo(ask('/healthz'))));
    assert.equal(answers.filter((answer) => answer !== '').length, 5);
    assert.deepEqual([asked, running.refused], [5, 45]);
    clock.advance(1000);
    const hoard = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].flatMap((from) => [1, 2, 3, 4].map(() => visitor(from)));
    await waitFor('four to be refused', () => running.refused === 49);
    assert.equal(running.open, 8);
    for (const socket of hoard) socket.destroy();
  });

  test('it ends at once, whoever holds a connection open', async () => {
    const running = await start();
    const socket = visitor();
    await waitFor('a connection', () => running.open === 1);
    await Promise.all([closed(socket.resume()), running.close()]);
    await waitFor('nobody', () => running.open === 0);
  });
});

test('addresses to listen on are read as everybody writes them', () => {
  assert.deepEqual(parseBindAddress(':8080'), { port: 8080 });
  assert.deepEqual(parseBindAddress('[::1]:0'), { host: '::1', port: 0 });
  assert.throws(() => parseBindAddress('8080'), /write HOST:PORT/);
});
