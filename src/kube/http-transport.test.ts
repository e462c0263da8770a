import assert from 'node:assert/strict';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { FaultProxy } from '../../test/support/fault-proxy.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { realClock } from '../clock.ts';
import type { Clock } from '../clock.ts';
import type { Connection, Credential } from './credentials.ts';
import { HttpTransport } from './http-transport.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { TransportError } from './transport.ts';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const authority = createCertificateAuthority();
const pair = authority.issue({ commonName: 'server', hosts: ['127.0.0.1', 'localhost'] });
const tls = { cert: pair.certPem, key: pair.keyPem };

/** One server per protocol; each test gives it something to do. */
class Host {
  readonly #server: Server;
  handler: Handler = (_request, response) => response.end('{}');
  connections = 0;

  constructor(make: (handle: Handler) => Server) {
    this.#server = make((request, response) => this.handler(request, response));
    this.#server.on('connection', () => {
      this.connections += 1;
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    (this.#server as http.Server).closeAllConnections?.();
  }
}

const hosts = {
  h2: new Host((handle) => {
    // As many as the API server takes on one connection.
    const settings = { maxConcurrentStreams: 100 };
    return http2.createSecureServer({ ...tls, allowHTTP1: false, settings }, handle as never);
  }),
  'http/1.1': new Host((handle) =>
    https.createServer({ ...tls, requestCert: true, rejectUnauthorized: false }, handle),
  ),
  plain: new Host((handle) => http.createServer(handle)),
};

function connection(port: number, more: Partial<Connection> & { url?: string; ca?: string } = {}): Connection {
  return {
    endpoint: {
      url: new URL(more.url ?? `https://127.0.0.1:${port}`),
      ca: more.ca ?? authority.certPem,
      insecureSkipTlsVerify: false,
    },
    credentials: { current: () => Promise.resolve({ authorization: 'Bearer secret' }), rejected: () => {} },
    impersonation: {},
    namespace: 'default',
    contextName: 'test',
    ...more,
  };
}

const get: HttpRequest = { method: 'GET', path: '/x', purpose: 'call', timeoutMs: 5000 };

async function text(response: HttpResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Destroying an HTTP/2 answer resets its stream without an error, which is an end like any other. */
function breakOff(response: http.ServerResponse): void {
  if (response instanceof http2.Http2ServerResponse) response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

function failing(failure: string, message: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof TransportError, String(error));
    assert.equal(error.failure, failure);
    assert.match(error.message, message);
    return true;
  };
}

describe('HTTP transport', () => {
  before(() => Promise.all(Object.values(hosts).map((host) => host.listen())));
  after(() => {
    for (const host of Object.values(hosts)) host.close();
  });

  for (const kind of ['h2', 'http/1.1', 'plain'] as const) {
    const host = hosts[kind];
    const open = (clock: Clock = realClock, more: Partial<Connection> = {}): HttpTransport =>
      new HttpTransport(
        connection(host.port, { ...(kind === 'plain' && { url: `http://127.0.0.1:${host.port}` }), ...more }),
        clock,
      );

    test(`${kind}: method, path, headers, body and who we are go out; status, headers and body come back`, async () => {
      host.handler = (request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const { authorization, 'impersonate-user': as, 'impersonate-group': groups } = request.headers;
          response.writeHead(201, { 'x-seen': 'yes' });
          response.end(
            JSON.stringify([request.method, request.url, authorization, as, groups, Buffer.concat(chunks).toString()]),
          );
        });
      };
      const transport = open(realClock, {
        impersonation: { 'Impersonate-User': 'jane', 'Impersonate-Group': ['a', 'b'] },
      });
      const response = await transport.send({ ...get, method: 'POST', path: '/a?b=c', body: '{"ä":1}' });
      assert.equal(response.status, 201);
      assert.equal(response.headers['x-seen'], 'yes');
      assert.deepEqual(JSON.parse(await text(response)), [
        'POST',
        '/a?b=c',
        'Bearer secret',
        'jane',
        'a, b',
        '{"ä":1}',
      ]);
      transport.close();
    });

    test(`${kind}: an answer that does not come in time is a timeout, one that breaks off is broken, a caller who gives up is aborted`, async () => {
      let asked = Promise.withResolvers<http.ServerResponse>();
      host.handler = (_request, response) => asked.resolve(response);
      const clock = manualClock();
      const transport = open(clock);
      const late = assert.rejects(transport.send(get), failing('timeout', /no answer within 5 s/));
      await asked.promise;
      clock.advance(5000);
      await late;

      asked = Promise.withResolvers();
      const cut = assert.rejects(transport.send(get), failing('broken', /connection lost/));
      (await asked.promise).destroy();
      await cut;

      asked = Promise.withResolvers();
      const caller = new AbortController();
      const given = assert.rejects(transport.send({ ...get, signal: caller.signal }), failing('aborted', /aborted/));
      await asked.promise;
      caller.abort();
      await given;
      transport.close();
    });

    test(`${kind}: a body that breaks off half-way, or takes too long, is an error and not a short body`, async () => {
      let asked = Promise.withResolvers<http.ServerResponse>();
      host.handler = (_request, response) => {
        response.write('half');
        asked.resolve(response);
      };
      const clock = manualClock();
      const transport = open(clock);
      const half = await transport.send(get);
      const reading = assert.rejects(text(half), failing('broken', /connection lost/));
      breakOff(await asked.promise);
      await reading;

      asked = Promise.withResolvers();
      const slow = await transport.send(get);
      const waiting = assert.rejects(text(slow), failing('timeout', /no answer within/));
      clock.advance(5000);
      await waiting;

      asked = Promise.withResolvers();
      const watch = await transport.send({ ...get, purpose: 'watch' });
      clock.advance(60_000);
      (await asked.promise).end(' and whole');
      assert.equal(await text(watch), 'half and whole', 'a watch may last');
      transport.close();
    });

    test(`${kind}: a guard that no longer holds is asked after everything that takes time, and nothing is sent`, async () => {
      let requests = 0;
      host.handler = (_request, response) => {
        requests += 1;
        response.end('{}');
      };
      let entitled = true;
      const credentials = {
        // The process is stopped here, and wakes up when it is too late.
        current: (): Promise<Credential> => {
          entitled = false;
          return Promise.resolve({});
        },
        rejected: () => {},
      };
      const transport = open(realClock, { credentials });
      const guard = (): boolean => entitled;
      await assert.rejects(
        transport.send({ ...get, method: 'PATCH', body: '[]', guard }),
        failing('notSent', /no longer entitled/),
      );
      await text(await transport.send(get));
      assert.equal(requests, 1);
      transport.close();
    });
  }

