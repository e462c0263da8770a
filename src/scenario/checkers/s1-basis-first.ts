/**
 * S1: no grace-0 delete of a pod and no delete of a VolumeAttachment before a durable record of its basis, for this
 * node's UID and boot. Durable is what the API server had stored when the delete arrived.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Pod, VolumeAttachment } from '../../world/objects.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Invariant, Write } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';

type Release = NonNullable<NonNullable<ReturnType<ClusterState['fences']['get']>>['status']>['releases'];

export const s1: Invariant = {
  id: 'S1',
  check: ({ state, violated }) => ({
    onWrite(write) {
      if (write.verb !== 'delete' || !succeeded(write) || write.before === undefined) return;
      const release = releaseOf(write);
      if (release === undefined) return;
      const { nodeName, covers, what } = release;
      const node = state.lastNodes.get(nodeName);
      const recorded = state.fences.get(nodeFenceName(nodeName))?.status?.releases ?? [];
      const matching = recorded.filter(
        ({ nodeUid, bootId }) =>
          nodeUid === node?.metadata.uid && (!state.nodes.has(nodeName) || bootId === node?.status?.nodeInfo?.bootID),
      );
      if (matching.some(covers)) return;
      const why =
        recorded.length === 0
          ? 'without a record of its basis'
          : `with ${recorded.length} records, none of which covers it for this node and boot`;
      violated(`${objectOf(write)} on ${nodeName} ${what} ${why}`);
    },
  }),
};

function releaseOf(
  write: Write,
): { nodeName: string; what: string; covers: (release: NonNullable<Release>[number]) => boolean } | undefined {
  const { before, resource } = write;
  const { uid = '', name } = before?.metadata ?? { name: '' };
  if (resource === 'pods' && isForced(write)) {
    const nodeName = (before as Pod).spec.nodeName;
    if (nodeName === undefined) return undefined;
    const covers = ({ pods = [] }: NonNullable<Release>[number]): boolean => pods.some((pod) => pod.uid === uid);
    return { nodeName, what: 'was deleted by force', covers };
  }
  if (resource === 'volumeattachments') {
    const { nodeName } = (before as VolumeAttachment).spec;
    return { nodeName, what: 'was deleted', covers: ({ attachments = [] }) => attachments.includes(name) };
  }
  return undefined;
}

/** Also by the pod's own period: what counts is that the object goes without the kubelet having said anything. */
function isForced({ body, before }: Write): boolean {
  const asked = (body as { gracePeriodSeconds?: number } | undefined)?.gracePeriodSeconds;
  return (asked ?? (before as Pod).spec.terminationGracePeriodSeconds) === 0;
}
