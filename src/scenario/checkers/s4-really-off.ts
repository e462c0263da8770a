/**
 * S4: what goes on the strength of power goes from a machine that is really off, and was never switched on since its
 * basis was recorded. Judged by the machines themselves, not by what their devices say.
 */
import type { Invariant } from './checker.ts';
import { isLying } from './devices.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

const proving = ['StorageSafeDetach', 'StorageFenced', 'Asserted', 'KernelCrashed', 'AcceptedRisk'];

export const s4: Invariant = {
  id: 'S4',
  check: (context) => {
    const { state, violated, exempt } = context;
    const off = new Set<string>();
    return {
      onMachine(event, machine) {
        if (event.type === 'off') off.add(machine);
        if (event.type === 'booting' || event.type === 'booted') off.delete(machine);
      },
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined || off.has(release.node)) return;
        const records = recordsFor(state, release);
        if (!records.some(({ basis }) => basis === 'PowerOff')) return;
        if (records.some(({ basis }) => proving.includes(basis))) return;
        const told = `${toldOf(release)} on the basis PowerOff although its machine is on`;
        if (isLying(context, release.node)) exempt('LyingDevice', told);
        else violated(told);
      },
    };
  },
};
