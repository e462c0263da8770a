/**
 * S39: no device is told to cut what is well again, if it was told nothing before in the same fence. Well is a node that is
 * Ready, renews, and has none of the conditions that its policy acts upon; judged by the renewals that reached the API server.
 * What a person asks for today is theirs, and told by name.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Invariant } from './checker.ts';
import { Requests } from './requests.ts';
import { Troubles } from './trouble.ts';

/** What comes back in the moment of the command could not be read before it. */
const tooLateMs = 1000;

export const s39: Invariant = {
  id: 'S39',
  check: (context) => {
    const { state, pulseOf, violated, exempt } = context;
    const troubles = new Troubles(context);
    const requests = new Requests(context, troubles);
    /** Fences in which a device was told something. */
    const begun = new Set<string>();
    return {
      onStored(change) {
        troubles.take(change);
        requests.take(change);
      },
      onWrite: (write) => requests.written(write),
      onMachine({ type }, machine) {
        if (type === 'booting') requests.booted(machine);
      },
      onWire(event) {
        if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
        const { node } = event;
        const fence = state.fences.get(nodeFenceName(node));
        const key = `${fence?.metadata.uid} ${fence?.status?.fence?.startedAt}`;
        const isFirst = !begun.has(key);
        begun.add(key);
        const { silentForMs = 0, silentAfterMs = 0, renewingForMs = 0 } = pulseOf(node) ?? {};
        // One whose next renewal is due may be silent, or not.
        const isRenewing = silentForMs * 1.2 < silentAfterMs && renewingForMs >= tooLateMs;
        const isWell = !troubles.isSilent(node) && troubles.conditionsOf(node).length === 0;
        const asked = requests.of(node);
        requests.cut(node);
        if (!isFirst || !isWell || !isRenewing) return;
        const told = `operator-${event.operator} told the device of ${node} off although its trouble was over`;
        if (asked === 'current') exempt('PersonsAct', told);
        else violated(asked === undefined ? told : `${told}, and the request on record ${asked}`);
      },
    };
  },
};
