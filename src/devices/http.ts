/**
 * One HTTPS call to a device: certificates are always checked, redirections never followed (a credential would go with
 * them), and it ends by time and by size. Whatever happens becomes a value.
 */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { DeviceWorld } from './device.ts';

export interface HttpsCall {
  method: 'GET' | 'POST';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface HttpsLimits {
  signal: AbortSignal;
  timeoutMs: number;
  /** Certificates of the authorities that are trusted, in PEM; the system's where absent. */
  ca?: string;
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
  | { kind: 'untrusted'; why: string }
  /** It may have arrived all the same. */
  | { kind: 'no-answer'; why: string };

const BODY_LIMIT_BYTES = 8 * 1024 * 1024;

export function callHttps(call: HttpsCall, limits: HttpsLimits, world: Pick<DeviceWorld, 'after'>): Promise<HttpsEnd> {
  return exchange(call, limits, world).then(
    (answer): HttpsEnd => ({ kind: 'answered', answer }),
    (error: unknown): HttpsEnd => {
      if (limits.signal.aborted) return { kind: 'no-answer', why: 'it was called off' };
      const why = error instanceof Error ? error.message : String(error);
      return { kind: isAboutTrust(error) ? 'untrusted' : 'no-answer', why };
    },
  );
}

function exchange(
  { method, url, headers, body = '' }: HttpsCall,
  { signal, timeoutMs, ca }: HttpsLimits,
  world: Pick<DeviceWorld, 'after'>,
): Promise<HttpsAnswer> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      // A connection of its own: one that died in silence must not take the next question with it.
      agent: false,
      rejectUnauthorized: true,
      signal,
      ...(ca !== undefined && { ca }),
    };
    const asked = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > BODY_LIMIT_BYTES) asked.destroy(new Error('the answer is too long'));
        chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve(answerOf(response, Buffer.concat(chunks).toString('utf8'))));
    });
    const cancel = world.after(timeoutMs, () =>
      asked.destroy(new Error(`no answer within ${Math.round(timeoutMs / 100) / 10} s`)),
    );
    asked.on('close', cancel);
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

function isAboutTrust(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /CERT|^UNABLE_TO_|^HOSTNAME_MISMATCH$|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$/.test(code);
}
