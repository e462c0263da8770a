import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { openTunnel, parseProxyUrl, proxyFor } from './proxy.ts';

function connectThroughProxy(
  proxy: URL,
  host: string,
  port: number,
  signal?: AbortSignal,
): ReturnType<typeof openTunnel> {
  return openTunnel(proxy, { host, port }, signal === undefined ? {} : { signal });
}

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket: Socket) => {
    socket.on('error', () => undefined);
    cleanups.push(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** What the far side is asked in these tests. */
async function echo(): Promise<number> {
  return listen(createServer((socket) => socket.pipe(socket)));
}

async function speaks(socket: Socket): Promise<string> {
  cleanups.push(() => socket.destroy());
  const answered = once(socket, 'data');
  socket.write('hello');
  return String(await answered);
}

interface Seen {
  head: string;
}

/** Answers CONNECT; the answer and the first bytes from the far side may go out in one packet. */
function httpProxy(answer: string, seen: Seen, port?: number): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      seen.head = String(data);
      socket.write(answer);
      if (port === undefined) return;
      const far = connect(port, '127.0.0.1');
      cleanups.push(() => far.destroy());
      far.pipe(socket).pipe(far);
    });
  };
}

const environment = (noProxy: string): Record<string, string> => ({
  HTTPS_PROXY: 'http://proxy:3128',
  NO_PROXY: noProxy,
});
const proxied = (url: string, noProxy: string): boolean => proxyFor(new URL(url), environment(noProxy)) !== undefined;

test('the scheme of the server decides which variable counts, upper case before lower case', () => {
  const env = { HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:2', http_proxy: 'http://c:3' };
  assert.equal(proxyFor(new URL('https://api'), env)?.host, 'a:1');
  assert.equal(proxyFor(new URL('http://api'), env)?.host, 'c:3');
  assert.equal(proxyFor(new URL('https://api'), { https_proxy: 'http://b:2', no_proxy: 'api' }), undefined);
  assert.equal(proxyFor(new URL('https://api'), {}), undefined);
});

test('a proxy without a scheme is an http proxy', () => {
  assert.equal(proxyFor(new URL('https://api'), { HTTPS_PROXY: 'proxy:3128' })?.href, 'http://proxy:3128/');
});

test('a proxy that is none is refused by the name of its setting, without its value', () => {
  for (const wrong of ['http://ann:secret@', 'ftp://ann:secret@x', 'http://ann:secret@x:port']) {
    assert.throws(
      () => proxyFor(new URL('https://api'), { HTTPS_PROXY: wrong }),
      (error: Error) => error.message.startsWith('HTTPS_PROXY: ') && !error.message.includes('secret'),
    );
  }
});

test('loopback is never proxied', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.9.1', '[::1]', '[::ffff:127.0.0.1]']) {
    assert.equal(proxied(`https://${host}:6443`, ''), false, host);
  }
  assert.equal(proxied('https://128.0.0.1:6443', ''), true);
});

test('NO_PROXY knows names, suffixes, addresses, networks, ports and everything', () => {
  const exempt: [string, string][] = [
    ['https://api.example.com', 'example.com'],
    ['https://example.com', 'other, EXAMPLE.com '],
    ['https://api.example.com', '.example.com'],
    ['https://api.example.com', '*.example.com'],
    ['https://api.example.com:6443', 'api.example.com:6443'],
    ['https://api.example.com', 'api.example.com:443'],
    ['https://xn--bcher-kva.example', 'bücher.example'],
    ['https://10.1.2.3:6443', '10.1.2.3'],
    ['https://10.1.2.3:6443', '10.1.2.3:6443'],
    ['https://10.1.2.3:6443', '10.0.0.0/8'],
    ['https://10.1.2.3:6443', '10.9.9.9/8'],
    ['https://[fd00::1]:6443', 'fd00::1'],
    ['https://[fd00::1]:6443', '[fd00:0::1]:6443'],
    ['https://[fd00::1]:6443', 'fd00::/8'],
    ['https://anything', '*'],
  ];
  for (const [url, noProxy] of exempt) assert.equal(proxied(url, noProxy), false, `${url} with ${noProxy}`);
  const not: [string, string][] = [
    ['https://example.com', '.example.com'],
    ['https://example.com', '*.example.com'],
    ['https://notexample.com', 'example.com'],
    ['https://api.example.com:6443', 'api.example.com:443'],
    ['https://10.1.2.3:6443', '10.1.2.3:443'],
    ['https://11.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', '2.3'],
    ['https://10.1.2.3', '10.0.0.0/99, /8, :443, ., ,'],
    ['https://[fe80::1]', 'fd00::/8'],
  ];
  for (const [url, noProxy] of not) assert.equal(proxied(url, noProxy), true, `${url} with ${noProxy}`);
});

