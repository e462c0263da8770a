/** The candidates for talking to the API server behind one face. Each loads only what it needs itself. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const candidates = ['node h2', 'node http/1.1', 'undici h2', 'undici http/1.1', 'fetch'] as const;
export type Candidate = (typeof candidates)[number];

export interface Target {
  url: string;
  caFile: string;
  token: string;
  /** Where undici is installed. */
  undiciDir: string;
}

export interface BenchRequest {
  method: 'GET' | 'PATCH' | 'DELETE';
  path: string;
  contentType?: string;
  body?: string;
}

export interface BenchClient {
  /** Reads the body to its end; answers the status. */
  call(request: BenchRequest): Promise<number>;
  /** Ends, or rejects, when the stream is over for whatever reason. */
  watch(path: string, onOpen: () => void): Promise<void>;
}

/** As many connections as our own HTTP/1.1 client opens at the most. */
const connections = 64;

export function open(candidate: Candidate, target: Target): Promise<BenchClient> {
  switch (candidate) {
    case 'node h2':
      return ours(target, 'h2');
    case 'node http/1.1':
      return ours(target, 'http/1.1');
    case 'undici h2':
      return undici(target, true);
    case 'undici http/1.1':
      return undici(target, false);
    case 'fetch':
      return Promise.resolve(builtIn(target));
  }
}

async function ours(target: Target, protocol: 'h2' | 'http/1.1'): Promise<BenchClient> {
  const { HttpTransport } = await import('../../src/kube/http-transport.ts');
  const { realClock } = await import('../../src/clock.ts');
  const credential = { authorization: `Bearer ${target.token}` };
  const connection = {
    endpoint: { url: new URL(target.url), ca: readFileSync(target.caFile, 'utf8'), insecureSkipTlsVerify: false },
    credentials: { current: () => Promise.resolve(credential), rejected: () => {} },
    impersonation: {},
    namespace: 'default',
    contextName: 'bench',
  };
  const transport = new HttpTransport(connection, realClock, [protocol]);
  return {
    async call({ method, path, contentType, body }) {
      const response = await transport.send({
        method,
        path,
        purpose: 'call',
        timeoutMs: 60_000,
        headers: { accept: 'application/json', ...(contentType !== undefined && { 'content-type': contentType }) },
        ...(body !== undefined && { body }),
      });
      await drain(response.body);
      return response.status;
    },
    async watch(path, onOpen) {
      const response = await transport.send({ method: 'GET', path, purpose: 'watch', timeoutMs: 60_000 });
      onOpen();
      await drain(response.body);
    },
  };
}

/** The little of undici's types that is used here; it is not a dependency. */
interface UndiciModule {
  Pool: new (origin: string, options: object) => { request(options: object): Promise<UndiciResponse> };
}
interface UndiciResponse {
  statusCode: number;
  body: AsyncIterable<Uint8Array>;
}

async function undici(target: Target, allowH2: boolean): Promise<BenchClient> {
  const entry = pathToFileURL(`${target.undiciDir}/node_modules/undici/index.js`).href;
  const { Pool } = (await import(entry)) as UndiciModule;
  const pool = new Pool(target.url, {
    connections: allowH2 ? 1 : connections,
    allowH2,
    ...(allowH2 && { preferH2: true, pingInterval: 5000 }),
    // The default of one would make an HTTP/2 session send one request at a time.
    pipelining: allowH2 ? 128 : 1,
    connect: { ca: readFileSync(target.caFile, 'utf8'), ...(allowH2 && { allowH2, preferH2: true }) },
  });
  const authorization = `Bearer ${target.token}`;
  return {
    async call({ method, path, contentType, body }) {
      const response = await pool.request({
        method,
        path,
        headers: { authorization, ...(contentType !== undefined && { 'content-type': contentType }) },
        ...(body !== undefined && { body }),
      });
      await drain(response.body);
      return response.statusCode;
    },
    async watch(path, onOpen) {
      // A watch may be silent for as long as it likes, so that the time limit on its body has to go.
      const response = await pool.request({ method: 'GET', path, headers: { authorization }, bodyTimeout: 0 });
      onOpen();
      await drain(response.body);
    },
  };
}

/** Trusts the server through NODE_EXTRA_CA_CERTS: it takes no authority of its own. */
function builtIn(target: Target): BenchClient {
  const authorization = `Bearer ${target.token}`;
  return {
    async call({ method, path, contentType, body }) {
      const response = await fetch(`${target.url}${path}`, {
        method,
        headers: { authorization, ...(contentType !== undefined && { 'content-type': contentType }) },
        ...(body !== undefined && { body }),
      });
      await response.arrayBuffer();
      return response.status;
    },
    async watch(path, onOpen) {
      const response = await fetch(`${target.url}${path}`, { headers: { authorization } });
      onOpen();
      if (response.body !== null) await drain(response.body);
    },
  };
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  Buffer.concat(chunks).toString('utf8');
}