  test('nobody listens, the certificate is of another authority or for another name: not sent, and it says why', async () => {
    const other = createCertificateAuthority();
    const nobody = new Host((handle) => http.createServer(handle));
    await nobody.listen();
    const { port } = nobody;
    nobody.close();
    for (const [to, reason] of [
      [connection(port), /ECONNREFUSED/],
      [connection(hosts.h2.port, { ca: other.certPem }), /certificate|issuer|self.signed/i],
      [connection(hosts.h2.port, { url: `https://127.0.0.2:${hosts.h2.port}` }), /ECONNREFUSED|altnames|IP/],
    ] as const) {
      await assert.rejects(new HttpTransport(to, realClock).send(get), failing('notSent', reason));
    }
    const named = connection(hosts.h2.port);
    named.endpoint.tlsServerName = 'elsewhere';
    await assert.rejects(new HttpTransport(named, realClock).send(get), failing('notSent', /elsewhere/));
  });

  test('a server behind a path', async () => {
    hosts.h2.handler = (request, response) => response.end(request.url);
    const transport = new HttpTransport(
      connection(0, { url: `https://127.0.0.1:${hosts.h2.port}/k8s/clusters/a/` }),
      realClock,
    );
    assert.equal(await text(await transport.send(get)), '/k8s/clusters/a/x');
    transport.close();
  });