test('an http proxy is asked with CONNECT and its login, and the tunnel carries both ways', async () => {
  const seen: Seen = { head: '' };
  const port = await listen(createServer(httpProxy('HTTP/1.1 200 Connection established\r\n\r\n', seen, await echo())));
  const socket = await connectThroughProxy(new URL(`http://ann:p%40ss@127.0.0.1:${port}`), 'api.example.com', 6443);
  assert.equal(await speaks(socket), 'hello');
  const login = Buffer.from('ann:p@ss').toString('base64');
  assert.equal(
    seen.head,
    `CONNECT api.example.com:6443 HTTP/1.1\r\nHost: api.example.com:6443\r\nProxy-Authorization: Basic ${login}\r\n\r\n`,
  );
});

test('an IPv6 server is put into brackets for the proxy', async () => {
  const seen: Seen = { head: '' };
  const port = await listen(createServer(httpProxy('HTTP/1.1 200 OK\r\n\r\n', seen, await echo())));
  assert.equal(await speaks(await connectThroughProxy(new URL(`http://127.0.0.1:${port}`), 'fd00::1', 6443)), 'hello');
  assert.match(seen.head, /^CONNECT \[fd00::1\]:6443 HTTP/);
});

test('bytes that arrive with the proxy’s answer belong to the conversation', async () => {
  const port = await listen(createServer(httpProxy('HTTP/1.1 200 OK\r\nVia: x\r\n\r\nfirst', { head: '' })));
  const socket = await connectThroughProxy(new URL(`http://127.0.0.1:${port}`), 'api', 6443);
  cleanups.push(() => socket.destroy());
  assert.equal(String((await once(socket, 'data'))[0]), 'first');
});

test('a refusal names the proxy and its answer, and never the login, even if the proxy repeats it (S28)', async () => {
  const login = Buffer.from('ann:secret').toString('base64');
  const answer = `HTTP/1.1 407 Who is secret or ${login}?\r\nContent-Length: 0\r\n\r\n`;
  const port = await listen(createServer(httpProxy(answer, { head: '' })));
  await assert.rejects(connectThroughProxy(new URL(`http://ann:secret@127.0.0.1:${port}`), 'api', 6443), {
    name: 'ProxyError',
    message: `proxy 127.0.0.1:${port} refused to connect to api:6443: 407 Who is *** or ***?`,
  });
});

test('a proxy that is not there, hangs up or speaks something else is told apart', async () => {
  const gone = await closedPort();
  const to = (port: number): Promise<Socket> =>
    connectThroughProxy(new URL(`http://ann:secret@127.0.0.1:${port}`), 'api', 1);
  await assert.rejects(to(gone), { message: `cannot reach proxy 127.0.0.1:${gone}: ECONNREFUSED` });
  const hangsUp = await listen(createServer((socket) => socket.once('data', () => socket.end())));
  await assert.rejects(to(hangsUp), /closed the connection instead of answering/);
  const ssh = await listen(createServer(httpProxy('SSH-2.0-OpenSSH\r\n\r\n', { head: '' })));
  await assert.rejects(to(ssh), /its answer is not HTTP/);
  const endless = await listen(createServer((socket) => void socket.write('x'.repeat(100_000))));
  await assert.rejects(to(endless), /something other than its protocol/);
});

