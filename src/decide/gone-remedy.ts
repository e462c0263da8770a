/**
 * What is done about a machine whose Node object is gone: nothing more is cut, and what is said of it ends what was begun. What was cut
 * of its power is switched on all the same, where its devices are found by its name, unless somebody stops that, or the machine is to
 * go: as the policy says, or by a remedy that removes it.
 */
import { clockTime } from '../api/facts.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { ownOf } from '../api/own.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { StoredFence } from '../fence/stored.ts';
import { isLeftOff, withoutNode } from '../fence/without-node.ts';
import { holdOf } from '../release/hold.ts';
import { fenceOfGone, methodRun } from './fence-of.ts';
import { remedyOf } from './of-case.ts';

interface Gone {
  fence?: StoredFence;
  run?: ReturnType<typeof methodRun>;
  fenceAtMs?: number;
  recheckAtMs?: number;
}

interface Stands {
  fence?: StoredFence | undefined;
  ladders: readonly { remedy: string }[];
}

/** `stands`: as it is on record. */
export function goneRemedy(nodeCase: NodeCase, { fence, ladders }: Stands): Gone {
  const { config } = nodeCase;
  if (fence === undefined) return {};
  const isToGoOn = isLeftOff(fence, config);
  // When somebody lets it go on, it does.
  if (isToGoOn && holdOf(nodeCase)?.reason === 'Stopped') return { fence };
  if (!isToGoOn || isRemoved(nodeCase, ladders)) return endOf(nodeCase, fence);
  const decision = fenceOfGone(nodeCase, nodeCase.fence?.status ?? EMPTY_STATUS);
  const { fence: next, run: method, isQuestion, recheckAtMs } = decision;
  if (next === undefined) return {};
  return {
    ...(isLeftOff(next, config) ? { fence: next } : endOf(nodeCase, next)),
    ...(method === undefined ? {} : { run: methodRun(nodeCase, next, { method, isQuestion }) }),
    ...(recheckAtMs === undefined ? {} : { recheckAtMs, fenceAtMs: recheckAtMs }),
  };
}

/** It is to go. */
function isRemoved(nodeCase: NodeCase, ladders: Stands['ladders']): boolean {
  const { fence, kinds = {} } = remedyOf(nodeCase) ?? {};
  const isDeleted = ladders.some(({ remedy }) => ownOf(kinds, remedy) === 'deleteMachine');
  return fence?.machineRemoved === true || isDeleted;
}

function endOf(nodeCase: NodeCase, fence: StoredFence): { fence: StoredFence } {
  const isRemoved = remedyOf(nodeCase)?.fence.machineRemoved === true;
  return { fence: withoutNode(fence, { now: clockTime(nodeCase.serverNowMs), isRemoved }) };
}
