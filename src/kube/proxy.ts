/**
 * Which proxy leads to the API server, and a connection through it.
 *
 * The rules for HTTPS_PROXY and NO_PROXY are those of Go's clients, so that what works for kubectl works here. A proxy's
 * URL may carry a password: no message shows more of it than host and port (S28).
 */
import { BlockList, connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, rootCertificates } from 'node:tls';
import { domainToASCII } from 'node:url';
import { CredentialError } from './credentials.ts';

/** The proxy cannot be reached or does not let us through. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
}

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443, 'socks5:': 1080, 'socks5h:': 1080 };

/** `where` names the setting for the user; the value itself is not shown. */
export function parseProxyUrl(text: string, where: string): URL {
  const url = URL.parse(text);
  if (!url || url.hostname === '') {
    throw new CredentialError(`${where}: not a proxy's URL; write for example http://proxy.example.com:3128`);
  }
  if (!(url.protocol in defaultPorts)) {
    throw new CredentialError(`${where}: unsupported scheme; write http://, https://, socks5:// or socks5h://`);
  }
  return url;
}

/** The environment's proxy for `url`, if any. Upper case goes before lower case; loopback is never proxied. */
export function proxyFor(url: URL, env: Record<string, string | undefined>): URL | undefined {
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = env[name] || env[name.toLowerCase()];
  if (!value || bypassesProxy(url, env['NO_PROXY'] || env['no_proxy'] || '')) return undefined;
  return parseProxyUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`, name);
}

function bypassesProxy(url: URL, noProxy: string): boolean {
  const host = withoutBrackets(url.hostname).toLowerCase();
  const port = String(portOf(url));
  if (host === 'localhost' || inNetwork(host, '127.0.0.0/8') || inNetwork(host, '::1/128')) return true;
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && exempts(entry, host, port));
}

function exempts(entry: string, host: string, port: string): boolean {
  if (entry === '*' || inNetwork(host, entry)) return true;
  // One colon, or one after a bracket, sets off a port; more are a bare IPv6 address.
  const [, bracketed, named, onlyPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(entry) ?? [];
  if (onlyPort && onlyPort !== port) return false;
  const name = bracketed ?? named ?? entry;
  if (isIP(name) !== 0) return inNetwork(host, `${name}/${isIP(name) === 4 ? 32 : 128}`);
  if (isIP(host) !== 0) return false;
  const suffix = name.replace(/^\*\./, '.');
  if (suffix === '' || suffix === '.') return false;
  if (suffix.startsWith('.')) return host.endsWith(`.${asciiName(suffix.slice(1))}`);
  return host === asciiName(suffix) || host.endsWith(`.${asciiName(suffix)}`);
}

function asciiName(name: string): string {
  return domainToASCII(name) || name;
}

function inNetwork(host: string, cidr: string): boolean {
  const hostFamily = isIP(host);
  const [, base = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(cidr) ?? [];
  const family = isIP(base);
  if (hostFamily === 0 || family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const network = new BlockList();
  network.addSubnet(base, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return network.check(host, hostFamily === 4 ? 'ipv4' : 'ipv6');
}

function portOf(url: URL): number {
  return url.port === '' ? (defaultPorts[url.protocol] ?? 443) : Number(url.port);
}

/** URL keeps the brackets of an IPv6 address; sockets do not want them. */
function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

export interface TunnelOptions {
  /** Also the only limit in time: a proxy may take the connection and never answer. */
  signal?: AbortSignal;
  /** Trusted for an https:// proxy beside the well-known authorities. */
  ca?: string;
  insecureSkipTlsVerify?: boolean;
}

interface Tunnel {
  proxy: URL;
  /** Host and port, all that messages say of the proxy. */
  proxyName: string;
  host: string;
  port: number;
  options: TunnelOptions;
}

export async function openTunnel(
  proxy: URL,
  target: { host: string; port: number },
  options: TunnelOptions,
): Promise<Socket> {
  const proxyName = `${proxy.hostname}:${portOf(proxy)}`;
  const tunnel: Tunnel = { proxy, proxyName, host: withoutBrackets(target.host), port: target.port, options };
  const { signal } = options;
  const gaveUp = (): ProxyError => new ProxyError(`gave up connecting through proxy ${proxyName}`);
  if (signal?.aborted) throw gaveUp();
  const socket = openSocket(tunnel);
  const abort = (): void => void socket.destroy();
  // Between two steps nobody else listens, and an error without a listener ends the process.
  const ignore = (): void => undefined;
  socket.on('error', ignore);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await connected(socket, tunnel);
    await (proxy.protocol.startsWith('socks5') ? socksHandshake(socket, tunnel) : httpHandshake(socket, tunnel));
    socket.removeListener('error', ignore);
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal?.aborted ? gaveUp() : error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function openSocket({ proxy, options }: Tunnel): Socket {
  const where = { host: withoutBrackets(proxy.hostname), port: portOf(proxy) };
  if (proxy.protocol !== 'https:') return connectTcp(where);
  return connectTls({
    ...where,
    ...(isIP(where.host) === 0 && { servername: where.host }),
    ...(options.ca !== undefined && { ca: [...rootCertificates, options.ca] }),
    rejectUnauthorized: options.insecureSkipTlsVerify !== true,
    ALPNProtocols: ['http/1.1'],
  });
}

function connected(socket: Socket, { proxy, proxyName }: Tunnel): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error): void => {
      const reason = error ? reasonOf(error) : 'it closed the connection';
      reject(new ProxyError(`cannot reach proxy ${proxyName}: ${reason}`));
    };
    const closed = (): void => fail();
    socket.once('error', fail);
    socket.once('close', closed);
    socket.once(proxy.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      socket.removeListener('error', fail);
      socket.removeListener('close', closed);
      resolve();
    });
  });
}

function reasonOf(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.message;
}

/** Sends `request` and collects the answer up to the length that `lengthOf` finds; what follows stays in the socket. */
function ask(
  socket: Socket,
  tunnel: Tunnel,
  request: Buffer,
  lengthOf: (bytes: Buffer) => number | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const finish = (settle: () => void): void => {
      socket.removeListener('readable', take);
      socket.removeListener('error', fail);
      socket.removeListener('close', closed);
      settle();
    };
    const fail = (error: Error): void =>
      finish(() => reject(new ProxyError(`proxy ${tunnel.proxyName}: connection lost (${reasonOf(error)})`)));
    const closed = (): void =>
      finish(() => reject(new ProxyError(`proxy ${tunnel.proxyName} closed the connection instead of answering`)));
    // Read by hand: a 'data' listener would leave the socket flowing, or paused for whoever gets it next.
    const take = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      bytes = Buffer.concat([bytes, chunk]);
      const length = lengthOf(bytes);
      if (length === undefined && bytes.length > 65_536) {
        finish(() => reject(new ProxyError(`proxy ${tunnel.proxyName} answers in something other than its protocol`)));
      } else if (length !== undefined && bytes.length >= length) {
        finish(() => {
          if (bytes.length > length) socket.unshift(bytes.subarray(length));
          resolve(bytes.subarray(0, length));
        });
      }
    };
    socket.on('readable', take);
    socket.once('error', fail);
    socket.once('close', closed);
    socket.write(request);
  });
}

function targetOf({ host, port }: Tunnel): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function refused(tunnel: Tunnel, answer: string): ProxyError {
  return new ProxyError(`proxy ${tunnel.proxyName} refused to connect to ${targetOf(tunnel)}: ${answer}`);
}

function credentialsOf(proxy: URL): { user: string; password: string } | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined;
  return { user: decodeLeniently(proxy.username), password: decodeLeniently(proxy.password) };
}

/** A stray percent sign in a password stands for itself. */
function decodeLeniently(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function httpHandshake(socket: Socket, tunnel: Tunnel): Promise<void> {
  const target = targetOf(tunnel);
  const login = credentialsOf(tunnel.proxy);
  const basic = login && Buffer.from(`${login.user}:${login.password}`).toString('base64');
  const authorization = basic ? `Proxy-Authorization: Basic ${basic}\r\n` : '';
  const request = `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`;
  const head = await ask(socket, tunnel, Buffer.from(request), (bytes) => {
    const end = bytes.indexOf('\r\n\r\n');
    return end < 0 ? undefined : end + 4;
  });
  const [, status, reason = ''] = /^HTTP\/1\.\d (\d{3})(?: ([^\r\n]*))?\r\n/.exec(head.toString('latin1')) ?? [];
  if (status === undefined) throw refused(tunnel, 'its answer is not HTTP');
  if (!status.startsWith('2'))
    throw refused(tunnel, `${status} ${withoutSecrets(reason, [basic, login?.password])}`.trim());
}

/** A proxy that echoes the login it refuses must not carry it into our logs. */
function withoutSecrets(text: string, secrets: (string | undefined)[]): string {
  let clean = text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 200);
  for (const secret of secrets) if (secret) clean = clean.replaceAll(secret, '***');
  return clean;
}

const socksAnswers = [
  'succeeded',
  'general failure',
  'not allowed by its rules',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];

/** Names are resolved by the proxy in both spellings, as Go does: the cluster's name may exist only on its side. */
async function socksHandshake(socket: Socket, tunnel: Tunnel): Promise<void> {
  const login = credentialsOf(tunnel.proxy);
  const two = (): number => 2;
  const offer = Buffer.from(login ? [5, 2, 0, 2] : [5, 1, 0]);
  const [version, method] = await ask(socket, tunnel, offer, two);
  if (version !== 5) throw refused(tunnel, 'its answer is not SOCKS 5');
  if (method === 2 && login) {
    const user = Buffer.from(login.user);
    const password = Buffer.from(login.password);
    if (user.length > 255 || password.length > 255) {
      throw new ProxyError(`proxy ${tunnel.proxyName}: user name or password is longer than the 255 bytes of SOCKS 5`);
    }
    const message = Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]);
    const [, accepted] = await ask(socket, tunnel, message, two);
    if (accepted !== 0) throw refused(tunnel, 'user name or password not accepted');
  } else if (method !== 0) {
    throw refused(tunnel, login ? 'no common way to log in' : 'it wants a user name and a password');
  }
  const port = Buffer.from([tunnel.port >> 8, tunnel.port & 255]);
  const request = Buffer.concat([Buffer.from([5, 1, 0]), socksAddress(tunnel), port]);
  const answer = await ask(socket, tunnel, request, socksAnswerLength);
  const code = answer[1] ?? 1;
  if (code !== 0) throw refused(tunnel, `${socksAnswers[code] ?? 'unknown answer'} (SOCKS reply ${code})`);
}

function socksAddress(tunnel: Tunnel): Buffer {
  const { host } = tunnel;
  if (isIP(host) === 4) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (isIP(host) === 6) return Buffer.from([4, ...ipv6Bytes(host)]);
  const name = Buffer.from(host);
  if (name.length > 255) throw new ProxyError(`proxy ${tunnel.proxyName}: the server's name is longer than 255 bytes`);
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}

function ipv6Bytes(address: string): number[] {
  // URL writes every form, also one with an IPv4 tail, as hexadecimal groups.
  const [head = '', tail] = withoutBrackets(new URL(`http://[${address}]`).hostname).split('::');
  const groups = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 255]);
}

/** A refusal may end after two bytes; else the bound address follows, whose length depends on its kind. */
function socksAnswerLength(bytes: Buffer): number | undefined {
  if (bytes.length >= 2 && bytes[1] !== 0) return 2;
  if (bytes.length < 5) return undefined;
  const [, , , kind, nameLength = 0] = bytes;
  if (kind === 1) return 10;
  return kind === 4 ? 22 : 7 + nameLength;
}
