/** The cluster as it is now, read as the user and never written to. */
import type { Snapshot } from '../api/snapshot.ts';
import type { KubeClient } from '../kube/client.ts';
import { readSnapshot } from '../observe/snapshot.ts';
import { configuredIn } from './operator-place.ts';
import { taken } from './taken.ts';
import { usualNamespace } from './written.ts';

export async function snapshotOf(client: KubeClient, namespace: string, signal?: AbortSignal): Promise<Snapshot> {
  return taken(await readSnapshot({ client, namespace, signal: signal ?? new AbortController().signal }));
}

/** With what is written for the operator, wherever that is unless it is said. */
export async function wholeCluster(
  client: KubeClient,
  given: string | undefined,
  signal: AbortSignal,
): Promise<Snapshot> {
  return snapshotOf(client, await configuredIn(client, { given, usual: usualNamespace }), signal);
}
