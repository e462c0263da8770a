/** Collections of any size: page by page, each object reduced to what is kept of it as it arrives. */
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { failure } from '../kube/errors.ts';
import { readList } from '../kube/json-stream.ts';
import type { Resource } from '../kube/resources.ts';
import { collectionPath, withQuery } from '../kube/resources.ts';

export interface Wanted<T> {
  resource: Resource;
  namespace?: string;
  pageSize: number;
  /** Undefined: nothing of it is kept. */
  keep: (object: KubeObject) => T | undefined;
}

export interface Listed<T> {
  items: T[];
  /** The clock of the API server, by its last answer. */
  serverTime?: number;
}

/** A list begins anew that takes longer than the server keeps its history, or that a busy server asks to be asked for again. */
const maxBeginnings = 3;

export async function listAll<T>(
  client: KubeClient,
  wanted: Wanted<T>,
  signal: AbortSignal,
): Promise<Result<Listed<T>>> {
  for (let beginning = 1; ; beginning += 1) {
    const read = await pages(client, wanted, signal);
    if (read.ok || beginning === maxBeginnings || signal.aborted) return read;
    const { kind, retryAfterMs } = read.error;
    const isBusy = kind === 'timeout' && retryAfterMs !== undefined;
    if (kind !== 'gone' && !isBusy) return read;
  }
}

async function pages<T>(
  client: KubeClient,
  { resource, namespace, pageSize, keep }: Wanted<T>,
  signal: AbortSignal,
): Promise<Result<Listed<T>>> {
  const items: T[] = [];
  let serverTime: number | undefined;
  let next: string | undefined;
  const collection = collectionPath(resource, namespace);
  do {
    const opened = await client.stream(withQuery(collection, { limit: String(pageSize), continue: next }), 'call', {
      signal,
    });
    if (!opened.ok) return opened;
    serverTime = opened.serverTime ?? serverTime;
    try {
      const { metadata } = await readList(opened.value.body, (item) => {
        const kept = keep(item as KubeObject);
        if (kept !== undefined) items.push(kept);
      });
      next = metadata?.continue === '' ? undefined : metadata?.continue;
    } catch (error) {
      const message = `GET ${collection}: ${error instanceof Error ? error.message : String(error)}`;
      return failure({ kind: 'malformed', message, mayHaveHappened: false });
    }
  } while (next !== undefined);
  return { ok: true, value: { items, ...(serverTime === undefined ? {} : { serverTime }) } };
}
