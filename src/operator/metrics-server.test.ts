/** Metrics behind their own door, by real TLS; the API server here says what the test wants it to say. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import { metricsDoorOf } from '../cli/metrics-flags.ts';
import type { KubeError } from '../kube/errors.ts';
import { readPair } from './certificate.ts';
import { MetricsServer } from './metrics-server.ts';
import { Reviews } from './reviews.ts';

const away: KubeError = { kind: 'unreachable', message: 'nobody is there', mayHaveHappened: true };
const dir = mkdtempSync(join(tmpdir(), 'fenceline-metrics-'));
after(() => rmSync(dir, { recursive: true }));
const [certFile, keyFile] = [join(dir, 'tls.crt'), join(dir, 'tls.key')];

const authority = createCertificateAuthority();
const issued = (): { certPem: string; keyPem: string } =>
  authority.issue({ commonName: 'fenceline', hosts: ['127.0.0.1'] });

function replace({ certPem, keyPem }: { certPem: string; keyPem: string }): void {
  writeFileSync(certFile, certPem);
  writeFileSync(keyFile, keyPem);
}

/** Whose tokens are known and who may; `asked` are the reviews that came to it. */
class FakeApi {
  readonly asked: string[] = [];
  answers: 'yes' | 'no' | 'away' | 'halfAway' | 'never' = 'yes';

  create = async (resource: { kind: string }, object: object): Promise<never> => {
    const { spec } = object as { spec: Record<string, unknown> };
    this.asked.push(`${resource.kind} ${JSON.stringify(spec['token'] ?? spec['user'])}`);
    if (this.answers === 'never') await new Promise(() => {});
    if (this.answers === 'away') return { ok: false, error: away } as never;
    if (resource.kind === 'TokenReview') {
      const token = String(spec['token']);
      const user = token === 'nameless' ? {} : { username: token, groups: ['all'] };
      const status = token.startsWith('bad') ? { authenticated: false, user } : { authenticated: true, user };
      return { ok: true, value: { status } } as never;
    }
    if (this.answers === 'halfAway') return { ok: false, error: away } as never;
    assert.deepEqual(spec['nonResourceAttributes'], { path: '/metrics', verb: 'get' });
    return { ok: true, value: { status: { allowed: this.answers === 'yes' && spec['user'] !== 'joe' } } } as never;
  };
}

let api = new FakeApi();
let clock = manualClock();
let server: MetricsServer | undefined;
let port = 0;
let renders = 0;
const said: string[] = [];

beforeEach(() => {
  api = new FakeApi();
  clock = manualClock();
  renders = 0;
  said.splice(0);
});
afterEach(() => server?.close());

async function start(): Promise<void> {
  replace(issued());
  const log = {
    info: (_fields: object, message: string) => said.push(message),
    warn: (_fields: object, message: string) => said.push(message),
  };
  server = new MetricsServer({
    client: api as never,
    clock,
    log,
    door: { bind: { host: '127.0.0.1', port: 0 }, certFile, keyFile },
    metrics: () => {
      renders += 1;
      return Buffer.from('secret 1\n');
    },
  });
  port = await server.listen();
}

interface Answered {
  status: number;
  text: string;
  serial: string;
}

function ask(token?: string, how: { path?: string; method?: string; authorization?: string } = {}): Promise<Answered> {
  const authorization = how.authorization ?? (token === undefined ? undefined : `Bearer ${token}`);
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        path: how.path ?? '/metrics',
        method: how.method ?? 'GET',
        ca: authority.certPem,
        agent: false,
        headers: authorization === undefined ? {} : { authorization },
      },
      (response) => {
        const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber;
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, serial }));
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

