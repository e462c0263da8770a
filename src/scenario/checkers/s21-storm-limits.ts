/**
 * S21: never beyond the limits of a storm. Whenever a device is told to cut a machine that runs, the first time or once more, no more
 * nodes are silent than its policy allows, in the cluster and in each zone of three or more, by the renewals
 * that reached the API server, now and of those that were there when it fell silent itself, with those counted that operators have cut; nor have so many been so
 * of late as whoever leads has written down, for as long as its policy waits after a storm; no more machines are cut at a time than may be; and no more pods go in a minute than their
 * policy allows; nor is anything cut by an operator that runs in the only zone that responds, where there are two others or more. A
 * machine that is off is only found so: nothing is cut there. (Whether the observer reads at all shows in S15.)
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { StoredChange } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
import type { CheckContext, Invariant, Write } from './checker.ts';
import { Cuts } from './cuts.ts';
import { isLying } from './devices.ts';
import { limitOf, PastStorms } from './past-storms.ts';
import { releaseOf, toldOf } from './release.ts';
import { Troubles } from './trouble.ts';

export const s21: Invariant = {
  id: 'S21',
  check: (context) => {
    const { machineOf, homeOf, violated, exempt } = context;
    const troubles = new Troubles(context);
    const cuts = new Cuts(context);
    const paced = pace(context);
    const past = new PastStorms(context, troubles);
    /** Nodes whose fence configuration a person has changed since they were cut. */
    const edited = new Set<string>();
    /** How many are silent, where that is more than may be. */
    const storm = (node: string): string | undefined => {
      const maxUnresponsive = limitOf(troubles.policyOf(node));
      const busy = new Set([node, ...cuts.busy()]);
      return (
        troubles.beyond(maxUnresponsive, (name) => busy.has(name) || troubles.isSilent(name)) ??
        troubles.beyondSince(maxUnresponsive, node)
      );
    };
    return {
      onWrite(write) {
        paced(write);
        past.write(write);
      },
      onWire(event) {
        const isCut = (event.type === 'device' || event.type === 'port') && event.action === 'off';
        if (isCut && machineOf(event.node)?.power === 'on') {
          const where = storm(event.node);
          const said = `${event.node} is cut while ${where} do not respond`;
          if (where !== undefined && isLying(context, event.node)) exempt('LyingDevice', said);
          else if (where !== undefined) violated(said);
          const alone = troubles.isAlone(homeOf(event.operator));
          if (alone !== undefined)
            violated(
              `${event.node} is cut by operator-${event.operator}, and nobody outside of its zone ${alone} responds`,
            );
          const before = where === undefined ? past.lately(event.node) : undefined;
          if (before !== undefined)
            violated(`${event.node} is cut right after a storm, in which ${before} did not respond`);
          const { maxConcurrent = 1 } = troubles.policyOf(event.node)?.spec?.storm ?? {};
          const busy = cuts.busy().filter((node) => node !== event.node);
          const size = busy.length + 1;
          const told = `${event.node} is cut as number ${size}, and ${maxConcurrent} may be`;
          // Whose configuration is another one than that of its cut can do no more, until somebody sees to it.
          const isEdited = busy.filter((node) => !edited.has(node)).length < maxConcurrent;
          if (size > maxConcurrent && isEdited) exempt('PersonsAct', told);
          else if (size > maxConcurrent) violated(told);
        }
        cuts.ask(event);
        if (isCut) edited.delete(event.node);
      },
      onMachine: (event, machine) => cuts.happen(event, machine),
      onStored(change, user) {
        troubles.take(change);
        past.take(change);
        const configured = /^fence-config-(?<node>.+)$/.exec(change.object.metadata.name)?.groups?.['node'];
        if (configured !== undefined && !isOperator(user) && hasOtherData(change)) edited.add(configured);
      },
    };
  },
};

/** What is written again as it was says nothing new. */
function hasOtherData({ object, previous, type }: StoredChange): boolean {
  const dataOf = (one: KubeObject & { data?: Record<string, string> }): string => JSON.stringify(one.data ?? {});
  return type === 'DELETED' || previous === undefined || dataOf(object) !== dataOf(previous);
}

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
