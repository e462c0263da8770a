/**
 * S9: a node returns only rebooted or clean. When an operator takes the quarantine away, the machine has booted since
 * the release, or nothing of what was released runs or is mounted there: by the machine itself, not by what is reported.
 */
import type { Node } from '../../world/objects/nodes.ts';
import type { Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { recordsOf } from './release.ts';

const quarantine = 'fenceline.dev/quarantine';

export const s9: Invariant = {
  id: 'S9',
  check: ({ state, machineOf, violated }) => ({
    onWrite(write) {
      if (!endsQuarantine(write)) return;
      const { name } = (write.after as Node).metadata;
      const machine = machineOf(name);
      if (machine === undefined) return;
      const records = recordsOf(state, name).filter(({ bootId }) => bootId === machine.bootId);
      const released = new Set(records.flatMap(({ pods = [] }) => pods.map(({ uid }) => uid)));
      // A record is written before its release: where the node came back in between, its pods were never let go.
      for (const { metadata, spec } of state.pods.values()) {
        if (spec.nodeName === name && metadata.deletionTimestamp === undefined) released.delete(metadata.uid ?? '');
      }
      const podUid = [...machine.processes.keys(), ...machine.mounts.keys()].find((uid) => released.has(uid));
      if (podUid === undefined) return;
      const what = machine.processOf(podUid) === undefined ? 'has volumes mounted' : 'runs';
      violated(`${name} is back in service, and a pod that was released (${podUid}) still ${what} there`);
    },
  }),
};

function endsQuarantine(write: Write): boolean {
  if (write.resource !== 'nodes' || write.verb === 'delete' || !succeeded(write)) return false;
  const has = (node: Node | undefined): boolean =>
    node?.spec?.taints?.some(({ key, effect }) => key === quarantine && effect === 'NoSchedule') ?? false;
  return has(write.before) && !has(write.after);
}