describe('the door of metrics', { timeout: 60_000 }, () => {
  test('[SEC-5] no token 401, one that nobody knows 401, one without the right 403, one with it 200', async () => {
    await start();
    assert.equal((await ask()).status, 401);
    for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer <>']) {
      assert.equal((await ask(undefined, { authorization })).status, 401, authorization);
    }
    assert.deepEqual(api.asked, []);
    assert.equal((await ask('bad')).status, 401);
    assert.equal((await ask('joe')).status, 403);
    assert.equal((await ask('nameless')).status, 401, 'a token of nobody has the rights of nobody');
    assert.equal(renders, 0);
    assert.deepEqual(await ask('jane').then(({ status, text }) => [status, text]), [200, 'secret 1\n']);
    assert.equal((await ask('jane', { path: '/healthz' })).status, 404);
    assert.equal((await ask('jane', { method: 'POST' })).status, 405);
  });

  test('[SEC-5] where the API server does not say, nobody may, and that is told once a minute', async () => {
    await start();
    api.answers = 'away';
    for (const token of ['jane', 'jane', 'joe']) {
      assert.equal((await ask(token)).status, 503);
      clock.advance(1000);
    }
    assert.equal(renders, 0);
    assert.deepEqual(said, ['who may read metrics is not known: nobody may']);
    clock.advance(60_000);
    assert.equal((await ask('jane')).status, 503);
    assert.equal(said.length, 2);
    clock.advance(60_000);
    api.answers = 'halfAway';
    assert.equal((await ask('jane')).status, 503, 'whose token it is says nothing of what that one may');
    assert.equal(said.length, 3);
    api.answers = 'yes';
    assert.equal((await ask('jane')).status, 200, 'what was not known is not kept');
  });

  test('[SEC-5] an answer is kept for half a minute: a right that was taken away ends with it', async () => {
    await start();
    for (let at = 0; at < 20; at += 1) assert.equal((await ask('jane')).status, 200);
    assert.deepEqual(api.asked, ['TokenReview "jane"', 'SubjectAccessReview "jane"']);
    api.answers = 'no';
    clock.advance(29_999);
    assert.equal((await ask('jane')).status, 200);
    clock.advance(1);
    assert.equal((await ask('jane')).status, 403);
  });

  test('[SEC-5] the certificate is the one of the files, also after they are replaced, and not while they do not fit', async () => {
    await start();
    const first = await ask('jane');
    const second = issued();
    writeFileSync(certFile, second.certPem);
    clock.advance(5000);
    await waitFor('a complaint', () => said.length === 1);
    // As often as it is looked at, it is told once.
    for (let at = 0; at < 20; at += 1) {
      clock.advance(5000);
      await delay(5);
    }
    assert.deepEqual(said, ['the new certificate of metrics is not used']);
    assert.equal((await ask('jane')).serial, first.serial);
    clock.advance(5000);
    replace(second);
    await waitFor('the new one', async () => {
      clock.advance(5000);
      return (await ask('jane')).serial !== first.serial;
    });
    assert.deepEqual(said.slice(1), ['the certificate of metrics has changed']);
  });

  test('[SEC-5] in the clear nothing is answered', async () => {
    await start();
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer jane\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    assert.doesNotMatch(heard, /HTTP|secret/);
    assert.deepEqual(api.asked, []);
  });
});

describe('reviews', () => {
  const reviews = (): Reviews => new Reviews({ client: api as never, clock, onProblem: () => said.push('problem') });

  test('[SEC-5] a flood of tokens has four reviews in a second for an address, and takes nothing from who may', async () => {
    const asked = reviews();
    assert.equal(await asked.mayRead('jane', 'prometheus'), 'allowed');
    const before = api.asked.length;
    const verdicts: string[] = [];
    for (let at = 0; at < 1000; at += 1) verdicts.push(await asked.mayRead(`bad-${at}`, 'flood'));
    assert.equal(verdicts.filter((verdict) => verdict === 'unknown').length, 996);
    assert.equal(api.asked.length - before, 4);
    assert.equal(await asked.mayRead('john', 'prometheus'), 'allowed');
  });

  test('[SEC-5] so many answers are kept, and those that refuse push out none that allow', async () => {
    const asked = reviews();
    await asked.mayRead('jane', 'prometheus');
    for (let at = 0; at < 2000; at += 1) {
      if (at % 4 === 0) clock.advance(10);
      await asked.mayRead(`bad-${at}`, `flood-${at % 200}`);
      if (at % 100 === 99) clock.advance(995);
    }
    assert.equal(asked.size, 257);
    api.asked.splice(0);
    assert.equal(await asked.mayRead('jane', 'prometheus'), 'allowed');
    assert.deepEqual(api.asked, []);
  });

  test('[SEC-5] so many are under way, of one address and of all; the same question is asked once', async () => {
    const asked = reviews();
    api.answers = 'never';
    const from = (address: string): void => {
      for (let at = 0; at < 10; at += 1) void asked.mayRead(`${address}-${at}`, address);
    };
    from('a');
    assert.equal(api.asked.length, 2);
    for (const address of ['b', 'c', 'd', 'e', 'f']) from(address);
    assert.equal(api.asked.length, 8);
    assert.equal(await asked.mayRead('jane', 'prometheus'), 'unknown');

    api = new FakeApi();
    const others = reviews();
    const verdicts = await Promise.all(['a', 'b', 'c'].map((address) => others.mayRead('jane', address)));
    assert.deepEqual(verdicts, ['allowed', 'allowed', 'allowed']);
    assert.deepEqual(api.asked, ['TokenReview "jane"', 'SubjectAccessReview "jane"']);
  });
});

test('what is wrong with the files is said at the start', async () => {
  const bind = { port: 0 };
  assert.equal(await metricsDoorOf({}), undefined);
  await assert.rejects(metricsDoorOf({ metricsBindAddress: bind }), /belong together/);
  await assert.rejects(metricsDoorOf({ metricsTlsCertFile: certFile, metricsTlsKeyFile: keyFile }), /belong together/);
  const flags = { metricsBindAddress: bind, metricsTlsCertFile: certFile, metricsTlsKeyFile: keyFile };
  replace({ certPem: issued().certPem, keyPem: issued().keyPem });
  await assert.rejects(metricsDoorOf(flags), /the certificate of metrics: .*tls\.key is not the key of .*tls\.crt/);
  await assert.rejects(readPair({ certFile: join(dir, 'none'), keyFile }), /ENOENT/);
  replace({ certPem: '', keyPem: '' });
  await assert.rejects(metricsDoorOf(flags), /the certificate of metrics/);
  replace(issued());
  assert.deepEqual(await metricsDoorOf(flags), { bind, certFile, keyFile });
});
