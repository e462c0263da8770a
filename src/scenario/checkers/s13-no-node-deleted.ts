/** S13: a Node object is never deleted unless its machine is really off: PodGC would let all its pods go. */
import type { Invariant } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';

const fenced = ['done', 'final'];

export const s13: Invariant = {
  id: 'S13',
  check: ({ state, machineOf, violated }) => ({
    onWrite(write) {
      const { verb, resource, name = '' } = write;
      if (resource !== 'nodes' || !verb.startsWith('delete') || !succeeded(write)) return;
      const status = [...state.fences.values()].find(({ spec }) => spec?.node === name)?.status?.fence?.status;
      if (fenced.includes(status ?? '') && machineOf(name)?.power === 'off') return;
      violated(`${objectOf(write)} was deleted, and no fence of it is done`);
    },
  }),
};
