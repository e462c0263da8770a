/** AWS Signature Version 4: the secret key signs a request and never travels itself. */
import { createHash, createHmac } from 'node:crypto';

export interface SigningKey {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

export interface ToSign {
  method: string;
  /** Its path and query are signed as they are: whoever writes them encodes them. */
  url: URL;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface Scope {
  region: string;
  service: string;
  /** Wall clock, milliseconds since the epoch: AWS refuses what is some minutes off. */
  nowMs: number;
}

/** The headers to send: those given, and the signature with what belongs to it. */
export function signed(request: ToSign, key: SigningKey, { region, service, nowMs }: Scope): Record<string, string> {
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-date': time,
    ...(key.sessionToken !== undefined && { 'x-amz-security-token': key.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const canonical = [
    request.method,
    request.url.pathname,
    request.url.search.slice(1).split('&').sort().join('&'),
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    sha256(request.body),
  ].join('\n');
  const scope = [day, region, service, 'aws4_request'].join('/');
  const secret = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (previous, part) => createHmac('sha256', previous).update(part).digest(),
    `AWS4${key.secretAccessKey}`,
  );
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  const credential = `Credential=${key.accessKeyId}/${scope}`;
  headers['authorization'] = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return headers;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