test('giving up closes the connection to a proxy that does not answer', async () => {
  const server = createServer();
  const port = await listen(server);
  const taken = once(server, 'connection');
  const limit = new AbortController();
  const attempt = connectThroughProxy(new URL(`http://127.0.0.1:${port}`), 'api', 1, limit.signal);
  const [far] = (await taken) as [Socket];
  const closed = once(far, 'close');
  far.resume();
  limit.abort();
  await assert.rejects(attempt, { message: `gave up connecting through proxy 127.0.0.1:${port}` });
  await closed;
  await assert.rejects(connectThroughProxy(new URL(`http://127.0.0.1:${port}`), 'api', 1, limit.signal), /gave up/);
});

test('after the tunnel stands, the signal no longer closes it', async () => {
  const port = await listen(createServer(httpProxy('HTTP/1.1 200 OK\r\n\r\n', { head: '' }, await echo())));
  const limit = new AbortController();
  const socket = await connectThroughProxy(new URL(`http://127.0.0.1:${port}`), 'api', 1, limit.signal);
  limit.abort();
  assert.equal(await speaks(socket), 'hello');
});

const authority = createCertificateAuthority();
const certificateFor = (host: string): { cert: string; key: string } => {
  const { certPem, keyPem } = authority.issue({ commonName: host, hosts: [host] });
  return { cert: certPem, key: keyPem };
};

test('an https proxy is verified, and TLS to the server runs inside', async () => {
  const api = await listen(createTlsServer(certificateFor('api.example.com'), (socket) => socket.pipe(socket)));
  const seen: Seen = { head: '' };
  const server = createTlsServer(certificateFor('127.0.0.1'), httpProxy('HTTP/1.1 200 OK\r\n\r\n', seen, api));
  const proxy = new URL(`https://127.0.0.1:${await listen(server)}`);
  const target = { host: 'api.example.com', port: 6443 };
  const tunnel = await openTunnel(proxy, target, { ca: authority.certPem });
  const socket = connectTls({ socket: tunnel, servername: 'api.example.com', ca: authority.certPem });
  await once(socket, 'secureConnect');
  assert.equal(await speaks(socket), 'hello');
  assert.match(seen.head, /^CONNECT api\.example\.com:6443/);
  await assert.rejects(openTunnel(proxy, target, {}), /cannot reach proxy 127\.0\.0\.1:\d+: \w*UNABLE_TO/);
  const unverified = await openTunnel(proxy, target, { insecureSkipTlsVerify: true });
  unverified.destroy();
});

interface SocksScript {
  method: number;
  accepted?: number;
  reply?: number[];
  far?: number;
}

/** Takes messages whole, as they come on loopback, and keeps them. */
function socksProxy(script: SocksScript, seen: Buffer[]): (socket: Socket) => void {
  const { method, accepted = 0, reply = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0], far } = script;
  return (socket) => {
    socket.on('error', () => undefined);
    const answers = [[5, method], ...(method === 2 ? [[1, accepted]] : []), reply];
    const take = (data: Buffer): void => {
      seen.push(data);
      socket.write(Buffer.from(answers.shift() ?? []));
      if (answers.length > 0 || far === undefined) return;
      socket.removeListener('data', take);
      const other = connect(far, '127.0.0.1');
      cleanups.push(() => other.destroy());
      other.pipe(socket).pipe(other);
    };
    socket.on('data', take);
  };
}

test('a SOCKS proxy gets the name to resolve', async () => {
  for (const scheme of ['socks5', 'socks5h']) {
    const seen: Buffer[] = [];
    const port = await listen(createServer(socksProxy({ method: 0, far: await echo() }, seen)));
    const socket = await connectThroughProxy(
      parseProxyUrl(`${scheme}://127.0.0.1:${port}`, 'proxy-url'),
      'api.example',
      6443,
    );
    assert.equal(await speaks(socket), 'hello');
    const name = [...Buffer.from('api.example')];
    assert.deepEqual(
      seen.map((data) => [...data]),
      [
        [5, 1, 0],
        [5, 1, 0, 3, 11, ...name, 25, 43],
      ],
    );
  }
});

