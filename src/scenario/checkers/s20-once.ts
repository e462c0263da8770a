/**
 * S20, as far as one run can show it: nothing is released twice. However often operators die, each pod is deleted by
 * force once and marked Failed once, each attachment deleted once. (That the next instance converges is for the
 * expectations of a run to say.)
 */
import type { Invariant } from './checker.ts';
import { releaseOf, toldOf } from './release.ts';

export const s20: Invariant = {
  id: 'S20',
  check: ({ violated }) => {
    const done = new Set<string>();
    return {
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined || release.what === 'freed') return;
        const uid = 'uid' in release ? release.uid : (release.attachment.metadata.uid ?? '');
        const key = `${release.what} ${uid}`;
        if (done.has(key)) violated(`${toldOf(release)} a second time`);
        done.add(key);
      },
    };
  },
};
