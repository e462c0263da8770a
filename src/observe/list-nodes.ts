/** All Nodes with their labels, which the standing view does not keep: on thousands of nodes they are most of its memory. */
import type { LiveNode } from '../api/release-view.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { failure } from '../kube/errors.ts';
import { readList } from '../kube/json-stream.ts';
import { collectionPath, nodes, withQuery } from '../kube/resources.ts';
import { liveNode } from './project-release.ts';

/** A Node is some 12 kB of JSON. */
const pageSize = 100;

/** Page by page, each Node reduced to a few fields as it arrives. */
export async function listNodes(client: KubeClient, signal: AbortSignal): Promise<Result<LiveNode[]>> {
  const found: LiveNode[] = [];
  let next: string | undefined;
  do {
    const path = withQuery(collectionPath(nodes), { limit: String(pageSize), continue: next });
    const opened = await client.stream(path, 'call', { signal });
    if (!opened.ok) return opened;
    try {
      const { metadata } = await readList(opened.value.body, (item) => found.push(liveNode(item as KubeObject)));
      next = metadata?.continue === '' ? undefined : metadata?.continue;
    } catch (error) {
      const message = `GET ${collectionPath(nodes)}: ${error instanceof Error ? error.message : String(error)}`;
      return failure({ kind: 'malformed', message, mayHaveHappened: false });
    }
  } while (next !== undefined);
  return { ok: true, value: found };
}
