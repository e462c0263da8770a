/**
 * S33: what was cut off is connected again only when nothing of before can write. When an operator opens the way to the
 * storage, nothing runs on that machine that was let go, on whatever basis, by whomever, and whether or not a record of it is left.
 */
import type { Invariant } from './checker.ts';
import { LetGo } from './let-go.ts';

export const s33: Invariant = {
  id: 'S33',
  check: (context) => {
    const { machineOf, violated } = context;
    const letGo = new LetGo(context);
    return {
      onStored: (change, user) => letGo.byAnybody(change, user),
      onWrite: (write) => letGo.byOperator(write),
      onMachine: (event, machine) => letGo.onMachine(event, machine),
      onWire(event) {
        if (event.type !== 'port' || event.action !== 'on') return;
        const { node, operator } = event;
        for (const { podUid, namespace, podName, volumes } of machineOf(node)?.processes.values() ?? []) {
          if (volumes.length === 0 || !letGo.isGone(podUid)) continue;
          violated(
            `operator-${operator} connected ${node}, and ${namespace}/${podName}, which was let go, still runs there`,
          );
        }
      },
    };
  },
};
