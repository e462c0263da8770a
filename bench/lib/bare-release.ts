/**
 * The writes of a release in their order, by a client that looks at nothing: the record, the quarantine, the volumes in use,
 * then the pods side by side. What they name is read before the clock starts: no API server can be released from faster.
 */
import { nodeFenceName } from '../../src/api/fence-names.ts';
import type { NodeFence, ReleaseRecord } from '../../src/api/node-fence.ts';
import { QUARANTINE_KEY } from '../../src/api/release-view.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import type { Result } from '../../src/kube/errors.ts';
import { nodeFences, nodes, pods } from '../../src/kube/resources.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';

type StoredFence = NodeFence & KubeObject;

export interface BareRelease {
  /** Answers with how long it took. */
  write: () => Promise<number>;
}

export async function prepareBare(client: KubeClient, name: string): Promise<BareRelease> {
  const fenceRef = { resource: nodeFences, name: nodeFenceName(name) };
  const nodeRef = { resource: nodes, name };
  const [listed, node, fence] = await Promise.all([
    client.list<Pod>(pods, { fieldSelector: `spec.nodeName=${name}` }),
    client.get<Node>(nodeRef),
    client.get<StoredFence>(fenceRef),
  ]);
  const { uid = '' } = known(node).metadata;
  const here = known(listed).items;
  const record = recorded(known(fence), known(node), here);
  const value = [{ key: QUARANTINE_KEY, effect: 'NoSchedule' }];
  const quick = { metadataOnly: true };
  return {
    write: async () => {
      const startedAt = performance.now();
      known(await client.replace(fenceRef, record, 'status'));
      known(await client.patch(nodeRef, { uid }, [{ op: 'add', path: '/spec/taints', value }], quick));
      const free = { op: 'replace' as const, path: '/status/volumesInUse', value: [] };
      known(await client.patch(nodeRef, { uid }, [free], { ...quick, subresource: 'status' }));
      await Promise.all(here.map((pod) => deleted(client, pod)));
      return performance.now() - startedAt;
    },
  };
}

async function deleted(client: KubeClient, { metadata }: Pod): Promise<void> {
  const { namespace = '', name, uid = '', resourceVersion = '' } = metadata;
  const ref = { resource: pods, namespace, name };
  known(await client.delete(ref, { uid, resourceVersion }, { metadataOnly: true, gracePeriodSeconds: 0 }));
}

/** As large as the record that the operator writes. */
function recorded(fence: StoredFence, { metadata, status }: Node, here: readonly Pod[]): StoredFence {
  const names = here.map((pod) => pod.metadata);
  const record: ReleaseRecord = {
    way: 'assertion',
    basis: 'Asserted',
    by: 'nobody',
    nodeUid: metadata.uid ?? '',
    bootId: status?.nodeInfo?.bootID ?? '',
    epoch: fence.status.epoch,
    recordedAt: '2026-01-06T09:00:00Z',
    podsStay: false,
    pods: names.map(({ namespace = '', name, uid = '' }) => ({ namespace, name, uid })),
    attachments: [],
    volumes: names.map(({ name }) => `data-${name}`),
    freed: status?.volumesInUse ?? [],
  };
  return { ...fence, status: { ...fence.status, stuck: [], releases: [record] } };
}

function known<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}
