/**
 * One HTTPS call to a device: certificates are checked unless somebody has said otherwise, redirections never followed (a
 * credential would go with them), and it ends by time and by size. Whatever happens becomes a value.
 */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { request, type Agent } from 'node:https';
import type { DeviceWorld } from './device.ts';

export interface HttpsCall {
  method: 'GET' | 'POST';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface HttpsLimits extends HttpsWay {
  signal: AbortSignal;
  timeoutMs: number;
}

/** How the other side is reached. */
export interface HttpsWay {
  /** Certificates of the authorities that are trusted, in PEM; the system's where absent. */
  ca?: string;
  /** Whoever answers is taken for the device. */
  isUnverified?: boolean;
  /** Connections that are kept from call to call, and whom they trust; absent: a connection of its own. */
  kept?: Agent;
  bodyLimitBytes?: number;
}

export interface HttpsAnswer {
  status: number;
  /** By names in lower case; what is sent several times is joined by commas. */
  headers: Readonly<Record<string, string>>;
  /** Each as it was set, with its attributes. */
  cookies: readonly string[];
  body: string;
}

export type HttpsEnd =
  | { kind: 'answered'; answer: HttpsAnswer }
  /** The other side could not prove who it is: nothing was sent to it. */
  | { kind: 'untrusted'; why: string; isOfStranger: boolean }
  /** It may have arrived all the same. `wasKept`: by a connection of earlier, which may have died in silence meanwhile. */
  | { kind: 'no-answer'; why: string; wasKept: boolean };

export const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** A question by a kept connection is not left to hang for longer: it can be asked again by a new one. */
const KEPT_TIMEOUT_MS = 10_000;

export function callHttps(call: HttpsCall, limits: HttpsLimits, world: Pick<DeviceWorld, 'after'>): Promise<HttpsEnd> {
  const way = { wasKept: false };
  return exchange(call, limits, world, way).then(
    (answer): HttpsEnd => ({ kind: 'answered', answer }),
    (error: unknown): HttpsEnd => {
      if (limits.signal.aborted) return { kind: 'no-answer', why: 'it was called off', wasKept: false };
      const why = error instanceof Error ? error.message : String(error);
      return isAboutTrust(error) ? untrusted(why) : { kind: 'no-answer', why, ...way };
    },
  );
}

function exchange(
  { method, url, headers, body = '' }: HttpsCall,
  { signal, timeoutMs, ca, isUnverified = false, kept, bodyLimitBytes = BODY_LIMIT_BYTES }: HttpsLimits,
  world: Pick<DeviceWorld, 'after'>,
  way: { wasKept: boolean },
): Promise<HttpsAnswer> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { ...headers, ...(method === 'POST' && { 'content-length': String(Buffer.byteLength(body)) }) },
      // Where none are kept, one that died in silence must not take the next question with it.
      agent: kept ?? false,
      rejectUnauthorized: !isUnverified,
      signal,
      ...(ca !== undefined && { ca }),
    };
    const asked = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > bodyLimitBytes) asked.destroy(new Error('the answer is too long'));
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve(answerOf(response, Buffer.concat(chunks).toString('utf8'))));
    });
    const endAfter = (ms: number): void => {
      const why = `no answer within ${Math.round(ms / 100) / 10} s`;
      asked.on(
        'close',
        world.after(ms, () => asked.destroy(new Error(why))),
      );
    };
    endAfter(timeoutMs);
    asked.on('socket', () => {
      way.wasKept = asked.reusedSocket;
      if (way.wasKept && method === 'GET' && timeoutMs > KEPT_TIMEOUT_MS) endAfter(KEPT_TIMEOUT_MS);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function answerOf(response: IncomingMessage, body: string): HttpsAnswer {
  const headers = Object.fromEntries(
    Object.entries(response.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]),
  );
  return { status: response.statusCode ?? 0, headers, cookies: response.headers['set-cookie'] ?? [], body };
}

/** Where nobody knows the authority, Node.js advises a flag of its own, which nobody can give here. */
const advised = /; if the root CA is installed locally.*/;

function untrusted(why: string): HttpsEnd {
  return { kind: 'untrusted', why: why.replace(advised, ''), isOfStranger: advised.test(why) };
}

function isAboutTrust(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/.test(code);
}
