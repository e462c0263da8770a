/** Lets no pods onto a node, or again: only our own cordon is taken away, and that it is ours is noted in the same write (S8). */
import type { LiveNode } from '../api/release-view.ts';
import { CORDONED_ANNOTATION, isOurCordon } from '../api/plans.ts';
import type { JsonPatchOperation, KubeClient } from '../kube/client.ts';
import type { NodeLike } from '../kube/patches.ts';
import { cordon, removeAnnotation, setAnnotation, uncordon } from '../kube/patches.ts';
import { nodes } from '../kube/resources.ts';
import type { TryOutcome } from './power.ts';

export interface SchedulingOptions {
  client: KubeClient;
  guard: () => boolean;
  timeoutMs: number;
}

export async function setScheduling(
  node: LiveNode,
  action: 'cordon' | 'uncordon',
  { client, ...calls }: SchedulingOptions,
): Promise<TryOutcome> {
  const ref = { resource: nodes, name: node.name };
  const read = await client.get<NodeLike>(ref, calls);
  if (!read.ok) return { outcome: 'unknown', message: read.error.message };
  const operations = action === 'cordon' ? ownCordon(read.value) : ownUncordon(read.value);
  if (operations.length === 0) return { outcome: 'succeeded', message: `${action} was not needed` };
  const patched = await client.patch(ref, { uid: node.uid }, operations, calls);
  if (patched.ok) return { outcome: 'succeeded', message: action };
  return { outcome: patched.error.mayHaveHappened ? 'unknown' : 'failed', message: patched.error.message };
}

function ownCordon(node: NodeLike): JsonPatchOperation[] {
  const operations = cordon(node);
  return operations.length === 0 ? [] : [...operations, ...setAnnotation(node, CORDONED_ANNOTATION, 'true')];
}

function ownUncordon(node: NodeLike): JsonPatchOperation[] {
  const isOurs = isOurCordon(node);
  return [...(isOurs ? uncordon(node) : []), ...removeAnnotation(node, CORDONED_ANNOTATION)];
}
