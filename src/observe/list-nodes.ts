/** All Nodes with their labels, which the standing view does not keep: on thousands of nodes they are most of its memory. */
import { rivalsAmong, undisputed } from '../api/machine.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { nodes } from '../kube/resources.ts';
import { listAll } from './list-all.ts';
import { liveNode } from './project-release.ts';

/** A Node is some 12 kB of JSON. */
export const NODES_PER_PAGE = 100;

export async function listNodes(client: KubeClient, signal: AbortSignal): Promise<Result<LiveNode[]>> {
  const read = await listAll(client, { resource: nodes, pageSize: NODES_PER_PAGE, keep: liveNode }, signal);
  if (!read.ok) return read;
  const { items } = read.value;
  const rivalOf = rivalsAmong(items);
  return { ...read, value: items.map((node) => undisputed(node, rivalOf(node.name))) };
}
