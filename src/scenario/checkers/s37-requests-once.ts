/**
 * S37: what a person asks for is done once, and only if it is about today. When a machine whose node is well is told to go
 * off, the request that stands in its record is a current one.
 */
import type { Invariant } from './checker.ts';
import { Requests } from './requests.ts';
import { Troubles } from './trouble.ts';

export const s37: Invariant = {
  id: 'S37',
  check: (context) => {
    const { machineOf, pulseOf, violated } = context;
    const troubles = new Troubles(context);
    const requests = new Requests(context, troubles);
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
        const { silentForMs = 0, silentAfterMs = Infinity } = pulseOf(node) ?? {};
        const isSilent = silentForMs >= silentAfterMs || troubles.isSilent(node);
        const isWell = !isSilent && troubles.conditionsOf(node).length === 0;
        const found = requests.of(node);
        if (!isWell || machineOf(node)?.power !== 'on' || found === undefined) return;
        if (found !== 'current') violated(`${node} is well, and switched off for a request that ${found}`);
        requests.cut(node);
      },
    };
  },
};
