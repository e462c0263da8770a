/** The body of a request, as an object: bounded in size and in time, whatever is sent. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';

export type Body = { ok: true; value: Record<string, unknown> } | { ok: false; status: number; text: string };

const usualBytes = 16_384;
const maxMs = 5000;

export function readBody(request: IncomingMessage, clock: Clock, maxBytes: number = usualBytes): Promise<Body> {
  const { promise, resolve } = Promise.withResolvers<Body>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = (body: Body): void => {
    cancel();
    request.removeAllListeners('data');
    request.pause();
    resolve(body);
  };
  const cancel = clock.after(maxMs, () => end({ ok: false, status: 408, text: 'the body took too long' }));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > maxBytes) end({ ok: false, status: 413, text: `a body has ${maxBytes} bytes at the most` });
  });
  request.once('end', () => end(parsed(Buffer.concat(chunks).toString())));
  request.once('error', () => end({ ok: false, status: 400, text: 'the body broke off' }));
  return promise;
}

function parsed(text: string): Body {
  const wrong: Body = { ok: false, status: 400, text: 'the body is to be an object in JSON' };
  if (text === '') return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ok: true, value: value as Record<string, unknown> } : wrong;
  } catch {
    return wrong;
  }
}
