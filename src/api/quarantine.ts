/**
 * What the quarantine of a node says by itself. Whoever finds it without the record that it was put on with does not know what was
 * let go there: where a pod was on the node whose volumes no kubelet reports, or that shows in no volume and may take longer than most
 * to end, nothing but another boot shows that it has ended (S9). So the taint names the incident that knows, and that boot; where there
 * is no such pod, it says nothing.
 */
import { belongsToNode, clockTime } from './facts.ts';
import { hash } from './hash.ts';
import type { LiveNode, NodeCase, PodFacts } from './release-view.ts';
import { QUARANTINE_KEY } from './release-view.ts';
import { hiddenForSeconds, unseenVolume, USUAL_GRACE_SECONDS } from './unseen.ts';

/** That of the incident that is open, or begins now. A newcomer of the same name has one of its own. */
export function incidentIdOf({ name, node, fence, serverNowMs }: NodeCase): string {
  const known = fence?.status.incident;
  const isOther = known !== undefined && node !== undefined && known.nodeUid !== node.uid;
  if (known !== undefined && !isOther) return known.id;
  return `${name}-${clockTime(serverNowMs).replaceAll(/[^0-9]/g, '')}`.slice(-64);
}

/** The value that the taint should have; undefined: none that it does not have. What it says of this boot is never overwritten. */
export function markOf(nodeCase: NodeCase): string | undefined {
  const { node } = nodeCase;
  if (node === undefined || !hasUnseen(nodeCase, node) || markedBy(node)?.boot === hash(node.bootId)) return undefined;
  return `${hash(incidentIdOf(nodeCase))}.${hash(node.bootId)}`;
}

/** Now, or on record: what was let go is not on the node any more when the quarantine is put on again. */
function hasUnseen(nodeCase: NodeCase, { bootId }: LiveNode): boolean {
  const { pods, fence } = nodeCase;
  const { incident, releases = [] } = fence?.status ?? {};
  return (
    pods.some((pod) => unseenVolume(nodeCase, pod) !== undefined || isHidden(nodeCase, pod)) ||
    incident?.unseen?.bootId === bootId ||
    releases.some(
      (record) =>
        record.bootId === bootId &&
        record.pods.some(({ unseen, graceSeconds }) => unseen !== undefined || isLong(graceSeconds)),
    )
  );
}

/** What belongs to the node is not let go. */
function isHidden(nodeCase: NodeCase, pod: PodFacts): boolean {
  return !belongsToNode(pod) && isLong(hiddenForSeconds(nodeCase, pod));
}

/** Longer than a node without a record is waited for. */
function isLong(graceSeconds: number | undefined): boolean {
  return (graceSeconds ?? 0) > USUAL_GRACE_SECONDS;
}

function markedBy({ taints }: LiveNode): { incident: string; boot: string } | undefined {
  const mark = taints.find(({ key, effect }) => key === QUARANTINE_KEY && effect === 'NoSchedule')?.value ?? '';
  const [incident = '', boot = ''] = mark.split('.');
  return boot === '' ? undefined : { incident, boot };
}

/** Something was let go in this boot that no kubelet reports, and the record of it is gone. */
export function isForgotten(nodeCase: NodeCase): boolean {
  const { node } = nodeCase;
  const mark = node && markedBy(node);
  return mark !== undefined && mark.boot === hash(node?.bootId ?? '') && mark.incident !== hash(incidentIdOf(nodeCase));
}
