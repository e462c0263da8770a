/** Whole collections, as a command reads them that looks once. */
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { readList } from '../kube/json-stream.ts';
import type { Resource } from '../kube/resources.ts';
import { collectionPath } from '../kube/resources.ts';
import { apiFailure } from './taken.ts';
import { UserError } from './user-error.ts';

/** A cluster in which Fenceline is not installed, or whose records the user may not read, has verdicts all the same. */
export async function readOwn<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
): Promise<T[] | 'forbidden'> {
  const read = await client.list<T>(resource);
  if (read.ok) return read.value.items;
  if (read.error.kind === 'notFound') return [];
  if (read.error.kind === 'forbidden') return 'forbidden';
  throw apiFailure(read.error);
}

/** Answers the server's clock. */
export async function readAll(
  client: KubeClient,
  resource: Resource,
  namespace: string | undefined,
  onItem: (object: KubeObject) => void,
): Promise<number> {
  const path = collectionPath(resource, namespace);
  const opened = await client.stream(path, 'call', { signal: new AbortController().signal });
  const { value, serverTime } = taken(opened);
  try {
    await readList(value.body, (item) => onItem(item as KubeObject));
  } catch (error) {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (serverTime === undefined) throw new UserError(`${path}: the API server sent no Date`);
  return serverTime;
}

function taken<T>(result: Result<T>): Extract<Result<T>, { ok: true }> {
  if (!result.ok) throw apiFailure(result.error);
  return result;
}
