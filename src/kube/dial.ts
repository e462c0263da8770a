/** Opens the connection: straight or through a proxy, plain or TLS, and says which protocol the server speaks. */
import { readFile } from 'node:fs/promises';
import * as net from 'node:net';
import * as tls from 'node:tls';
import type { Credential, Endpoint } from './credentials.ts';
import { openTunnel } from './proxy.ts';
import { TransportError } from './transport.ts';

export type Protocol = 'h2' | 'http/1.1';

export interface Dialled {
  socket: net.Socket;
  protocol: Protocol;
}

/**
 * A peer that has vanished is noticed by TCP itself after this idle time plus ten probes of a second each. HTTP/2 asks
 * sooner and end to end; this is what is left for HTTP/1.1.
 */
const keepAliveIdleMs = 5000;

export async function dial(
  endpoint: Endpoint,
  credential: Credential,
  offered: Protocol[],
  signal: AbortSignal,
): Promise<Dialled> {
  try {
    const trusted = await withFreshCa(endpoint);
    const raw = await openSocket(trusted, signal);
    raw.setKeepAlive(true, keepAliveIdleMs);
    raw.setNoDelay(true);
    if (endpoint.url.protocol === 'http:') return { socket: raw, protocol: 'http/1.1' };
    return await secure(raw, trusted, credential, { offered, signal });
  } catch (error) {
    if (error instanceof TransportError) throw error;
    const reason = signal.aborted ? 'gave up connecting' : `cannot connect: ${reasonOf(error)}`;
    throw new TransportError('notSent', `${endpoint.url.host}: ${reason}`, { cause: error });
  }
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'http:' ? 80 : 443;
}

/** URL keeps the brackets of an IPv6 address; sockets do not want them. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The authority may have been rotated since we started; a file that cannot be read just now leaves what was known. */
async function withFreshCa(endpoint: Endpoint): Promise<Endpoint> {
  if (endpoint.caFile === undefined) return endpoint;
  const ca = await readFile(endpoint.caFile, 'utf8').catch(() => endpoint.ca);
  return ca === undefined ? endpoint : { ...endpoint, ca };
}

function openSocket(endpoint: Endpoint, signal: AbortSignal): Promise<net.Socket> {
  const host = hostOf(endpoint.url);
  const port = portOf(endpoint.url);
  if (endpoint.proxyUrl !== undefined) {
    // A proxy in front of the cluster often has a certificate of the cluster's own authority.
    const { ca, insecureSkipTlsVerify } = endpoint;
    return openTunnel(
      endpoint.proxyUrl,
      { host, port },
      { signal, insecureSkipTlsVerify, ...(ca !== undefined && { ca }) },
    );
  }
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port, signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.removeListener('error', reject);
      resolve(socket);
    });
  });
}

function secure(
  raw: net.Socket,
  endpoint: Endpoint,
  credential: Credential,
  how: { offered: Protocol[]; signal: AbortSignal },
): Promise<Dialled> {
  const host = hostOf(endpoint.url);
  const options: tls.ConnectionOptions = {
    socket: raw,
    host,
    ALPNProtocols: how.offered,
    rejectUnauthorized: !endpoint.insecureSkipTlsVerify,
  };
  const serverName = endpoint.tlsServerName ?? (net.isIP(host) === 0 ? host : undefined);
  if (serverName !== undefined) options.servername = serverName;
  if (endpoint.ca !== undefined) options.ca = endpoint.ca;
  if (credential.clientCertificate !== undefined) Object.assign(options, credential.clientCertificate);
  return new Promise((resolve, reject) => {
    const socket = tls.connect(options);
    const fail = (error: Error): void => {
      how.signal.removeEventListener('abort', abort);
      socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(new Error('aborted'));
    const closed = (): void => fail(new Error('the connection was closed during the TLS handshake'));
    how.signal.addEventListener('abort', abort, { once: true });
    socket.once('error', fail);
    socket.once('close', closed);
    socket.once('secureConnect', () => {
      how.signal.removeEventListener('abort', abort);
      socket.removeListener('error', fail);
      socket.removeListener('close', closed);
      resolve({ socket, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' });
    });
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  const reason = error instanceof Error ? error.message : String(error);
  // What Node.js advises is a flag of its own, which nobody can give here.
  return reason.replace(/; if the root CA is installed locally.*/, '; name its authority by --certificate-authority');
}
