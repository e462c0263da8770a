/**
 * S21: never beyond the limits of a storm. When it is recorded that a device may be told to cut a machine that runs, in a first try or
 * in one that begins anew, and it is told then, no more nodes are silent than its policy allows, in the cluster and in each zone of three or more, by the renewals
 * that reached the API server, with those counted that operators have cut; no more machines are cut at a time than may be; and no more pods go in a minute than their
 * policy allows. A machine that is off is only found so: nothing is cut there. (Whether the observer is the isolated party shows
 * in S15: whoever cannot read does not act.)
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import { hasSent } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
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
    /** Nodes whose fence configuration a person has changed since they were cut. */
    const edited = new Set<string>();
    /** By node: what stood against its fence when it was last recorded that a command may be sent. */
    const against = new Map<string, string>();
    return {
      onWrite: paced,
      onWire(event) {
        const isCut = (event.type === 'device' || event.type === 'port') && event.action === 'off';
        const told = isCut && machineOf(event.node)?.power === 'on' ? against.get(event.node) : undefined;
        if (isCut && told !== undefined) {
          against.delete(event.node);
          if (isLying(context, event.node)) exempt('LyingDevice', told);
          else violated(told);
        }
        if (isCut && machineOf(event.node)?.power === 'on') {
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
        const configured = /^fence-config-(?<node>.+)$/.exec(change.object.metadata.name)?.groups?.['node'];
        if (configured !== undefined && !isOperator(user) && hasOtherData(change)) edited.add(configured);
        const node = (change.object as StoredFence).spec?.node ?? '';
        if (!recordsCommand(change) && !beginsFence(change)) return;
        against.delete(node);
        const { maxUnresponsive = '40%' } = troubles.policyOf(node)?.spec?.storm ?? {};
        const busy = new Set([node, ...cuts.busy()]);
        const where = troubles.beyond(maxUnresponsive, (name) => busy.has(name) || troubles.isSilent(name));
        if (where !== undefined) against.set(node, `the fence of ${node} is begun while ${where} do not respond`);
      },
    };
  },
};

/** What is written again as it was says nothing new. */
function hasOtherData({ object, previous, type }: StoredChange): boolean {
  const dataOf = (one: KubeObject & { data?: Record<string, string> }): string => JSON.stringify(one.data ?? {});
  return type === 'DELETED' || previous === undefined || dataOf(object) !== dataOf(previous);
}

/** A command may be sent now that was not before. */
function recordsCommand({ object, previous, type }: StoredChange): boolean {
  if (object.kind !== 'NodeFence' || type === 'DELETED') return false;
  return !hasSent(previous) && hasSent(object);
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
