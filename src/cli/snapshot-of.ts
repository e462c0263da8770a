/** The cluster as it is now, read as the user and never written to. */
import type { Snapshot } from '../api/snapshot.ts';
import type { KubeClient } from '../kube/client.ts';
import { readSnapshot } from '../observe/snapshot.ts';
import { taken } from './taken.ts';

export async function snapshotOf(client: KubeClient, namespace: string): Promise<Snapshot> {
  return taken(await readSnapshot({ client, namespace, signal: new AbortController().signal }));
}
