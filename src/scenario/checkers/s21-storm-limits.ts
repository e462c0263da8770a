/**
 * S21: never beyond the limits of a storm. When the fence of a machine that runs is begun, no more nodes are silent than its
 * policy allows, in the cluster and in each zone of three or more, by the renewals that reached the API server, with those
 * counted that operators have cut; no more machines are cut at a time than may be; and no more pods go in a minute than their
 * policy allows. A machine that is off is only found so: nothing is cut there. (Whether the observer is the isolated party shows
 * in S15: whoever cannot read does not act.)
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { CheckContext, Invariant, Write } from './checker.ts';
import { Cuts } from './cuts.ts';
import { isLying } from './devices.ts';
import { releaseOf, toldOf } from './release.ts';
import { beginsFence, Troubles } from './trouble.ts';

export const s21: Invariant = {
  id: 'S21',
  check: (context) => {
    const { machineOf, violated, exempt } = context;
    const troubles = new Troubles(context);
    const cuts = new Cuts(context);
    const paced = pace(context);
    return {
      onWrite: paced,
      onWire(event) {
        if (event.type === 'device' && event.action === 'off' && machineOf(event.node)?.power === 'on') {
          const { maxConcurrent = Infinity } = troubles.policyOf(event.node)?.spec?.storm ?? {};
          const { size } = new Set([event.node, ...cuts.busy()]);
          if (size > maxConcurrent) violated(`${event.node} is cut as number ${size}, and ${maxConcurrent} may be`);
        }
        cuts.ask(event);
      },
      onMachine: (event, machine) => cuts.happen(event, machine),
      onStored(change) {
        troubles.take(change);
        const node = (change.object as StoredFence).spec?.node ?? '';
        if (!beginsFence(change) || machineOf(node)?.power !== 'on') return;
        const { maxUnresponsive = '100%' } = troubles.policyOf(node)?.spec?.storm ?? {};
        const busy = new Set([node, ...cuts.busy()]);
        const where = troubles.beyond(maxUnresponsive, (name) => busy.has(name) || troubles.isSilent(name));
        if (where === undefined) return;
        const told = `the fence of ${node} is begun while ${where} do not respond`;
        if (isLying(context, node)) exempt('LyingDevice', told);
        else violated(told);
      },
    };
  },
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
