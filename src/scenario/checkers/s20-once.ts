/**
 * S20, as far as one run can show it: nothing is released twice. However often operators die, each pod is deleted by
 * force once and marked Failed once, each attachment deleted once; and in one fence no machine is cut again that was
 * switched on in it. (That the next instance converges is for the expectations of a run to say.)
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Invariant } from './checker.ts';
import { releaseOf, toldOf } from './release.ts';

export const s20: Invariant = {
  id: 'S20',
  check: ({ state, violated }) => {
    const done = new Set<string>();
    /** Fences in which the device of their node was told to switch on. */
    const ended = new Set<string>();
    return {
      onWire(event) {
        if (event.type !== 'device' || event.action === 'status') return;
        const { node, operator, action } = event;
        const fence = state.fences.get(nodeFenceName(node));
        const key = `${fence?.metadata.uid} ${fence?.status?.fence?.startedAt}`;
        if (action === 'on') ended.add(key);
        else if (ended.has(key)) violated(`operator-${operator} cut ${node} a second time in the same fence`);
      },
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