test('a SOCKS proxy gets addresses as addresses', async () => {
  const requested = async (host: string): Promise<string | undefined> => {
    const seen: Buffer[] = [];
    const port = await listen(createServer(socksProxy({ method: 0, far: await echo() }, seen)));
    assert.equal(await speaks(await connectThroughProxy(new URL(`socks5://127.0.0.1:${port}`), host, 443)), 'hello');
    return seen[1]?.toString('hex');
  };
  assert.equal(await requested('10.1.2.3'), '050100010a01020301bb');
  assert.equal(await requested('fd00::1:2'), '05010004fd00000000000000000000000001000201bb');
  assert.equal(await requested('::ffff:10.1.2.3'), '0501000400000000000000000000ffff0a01020301bb');
  assert.equal(await requested('::'), `05010004${'00'.repeat(16)}01bb`);
});

test('a SOCKS proxy gets the login if it asks for it', async () => {
  const seen: Buffer[] = [];
  const port = await listen(createServer(socksProxy({ method: 2, far: await echo() }, seen)));
  const socket = await connectThroughProxy(new URL(`socks5://ann:p%40ss@127.0.0.1:${port}`), 'api', 443);
  assert.equal(await speaks(socket), 'hello');
  assert.deepEqual(seen.slice(0, 2).map(String), ['\x05\x02\x00\x02', '\x01\x03ann\x04p@ss']);
});

test('a bound address of any kind is read to its end, and what follows is the conversation', async () => {
  const replies = [
    [5, 0, 0, 1, 127, 0, 0, 1, 0, 1],
    [5, 0, 0, 4, ...Array.from({ length: 18 }, () => 7)],
    [5, 0, 0, 3, 3, 97, 98, 99, 0, 1],
  ];
  for (const reply of replies) {
    const port = await listen(createServer(socksProxy({ method: 0, reply: [...reply, ...Buffer.from('first')] }, [])));
    const socket = await connectThroughProxy(new URL(`socks5://127.0.0.1:${port}`), 'api', 443);
    cleanups.push(() => socket.destroy());
    assert.equal(String((await once(socket, 'data'))[0]), 'first');
  }
});

test('each way in which a SOCKS proxy refuses is said in words, and without the login', async () => {
  const refusal = async (script: SocksScript, login = 'ann:secret@'): Promise<string> => {
    const port = await listen(createServer(socksProxy(script, [])));
    const attempt = connectThroughProxy(new URL(`socks5://${login}127.0.0.1:${port}`), 'api', 443);
    const error: unknown = await attempt.catch((reason: unknown) => reason);
    assert.ok(error instanceof Error);
    assert.doesNotMatch(error.message, /secret/);
    return error.message.replace(String(port), 'PORT');
  };
  const start = 'proxy 127.0.0.1:PORT refused to connect to api:443: ';
  assert.equal(await refusal({ method: 255 }), `${start}no common way to log in`);
  assert.equal(await refusal({ method: 255 }, ''), `${start}it wants a user name and a password`);
  assert.equal(await refusal({ method: 2, accepted: 1 }), `${start}user name or password not accepted`);
  assert.equal(await refusal({ method: 0, reply: [5, 2] }), `${start}not allowed by its rules (SOCKS reply 2)`);
  assert.equal(await refusal({ method: 0, reply: [5, 99] }), `${start}unknown answer (SOCKS reply 99)`);
  const web = await listen(createServer((socket) => socket.once('data', () => socket.write('HTTP/1.1 400\r\n\r\n'))));
  await assert.rejects(
    connectThroughProxy(new URL(`socks5://127.0.0.1:${web}`), 'api', 443),
    /its answer is not SOCKS 5/,
  );
});
