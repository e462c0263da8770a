import assert from 'node:assert/strict';
import * as http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { ConsoleServer } from './console-server.ts';
import type { ConsoleSource, Snapshot } from './snapshot.ts';

const clock = manualClock();
const acts: string[] = [];
let notify: () => void = () => {};
let pictures = 0;
const source: ConsoleSource = {
  snapshot: (): Snapshot => ({ at: String((pictures += 1)), nodes: [], waiting: [], story: [] }),
  onChange: (callback) => {
    notify = callback;
    return () => {
      notify = () => {};
    };
  },
  act: (node, action) => {
    if (node !== 'a b') return false;
    acts.push(action);
    return true;
  },
};

function ask(
  port: number,
  options: http.RequestOptions,
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
    request.end();
  });
}

describe('console server', () => {
  const server = new ConsoleServer(source, clock);
  let port = 0;
  before(async () => {
    port = await server.listen(0);
  });
  after(() => server.close());

  test('the page answers to GET and HEAD, and loads nothing from elsewhere', async () => {
    const page = await ask(port, { path: '/' });
    assert.equal(page.status, 200);
    assert.match(page.text, /<title>Fenceline<\/title>/);
    assert.equal(page.headers['content-security-policy'], "default-src 'self'; img-src 'self' data:");
    const head = await ask(port, { path: '/', method: 'HEAD' });
    assert.deepEqual(
      [head.status, head.text, head.headers['content-length']],
      [200, '', String(Buffer.byteLength(page.text))],
    );
    for (const path of ['/page.js', '/page.css']) assert.equal((await ask(port, { path })).status, 200);
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
    assert.equal(await post('/', { headers }), 405);
    assert.equal(await post('/nodes/a%20b/power-off', { headers: { ...headers, host: 'evil.example' } }), 403);
    for (const action of ['drain', 'uncordon']) assert.equal(await post(`/nodes/a%20b/${action}`), 202);
    assert.deepEqual(acts, ['power-off', 'drain', 'uncordon']);
  });

  test('changes are streamed, a burst of them as one picture', async () => {
    const response = await new Promise<http.IncomingMessage>((resolve) => {
      http.get({ host: '127.0.0.1', port, path: '/events' }, resolve);
    });
    const body = response[Symbol.asyncIterator]();
    const next = async (): Promise<string> => String((await body.next()).value);
    const first = await next();
    assert.match(first, /^data: \{"at":"\d+"/);
    const before = pictures;
    notify();
    notify();
    notify();
    clock.advance(100);
    assert.match(await next(), /^data: /);
    assert.equal(pictures, before + 1);
    response.destroy();
  });
});
