/** Listens at an operator's end of the wire, between it and whatever the network does. */
import type { Clock } from '../clock.ts';
import type { KubeObject } from '../kube/client.ts';
import type { HttpRequest, HttpResponse, Transport } from '../kube/transport.ts';
import { Document } from '../kube/transport.ts';
import type { ReadEvent, WireEvent } from './checkers/checker.ts';

const versionField = '"resourceVersion":"';
/** Of these checkers want to know what the answer says. */
const told = { node: /^\/api\/v1\/nodes\/[^/]+$/, fence: /^\/apis\/fenceline\.dev\/v1alpha1\/nodefences\/[^/]+$/ };

export interface TapOptions {
  operator: number;
  clock: Clock;
  onWire: (event: WireEvent) => void;
}

export function tapped(inner: Transport, { operator, clock, onWire }: TapOptions): Transport {
  let watches = 0;
  return {
    async send(request: HttpRequest): Promise<HttpResponse> {
      const watch = watchOf(request);
      if (watch === undefined) {
        if (request.method !== 'GET') onWire({ type: 'sent', operator, path: pathOf(request) });
        return request.method === 'GET' && request.purpose === 'call'
          ? sendRead(inner, request, { operator, clock, onWire })
          : inner.send(request);
      }
      watches += 1;
      const its = { operator, collection: watch.collection, watch: watches };
      const onEnd = (): void => onWire({ type: 'unwatched', ...its });
      onWire({ type: 'watching', ...its, from: watch.from });
      let response: HttpResponse;
      try {
        response = await inner.send(request);
      } catch (error) {
        onEnd();
        throw error;
      }
      if (response.status !== 200) {
        onEnd();
        return response;
      }
      const onVersion = (version: string): void => onWire({ type: 'delivered', ...its, version });
      return { ...response, body: listened(response.body, { onVersion, onEnd }) };
    },
    close: () => inner.close(),
  };
}

function pathOf({ path }: HttpRequest): string {
  return path.split('?', 1)[0] ?? '';
}

async function sendRead(inner: Transport, request: HttpRequest, options: TapOptions): Promise<HttpResponse> {
  const { operator, clock, onWire } = options;
  const [path = '', query = ''] = request.path.split('?', 2);
  const version = new URLSearchParams(query).get('resourceVersion') ?? '';
  const read: ReadEvent = { type: 'read', operator, path, live: version === '', askedAtMs: clock.monotonic() };
  let response: HttpResponse;
  try {
    response = await inner.send(request);
  } catch (error) {
    onWire(read);
    throw error;
  }
  const { status } = response;
  const kind = (['node', 'fence'] as const).find((one) => told[one].test(path));
  if (status !== 200 || kind === undefined) {
    onWire({ ...read, status });
    return response;
  }
  return {
    ...response,
    body: taken(response.body, (chunks) => onWire({ ...read, status, ...objectIn(kind, chunks) })),
  };
}

async function* taken(
  body: AsyncIterable<Uint8Array>,
  onEnd: (chunks: readonly Uint8Array[]) => void,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    yield chunk;
  }
  onEnd(chunks);
}

function objectIn(kind: 'node' | 'fence', chunks: readonly Uint8Array[]): Pick<ReadEvent, 'node' | 'fence'> {
  const [first] = chunks;
  if (first instanceof Document) return { [kind]: first.value };
  try {
    return { [kind]: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown };
  } catch {
    return {};
  }
}

function watchOf({ method, path }: HttpRequest): { collection: string; from: string } | undefined {
  const [collection = '', query] = path.split('?', 2);
  if (method !== 'GET' || query === undefined || !query.includes('watch=')) return undefined;
  const asked = new URLSearchParams(query);
  const from = asked.get('resourceVersion');
  if (from === null || from === '' || from === '0') return undefined;
  // Watches of parts of a collection are followed one by one: each comes to its own versions.
  const selector = asked.get('fieldSelector');
  return { collection: selector === null ? collection : `${collection}?${selector}`, from };
}

async function* listened(
  body: AsyncIterable<Uint8Array>,
  { onVersion, onEnd }: { onVersion: (version: string) => void; onEnd: () => void },
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      // Told once it was taken: what the reader gives up on has not been seen.
      yield chunk;
      const version = lastVersionIn(chunk);
      if (version !== undefined) onVersion(version);
    }
  } finally {
    onEnd();
  }
}

/** The version of the last complete line: the first that it mentions, because the metadata come first. */
function lastVersionIn(chunk: Uint8Array): string | undefined {
  if (chunk instanceof Document) return (chunk.value as { object?: KubeObject }).object?.metadata.resourceVersion;
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
