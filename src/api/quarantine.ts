/**
 * What the quarantine of a node says by itself. Whoever finds it without the record that it was put on with does not know what was
 * let go there: where a pod was on the node whose volumes no kubelet reports, nothing but another boot shows that it has ended (S9).
 * So the taint names the incident that knows, and that boot; where every volume shows, it says nothing.
 */
import { clockTime, hasTaint } from './facts.ts';
import { hash } from './hash.ts';
import type { NodeCase } from './release-view.ts';
import { QUARANTINE_KEY } from './release-view.ts';
import { unseenVolume } from './unseen.ts';

/** That of the incident that is open, or begins now. A newcomer of the same name has one of its own. */
export function incidentIdOf({ name, node, fence, serverNowMs }: NodeCase): string {
  const known = fence?.status.incident;
  const isOther = known !== undefined && node !== undefined && known.nodeUid !== node.uid;
  if (known !== undefined && !isOther) return known.id;
  return `${name}-${clockTime(serverNowMs).replaceAll(/[^0-9]/g, '')}`.slice(-64);
}

/** The value of the taint; undefined: it has none. */
export function markOf(nodeCase: NodeCase): string | undefined {
  const { node, pods } = nodeCase;
  if (node === undefined || !pods.some((pod) => unseenVolume(nodeCase, pod) !== undefined)) return undefined;
  return `${hash(incidentIdOf(nodeCase))}.${hash(node.bootId)}`;
}

/** Something was let go in this boot that no kubelet reports, and the record of it is gone. */
export function isForgotten(nodeCase: NodeCase): boolean {
  const { node } = nodeCase;
  if (!hasTaint(node, QUARANTINE_KEY, 'NoSchedule')) return false;
  const mark = node?.taints.find(({ key, effect }) => key === QUARANTINE_KEY && effect === 'NoSchedule')?.value ?? '';
  const [incident = '', boot = ''] = mark.split('.');
  return boot !== '' && boot === hash(node?.bootId ?? '') && incident !== hash(incidentIdOf(nodeCase));
}
