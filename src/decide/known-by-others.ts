/**
 * Half of a large cluster falls silent: why nothing is done is the same for all of them, and thousands of records would say it thousands
 * of times, to whoever reads them as to the API server. Some of those in a storm have it on record; of the others nothing is stored
 * while there is nothing else to say.
 */
import { isUnderFence } from '../api/facts.ts';
import type { NodeFence } from '../api/node-fence.ts';
import { HELD } from '../api/reasons.ts';
import type { NodeCase } from '../api/release-view.ts';
import { hasWitnesses } from '../api/storm-sign.ts';
import { standsUnread } from './unread.ts';
import type { ReleaseDecision } from './decide-release.ts';
import type { RemedyDecision } from './decide-remedy.ts';

const storms: ReadonlySet<string | undefined> = new Set([HELD.reason.StormLimit, HELD.reason.ZoneStormLimit]);

export function isKnownByOthers(
  nodeCase: NodeCase,
  { hold, trouble, steps }: Pick<ReleaseDecision, 'hold' | 'trouble' | 'steps'>,
  remedy: RemedyDecision,
): boolean {
  // Of one whose pods are watched more may be known, and to be told.
  if (nodeCase.isUnread !== true || trouble === undefined || !storms.has(hold?.reason)) return false;
  if (remedy.run !== undefined || !standsUnread(nodeCase, remedy, steps)) return false;
  const zone = nodeCase.node?.labels['topology.kubernetes.io/zone'] ?? '';
  return !isOpen(nodeCase.fence) && hasWitnesses(nodeCase.count, zone);
}

/** Something of it is not over, or somebody asks for something: what becomes of that has to be told. */
function isOpen(fence: NodeFence | undefined): boolean {
  if (fence === undefined) return false;
  const { spec, status } = fence;
  if (spec.stop || spec.requested !== undefined || status.incident !== undefined) return true;
  const isLetGo = status.releases.some(({ endedAt }) => endedAt === undefined) || status.applied.length > 0;
  return isLetGo || isUnderFence(status.fence) || status.jobs.length > 0 || status.approval !== undefined;
}