  test('a 401 is told to the source of credentials, with the one that was refused', async () => {
    hosts.h2.handler = (_request, response) => {
      response.writeHead(401);
      response.end();
    };
    const credential = { authorization: 'Bearer old' };
    const refused: (Credential | undefined)[] = [];
    const credentials = {
      current: () => Promise.resolve(credential),
      rejected: (given?: Credential) => void refused.push(given),
    };
    const transport = new HttpTransport(connection(hosts.h2.port, { credentials }), realClock);
    await text(await transport.send(get));
    assert.deepEqual(refused, [credential]);
    transport.close();
  });

  test('a new client certificate means a new connection', async () => {
    hosts['http/1.1'].handler = (request, response) => {
      const peer = (
        request.socket as unknown as { getPeerCertificate(): { subject?: { CN?: string } } }
      ).getPeerCertificate();
      response.end(peer.subject?.CN ?? '');
    };
    let name = 'first';
    const certificates = new Map(
      ['first', 'second'].map((commonName) => [commonName, authority.issue({ commonName })]),
    );
    const current = (): Promise<Credential> => {
      const { certPem: cert, keyPem: key } = certificates.get(name) ?? assert.fail();
      return Promise.resolve({ clientCertificate: { cert, key } });
    };
    const transport = new HttpTransport(
      connection(hosts['http/1.1'].port, { credentials: { current, rejected: () => {} } }),
      realClock,
    );
    assert.equal(await text(await transport.send(get)), 'first');
    name = 'second';
    assert.equal(await text(await transport.send(get)), 'second');
    transport.close();
  });

  test('HTTP/2: many requests share one connection, a watch has its own, and a connection that ended is replaced', async () => {
    hosts.h2.handler = (_request, response) => response.end('{}');
    const before = hosts.h2.connections;
    await using proxy = await FaultProxy.start(hosts.h2.port);
    const transport = new HttpTransport(connection(proxy.port), realClock);
    await Promise.all(Array.from({ length: 50 }, () => transport.send(get).then(text)));
    assert.equal(hosts.h2.connections - before, 1);
    await text(await transport.send({ ...get, purpose: 'watch' }));
    assert.equal(hosts.h2.connections - before, 2);
    proxy.reset();
    await assert.rejects(transport.send(get).then(text), TransportError).catch(() => {});
    assert.equal(await text(await transport.send(get)), '{}');
    transport.close();
  });

  test('HTTP/2: more watches than fit on one connection all run, and afterwards one connection is left', async () => {
    const open: http.ServerResponse[] = [];
    hosts.h2.handler = (_request, response) => {
      response.write('hello');
      open.push(response);
    };
    const before = hosts.h2.connections;
    const transport = new HttpTransport(connection(hosts.h2.port), realClock);
    const watch: HttpRequest = { ...get, purpose: 'watch', timeoutMs: 5000 };
    const watches = await Promise.all(Array.from({ length: 250 }, () => transport.send(watch)));
    assert.equal(hosts.h2.connections - before, 3);
    for (const response of open) response.end();
    await Promise.all(watches.map(text));
    open.length = 0;
    await transport.send(watch);
    assert.equal(hosts.h2.connections - before, 3, 'it takes the one that is left');
    transport.close();
  });

  test('HTTP/2: an answer that ends before its caller comes to read it is not lost', async () => {
    hosts.h2.handler = (_request, response) => response.end('whole');
    const transport = new HttpTransport(connection(hosts.h2.port), realClock);
    const response = await transport.send(get);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await text(response), 'whole');
    transport.close();
  });

  test('HTTP/2: a ping that stays unanswered ends the connection; a timer that is late because we were stopped does not', async () => {
    hosts.h2.handler = (_request, response) => void response.write('hello');
    await using proxy = await FaultProxy.start(hosts.h2.port);
    const clock = manualClock();
    const transport = new HttpTransport(connection(proxy.port), clock);
    const watch = await transport.send({ ...get, purpose: 'watch' });
    const body = watch.body[Symbol.asyncIterator]();
    await body.next();
    const pending = body.next();
    let ended = false;
    const end = assert.rejects(pending, failing('broken', /no answer to a ping for 5 s/)).then(() => {
      ended = true;
    });
    proxy.blackhole();
    clock.advance(5000);
    clock.advance(30_000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ended, false, 'woken up late: the answer may be waiting to be read');
    clock.advance(5000);
    await end;
    transport.close();
  });
});
