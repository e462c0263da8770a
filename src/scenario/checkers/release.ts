/** What several checkers look at: writes by which something of a node is let go for good, and the records of why. */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { VolumeAttachment } from '../../world/objects/volumes.ts';
import type { ClusterState, StoredRelease } from '../cluster-state.ts';
import type { CheckContext, OnRecord, Write } from './checker.ts';
import { succeeded } from './checker.ts';

export type Release = { user: string } &
  /** Its object goes although no kubelet has said anything, or its phase says that it has ended. */
  (
    | { what: 'deleted by force' | 'marked Failed'; node: string; pod: Pod; uid: string }
    | { what: 'deleted'; node: string; attachment: VolumeAttachment }
    /** Taken out of the volumes in use, as `kubernetes.io/csi/driver^handle`. */
    | { what: 'freed'; node: string; entries: string[] }
  );

/** Undefined: it lets nothing go, or was refused. */
export function releaseOf(write: Write): Release | undefined {
  if (!succeeded(write) || write.before === undefined) return undefined;
  const { user } = write;
  switch (write.resource) {
    case 'pods':
      return podRelease(write, write.before as Pod);
    case 'volumeattachments': {
      const attachment = write.before as VolumeAttachment;
      return write.verb === 'delete'
        ? { user, what: 'deleted', node: attachment.spec.nodeName, attachment }
        : undefined;
    }
    case 'nodes':
      return freed(write, write.before);
    default:
      return undefined;
  }
}

function podRelease(write: Write, pod: Pod): Release | undefined {
  const { user } = write;
  const { uid = '' } = pod.metadata;
  const { nodeName: node } = pod.spec;
  if (node === undefined) return undefined;
  if (write.verb === 'delete')
    return isForced(write, pod) ? { user, what: 'deleted by force', node, pod, uid } : undefined;
  const after = write.after as Pod | undefined;
  const isNews = after?.status?.phase === 'Failed' && pod.status?.phase !== 'Failed';
  return isNews ? { user, what: 'marked Failed', node, pod, uid } : undefined;
}

/** Also by the pod's own period: what counts is that the object goes without the kubelet having said anything. */
function isForced({ body }: Write, { spec }: Pod): boolean {
  const asked = (body as { gracePeriodSeconds?: number } | undefined)?.gracePeriodSeconds;
  return (asked ?? spec.terminationGracePeriodSeconds) === 0;
}

function freed({ user, after, verb }: Write, before: Node): Release | undefined {
  if (verb === 'delete') return undefined;
  const left: Node | undefined = after;
  const kept = new Set(left?.status?.volumesInUse);
  const entries = (before.status?.volumesInUse ?? []).filter((entry) => !kept.has(entry));
  return entries.length === 0 ? undefined : { user, what: 'freed', node: before.metadata.name, entries };
}

export function recordsOf(state: ClusterState, node: string): readonly StoredRelease[] {
  return state.fences.get(nodeFenceName(node))?.status?.releases ?? [];
}

/** The records that speak of it. */
export function recordsFor({ recordsOf: of }: Pick<CheckContext, 'recordsOf'>, release: Release): OnRecord[] {
  const records = of(release.user, release.node);
  switch (release.what) {
    case 'deleted':
      return records.filter(({ attachments = [] }) => attachments.includes(release.attachment.metadata.name));
    case 'freed':
      return records.filter(({ endedAt }) => endedAt === undefined);
    default:
      return records.filter(({ pods = [] }) => pods.some(({ uid }) => uid === release.uid));
  }
}

/** Why what rests on a record that is gone passes by name. */
export const deletedUnderway = 'somebody has deleted the record while it was under way';

/** Whether a pod goes by one of these; `deleted`: by none that is still there. */
export function letsGo(records: readonly OnRecord[], podUid: string | undefined): 'stored' | 'deleted' | undefined {
  const its = records.filter(({ pods = [] }) => pods.some(({ uid }) => uid === podUid));
  if (its.length === 0) return undefined;
  return its.every(({ isDeleted }) => isDeleted === true) ? 'deleted' : 'stored';
}

export function nameOf(release: Release): string {
  switch (release.what) {
    case 'deleted':
      return `VolumeAttachment of ${release.attachment.spec.source.persistentVolumeName ?? 'an inline volume'}`;
    case 'freed':
      return release.entries.join(', ');
    default:
      return `pod ${release.pod.metadata.namespace}/${release.pod.metadata.name}`;
  }
}

/** `web-0 on node-1 was deleted by force` */
export function toldOf(release: Release): string {
  return `${nameOf(release)} on ${release.node} was ${release.what}`;
}

/** The PersistentVolumes that a pod uses, by name. */
export function volumesOf(state: ClusterState, pod: Pod): string[] {
  const { namespace, name } = pod.metadata;
  const claims = new Set(
    (pod.spec.volumes ?? []).flatMap(({ name: volume, persistentVolumeClaim, ephemeral }) => {
      if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
      return ephemeral === undefined ? [] : [`${name}-${volume}`];
    }),
  );
  return [...state.volumes].flatMap(([volume, { spec }]) => {
    const { claimRef } = spec ?? {};
    return claimRef?.namespace === namespace && claims.has(claimRef?.name ?? '') ? [volume] : [];
  });
}
