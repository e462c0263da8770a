/**
 * S9: a node returns only rebooted or clean. When an operator takes the quarantine away, the machine has booted since
 * the release, or nothing of what was released runs or is mounted there: by the machine itself, not by what is reported, and by
 * what operators have really let go, not by what is on record.
 */
import type { Node } from '../../world/objects/nodes.ts';
import type { Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { isQuarantined } from './late.ts';
import { LetGo } from './let-go.ts';

export const s9: Invariant = {
  id: 'S9',
  check: (context) => {
    const { state, machineOf, violated } = context;
    const letGo = new LetGo(context);
    /** Where the node came back before its pod was taken away, and only its volume had been freed, nothing was let go. */
    const isInService = (node: string, podUid: string): boolean =>
      [...state.pods.values()].some(
        ({ metadata, spec }) =>
          metadata.uid === podUid && spec.nodeName === node && metadata.deletionTimestamp === undefined,
      );
    return {
      onStored: (change, user) => letGo.byAnybody(change, user),
      onMachine: (event, machine) => letGo.onMachine(event, machine),
      onWrite(write) {
        letGo.byOperator(write);
        if (!endsQuarantine(write)) return;
        const { name } = (write.after as Node).metadata;
        const machine = machineOf(name);
        if (machine === undefined) return;
        const podUid = [...machine.processes.keys(), ...machine.mounts.keys()].find(
          (uid) => letGo.ours(uid) !== undefined && !isInService(name, uid),
        );
        if (podUid === undefined) return;
        const what = machine.processOf(podUid) === undefined ? 'has volumes mounted' : 'runs';
        violated(`${name} is back in service, and a pod that was released (${podUid}) still ${what} there`);
      },
    };
  },
};

function endsQuarantine(write: Write): boolean {
  if (write.resource !== 'nodes' || write.verb === 'delete' || !succeeded(write)) return false;
  return isQuarantined(write.before) && !isQuarantined(write.after);
}
