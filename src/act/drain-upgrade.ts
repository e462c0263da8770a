/** Writes once what a storage system needs before replicas are asked to leave by their spec (DRN-11). Can be repeated at any time. */
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import type { NodeObject, ReplicaObject } from '../storage/longhorn-objects.ts';
import { replicas, storageNodes } from '../storage/longhorn-objects.ts';
import { upgradeOf } from '../storage/longhorn-upgrade.ts';

export interface UpgradeCalls {
  client: KubeClient;
  guard: () => boolean;
  timeoutMs: number;
}

const writesAtOnce = 16;

/** Undefined: nothing is left to do; otherwise what stood in the way, and it has to be tried again. */
export async function upgradeStorage(namespace: string, calls: UpgradeCalls): Promise<KubeError | undefined> {
  const { client, guard, timeoutMs } = calls;
  const [nodes, copies] = await Promise.all([
    client.list<KubeObject & NodeObject>(storageNodes, { namespace }, { timeoutMs }),
    client.list<KubeObject & ReplicaObject>(replicas, { namespace }, { timeoutMs }),
  ]);
  if (!nodes.ok) return nodes.error;
  if (!copies.ok) return copies.error;
  const patches = upgradeOf(nodes.value.items, copies.value.items);
  let wrong: KubeError | undefined;
  for (let start = 0; start < patches.length; start += writesAtOnce) {
    const some = patches.slice(start, start + writesAtOnce).map(({ ref, only, operations, subresource }) => {
      const options = { guard, timeoutMs, metadataOnly: true, ...(subresource === undefined ? {} : { subresource }) };
      return client.patch(ref, only, operations, options);
    });
    for (const done of await Promise.all(some)) {
      // Who is gone needs no upgrade.
      if (!done.ok && done.error.kind !== 'notFound') wrong = done.error;
    }
  }
  return wrong;
}
