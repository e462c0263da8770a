/**
 * S4: what goes on the strength of power goes from a machine that is really off, by the machine itself and not by what its device
 * says; and the device was asked once more right before, by the same operator, and said off: no command that was accepted, no
 * time that has passed and no answer from long ago is enough.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { operatorUser } from '../operator-user.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { isLying } from './devices.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

/** Live reads, and a step of many pods. */
const freshMs = 20_000;
const proving = ['StorageSafeDetach', 'StorageFenced', 'Asserted', 'KernelCrashed', 'AcceptedRisk'];

export const s4: Invariant = {
  id: 'S4',
  check: (context) => {
    const { nowMs, violated, exempt } = context;
    const off = new Set<string>();
    /** What an operator was last told by the device of a node since it last wrote the record of that node, as `user record`. */
    const heard = new Map<string, { power: 'on' | 'off'; atMs: number }>();
    return {
      onWire(event) {
        if (event.type !== 'answered') return;
        heard.set(`${operatorUser(event.operator)} ${nodeFenceName(event.node)}`, {
          power: event.power,
          atMs: nowMs(),
        });
      },
      onMachine(event, machine) {
        if (event.type === 'off') off.add(machine);
        if (event.type === 'booting' || event.type === 'booted') off.delete(machine);
      },
      onWrite(write) {
        if (write.resource === 'nodefences' && succeeded(write)) heard.delete(`${write.user} ${write.name}`);
        const release = releaseOf(write);
        if (release === undefined) return;
        const records = recordsFor(context, release);
        if (!records.some(({ basis }) => basis === 'PowerOff')) return;
        if (records.some(({ basis }) => proving.includes(basis))) return;
        const { power, atMs = -Infinity } = heard.get(`${write.user} ${nodeFenceName(release.node)}`) ?? {};
        if (power !== 'off' || nowMs() - atMs > freshMs) {
          violated(`${toldOf(release)} on the basis PowerOff, and its device was not asked right before`);
        }
        if (off.has(release.node)) return;
        const told = `${toldOf(release)} on the basis PowerOff although its machine is on`;
        if (isLying(context, release.node)) exempt('LyingDevice', told);
        else violated(told);
      },
    };
  },
};
