/**
 * S21: never beyond the limits of a storm. When a fence is recorded as begun, no more nodes are unresponsive than its
 * policy allows, those counted that Kubernetes itself calls not Ready and those under a fence, and no more fences are
 * under way than may be; and no more pods go in a minute than their policy allows. (Whether the observer is the isolated party shows in S15: whoever cannot read does not act.)
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { shareOf } from '../../api/share.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { CheckContext, Invariant, Write } from './checker.ts';
import { releaseOf, toldOf } from './release.ts';

export const s21: Invariant = {
  id: 'S21',
  check: ({ state, violated, nowMs }) => ({
    onWrite: pace({ state, violated, nowMs }),
    onStored({ type, object, previous }) {
      if (object.kind !== 'NodeFence' || type === 'DELETED') return;
      const fence = object as StoredFence;
      if (!isUnderWay(fence) || isUnderWay(previous)) return;
      const storm = state.policies.get(fence.spec?.policy ?? '')?.spec?.storm;
      const node = fence.spec?.node ?? '';
      const others = [...state.fences.values()].filter((one) => isUnderWay(one) && one.spec?.node !== node);
      const fencing = new Set([node, ...others.map(({ spec }) => spec?.node ?? '')]);
      const { maxUnresponsive = '100%', maxConcurrent = Infinity } = storm ?? {};
      if (fencing.size > maxConcurrent) {
        violated(`the fence of ${node} is begun as number ${fencing.size}, and ${maxConcurrent} may run`);
      }
      const silent = [...state.nodes.values()].filter((one) => !isReady(one) || fencing.has(one.metadata.name));
      if (silent.length <= shareOf(maxUnresponsive, state.nodes.size)) return;
      violated(`the fence of ${node} is begun while ${silent.length} of ${state.nodes.size} nodes do not respond`);
    },
  }),
};

/** Pods that were let go, each counted once, in the minute before the latest of them. */
function pace({ state, violated, nowMs }: Pick<CheckContext, 'state' | 'violated' | 'nowMs'>): (write: Write) => void {
  const gone = new Map<string, number>();
  return (write) => {
    const release = releaseOf(write);
    if (release === undefined || !('uid' in release) || gone.has(release.uid)) return;
    gone.set(release.uid, nowMs());
    const policy = state.fences.get(nodeFenceName(release.node))?.spec?.policy ?? '';
    const { podsPerMinute = Infinity } = state.policies.get(policy)?.spec?.storm ?? {};
    const lately = [...gone.values()].filter((at) => at > nowMs() - 60_000).length;
    if (lately > podsPerMinute)
      violated(`${toldOf(release)} as number ${lately} in a minute, and ${podsPerMinute} may go`);
  };
}

function isUnderWay(fence: StoredFence | undefined): boolean {
  const { irrevocableSince, status } = fence?.status?.fence ?? {};
  return irrevocableSince !== undefined && status !== 'final' && status !== 'error';
}
