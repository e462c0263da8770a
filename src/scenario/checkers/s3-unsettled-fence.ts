/**
 * S3: while a fence runs, has failed or has an unknown outcome, nothing is released, however long; a risk that a policy
 * accepts counts after a failed fence only if that policy says so. What the storage itself answers for, or a person,
 * does not rest on the fence. Whether a fence is settled is not for its record alone to say: once a device was told to cut, it is
 * when the device has said off, or the node has shown that it lives.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredFence } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
import type { Invariant } from './checker.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

const settled = [undefined, 'done', 'final'];
/** Power has a checker of its own, S4. */
const independent = ['PowerOff', 'StorageSafeDetach', 'StorageFenced', 'Asserted', 'KernelCrashed'];

export const s3: Invariant = {
  id: 'S3',
  check: ({ state, recordsOf, violated, exempt }) => {
    /** Nodes whose device was told to cut them, and nobody knows what came of it. */
    const unknown = new Set<string>();
    /** Those of them whose record a person has deleted since. */
    const forgotten = new Set<string>();
    const settle = (node: string): void => {
      unknown.delete(node);
      forgotten.delete(node);
    };
    return {
      onWire(event) {
        if (event.type === 'answered' && event.power === 'off') settle(event.node);
        if (event.type !== 'device' || event.action !== 'off') return;
        unknown.add(event.node);
        forgotten.delete(event.node);
      },
      onRenewed: settle,
      onMachine({ type }, machine) {
        if (type === 'booting') settle(machine);
      },
      // Who deletes it takes from everybody what was known of the fence.
      onStored({ object, type }, user) {
        const { node = '' } = (object as StoredFence).spec ?? {};
        const isDeleted = object.kind === 'NodeFence' && type === 'DELETED' && !isOperator(user);
        if (isDeleted && unknown.has(node)) forgotten.add(node);
      },
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined) return;
        const recorded = state.fences.get(nodeFenceName(release.node))?.status?.fence?.status;
        const isOpen = settled.includes(recorded) && unknown.has(release.node);
        const status = isOpen ? 'unknown' : recorded;
        if (settled.includes(status)) return;
        const records = recordsFor({ recordsOf }, release);
        if (records.some(({ basis }) => independent.includes(basis))) return;
        const acceptsIt = records.some(({ basis, by }) => {
          const policy = state.policies.get((by ?? '').replace(/^policy /, ''));
          return basis === 'AcceptedRisk' && policy?.spec?.release?.riskAfterFailedFence === true;
        });
        const told = `${toldOf(release)} although the fence of its node is ${status}`;
        if (isOpen && forgotten.has(release.node)) exempt('PersonsAct', told);
        else if (status === 'error' && acceptsIt) exempt('AcceptedRisk', told);
        else violated(told);
      },
    };
  },
};
