/**
 * Half of a large cluster falls silent: why nothing is done is the same for all of them, and thousands of records would say it thousands
 * of times, to whoever reads them as to the API server. Some of those in a storm have it on record; of the others nothing is stored
 * while there is nothing else to say.
 */
import type { NodeFence } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { hasWitnesses, isStormHold } from '../api/storm-sign.ts';
import { standsUnread } from './unread.ts';
import type { ReleaseDecision } from './decide-release.ts';
import type { RemedyDecision } from './decide-remedy.ts';

/** Nothing is done about it, as nobody has to read its pods for that. */
export function isKnownByOthers(
  nodeCase: NodeCase,
  { hold, steps }: Pick<ReleaseDecision, 'hold' | 'steps'>,
  remedy: RemedyDecision,
): boolean {
  // Of one whose pods are watched more may be known, and to be told.
  if (nodeCase.isUnread !== true || !isStormHold(hold?.reason) || !standsUnread(nodeCase, remedy, steps)) return false;
  const zone = nodeCase.node?.labels['topology.kubernetes.io/zone'] ?? '';
  return !isOpen(nodeCase.fence) && hasWitnesses(nodeCase.count, zone);
}

/** Something of it is not over, or somebody has asked for something: what becomes of that has to be told. */
function isOpen(fence: NodeFence | undefined): boolean {
  if (fence === undefined) return false;
  const { spec, status } = fence;
  const { phase = 'finished' } = status.fence ?? {};
  return spec.requested !== undefined || status.incident !== undefined || phase !== 'finished';
}
