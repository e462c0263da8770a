/**
 * S3: while a fence runs, has failed or has an unknown outcome, nothing is released, however long; a risk that a policy
 * accepts counts after a failed fence only if that policy says so. What the storage itself answers for, or a person,
 * does not rest on the fence.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Invariant } from './checker.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';

const settled = [undefined, 'done', 'final'];
/** Power has a checker of its own, S4. */
const independent = ['PowerOff', 'StorageSafeDetach', 'StorageFenced', 'Asserted', 'KernelCrashed'];

export const s3: Invariant = {
  id: 'S3',
  check: ({ state, violated, exempt }) => ({
    onWrite(write) {
      const release = releaseOf(write);
      if (release === undefined) return;
      const status = state.fences.get(nodeFenceName(release.node))?.status?.fence?.status;
      if (settled.includes(status)) return;
      const records = recordsFor(state, release);
      if (records.some(({ basis }) => independent.includes(basis))) return;
      const acceptsIt = records.some(({ basis, by }) => {
        const policy = state.policies.get((by ?? '').replace(/^policy /, ''));
        return basis === 'AcceptedRisk' && policy?.spec?.release?.riskAfterFailedFence === true;
      });
      const told = `${toldOf(release)} although the fence of its node is ${status}`;
      if (status === 'error' && acceptsIt) exempt('AcceptedRisk', told);
      else violated(told);
    },
  }),
};
