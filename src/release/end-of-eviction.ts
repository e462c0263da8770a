/**
 * When the force-eviction taint goes (FEV-3, FEV-5): at once from a node that is Ready and of which nothing was evicted;
 * otherwise when everything that the taint is about is gone and detached, whoever did it and on whatever basis. A node that comes
 * back in the middle finishes first: its kubelet refuses what does not tolerate the taint, and takes it away itself.
 */
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { GroundedAct } from '../api/steps.ts';
import { FORCE_EVICTION_KEY } from '../api/release-view.ts';
import { isEvictable } from './by-assertion.ts';
import { hasTaint } from '../api/facts.ts';
import { attachmentsHere } from './checks.ts';
import { keptBy } from './kept.ts';
import { staysBehind } from './latecomers.ts';

type Untaint = Extract<GroundedAct, { do: 'untaint' }>;

const effect = 'NoExecute';

export function endOfEviction(nodeCase: NodeCase, records: readonly ReleaseRecord[]): Untaint | undefined {
  const { node, gates, pods } = nodeCase;
  if (!hasTaint(node, FORCE_EVICTION_KEY, effect)) return undefined;
  // Switched off, the taint means nothing to us, unless it is one that we have begun to act on.
  if (!gates.ForceEviction && records.every(({ basis }) => basis !== 'Asserted')) return undefined;
  if (records.some(({ endedAt }) => endedAt === undefined)) return undefined;
  if (node?.ready !== 'True' && (pods.some((pod) => isAwaited(nodeCase, pod)) || hasLeftovers(nodeCase)))
    return undefined;
  return { do: 'untaint', key: FORCE_EVICTION_KEY, effect };
}

/** The taint would have it go, and it does. */
function isAwaited(nodeCase: NodeCase, pod: PodFacts): boolean {
  return isEvictable(nodeCase, pod) && !staysBehind(nodeCase, pod);
}

/** Attached to the node, and no pod that stays uses it. */
function hasLeftovers(nodeCase: NodeCase): boolean {
  const used = keptBy(nodeCase, nodeCase.pods);
  // Where something could not be read, whatever is not known to be used counts as left.
  return attachmentsHere(nodeCase).some((one) =>
    used.isUnknown ? !used.volumes.has(one.volume) : !used.attachment(one),
  );
}
