import { request } from 'node:https';

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpRequest {
  readonly url: string;
  readonly caCert: string;
  readonly token?: string;
  readonly client?: { readonly certPem: string; readonly keyPem: string };
  readonly method?: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly timeoutMs?: number;
}

/** One verified request on a connection of its own; no retries, so that a test sees what the server does. */
export function httpRequest(input: HttpRequest): Promise<HttpAnswer> {
  const { url, caCert, token, client, method = 'GET', body, contentType = 'application/json' } = input;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const headers: Record<string, string> = { accept: 'application/json' };
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  if (payload !== undefined) headers['content-type'] = contentType;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method,
        headers,
        ca: caCert,
        agent: false,
        timeout: input.timeoutMs ?? 30_000,
        ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem }),
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        );
      },
    );
    outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url}`)));
    outgoing.on('error', reject);
    outgoing.end(payload);
  });
}
