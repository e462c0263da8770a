/** Listens at an operator's end of the wire, between it and whatever the network does. */
import type { HttpRequest, HttpResponse, Transport } from '../kube/transport.ts';
import type { WireEvent } from './checkers/checker.ts';

const versionField = '"resourceVersion":"';

export function tapped(inner: Transport, operator: number, onWire: (event: WireEvent) => void): Transport {
  return {
    async send(request: HttpRequest): Promise<HttpResponse> {
      const watch = watchOf(request);
      if (watch === undefined) return inner.send(request);
      onWire({ type: 'watching', operator, ...watch });
      const response = await inner.send(request);
      if (response.status !== 200) return response;
      return {
        ...response,
        body: listened(response.body, (version) => {
          onWire({ type: 'delivered', operator, collection: watch.collection, version });
        }),
      };
    },
    close: () => inner.close(),
  };
}

function watchOf({ method, path }: HttpRequest): { collection: string; from: string } | undefined {
  const [collection = '', query] = path.split('?', 2);
  if (method !== 'GET' || query === undefined || !query.includes('watch=')) return undefined;
  const from = new URLSearchParams(query).get('resourceVersion');
  return from === null || from === '' || from === '0' ? undefined : { collection, from };
}

async function* listened(
  body: AsyncIterable<Uint8Array>,
  onVersion: (version: string) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    // Told once it was taken: what the reader gives up on has not been seen.
    yield chunk;
    const version = lastVersionIn(chunk);
    if (version !== undefined) onVersion(version);
  }
}

/** The version of the last complete line: the first that it mentions, because the metadata come first. */
function lastVersionIn(chunk: Uint8Array): string | undefined {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const end = bytes.lastIndexOf('\n');
  if (end === -1) return undefined;
  const start = end === 0 ? 0 : bytes.lastIndexOf('\n', end - 1) + 1;
  const at = bytes.indexOf(versionField, start);
  if (at === -1 || at > end) return undefined;
  const from = at + versionField.length;
  const version = bytes.toString('latin1', from, bytes.indexOf('"', from));
  return /^\d+$/.test(version) ? version : undefined;
}
