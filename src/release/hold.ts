/** What keeps us from acting although the rules would allow it. */
import { beyondOf, beyondText } from '../api/forbidden.ts';
import { pauseOf } from '../api/pause.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { HELD } from '../api/reasons.ts';
import { maintenanceOf } from './maintenance.ts';

export interface Hold {
  reason: keyof (typeof HELD)['reason'];
  message: string;
  /** `everything`: the way back into service waits as well. `remedies`: ladders and fences, and what hangs on them. */
  holds: 'everything' | 'remedies' | 'releases';
  /** By the API server's clock: when it goes by itself. */
  untilMs?: number;
}

export function holdOf(nodeCase: NodeCase): Hold | undefined {
  const hold = firstHold(nodeCase);
  return hold && { ...hold, message: `${hold.message}${leftOff(nodeCase, hold)}` };
}

function firstHold(nodeCase: NodeCase): Hold | undefined {
  const { policy, fence } = nodeCase;
  if (fence?.spec.stop === true) {
    return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true', holds: 'everything' };
  }
  const paused = pauseOf(nodeCase.pause, nodeCase.serverNowMs);
  if (paused !== undefined) return { reason: 'PausedForAll', holds: 'everything', ...paused };
  if (policy.kind !== 'one') return spentHold(nodeCase);
  const { name, mode } = policy.policy;
  const beyond = beyondOf(policy.policy, nodeCase.forbidden);
  if (beyond.length > 0) {
    // Also where it only rehearses: it would do nothing.
    const message = `policy ${name} uses what this operator was told to forbid, and does nothing: ${beyondText(beyond)}`;
    return { reason: 'Forbidden', message, holds: 'everything' };
  }
  switch (mode) {
    case 'Enforce':
      return maintenanceHold(nodeCase) ?? spentHold(nodeCase);
    case 'Paused':
      return { reason: 'Paused', message: `policy ${name} is paused`, holds: 'everything' };
    case 'DryRun':
      return {
        reason: 'DryRun',
        message: `policy ${name} only rehearses; what it would have done is on record, in status.rehearsal`,
        holds: 'everything',
      };
    case 'Approve': {
      const { approval, incident } = fence?.status ?? {};
      const maintenance = maintenanceHold(nodeCase);
      if (approval !== undefined && approval.incident === incident?.id) return maintenance ?? spentHold(nodeCase);
      // Neither of the two may let through what the other one holds.
      if (maintenance !== undefined) return { ...maintenance, holds: 'everything' };
      const message = `policy ${name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message, holds: 'releases' };
    }
  }
}

const leaving: ReadonlySet<string | undefined> = new Set(['Stopped', 'Maintenance']);

/** These leave a fence as it is: nothing moves, and nobody switches anything on meanwhile. */
export function leavesAsItIs(reason: string | undefined): boolean {
  return leaving.has(reason);
}

/** How its machine is meanwhile. Between the command and its confirmation nobody knows. */
function leftOff({ fence }: NodeCase, { reason }: Hold): string {
  const { phase, switched = [] } = fence?.status.fence ?? {};
  const isLeft = leavesAsItIs(reason);
  if (phase === 'off') return `; its machine is off${isLeft ? ', and stays so' : ''}`;
  const wasTold = switched.some(({ commandSentAt }) => commandSentAt !== undefined);
  const isBetween = (phase === 'poweringOff' && wasTold) || phase === 'poweringOn';
  if (!isBetween) return '';
  return `; its machine was told to go off, ${isLeft ? 'may be off, and is not switched on' : 'and may be off'}`;
}

/** More than that no honest incident needs: some acts that are always due, and some for each pod that was there. */
const actsBeside = 200;
const actsPerPod = 10;

/**
 * Nothing is done for ever (SAF-9): where somebody undoes what we do, neither of the two would end. A remedy ends by itself,
 * and so does the way back: they have retries and stages.
 */
export function isSpent({ fence }: NodeCase): boolean {
  const { incident, quarantine } = fence?.status ?? {};
  return incident !== undefined && incident.acts >= actsBeside + actsPerPod * (quarantine?.pods.length ?? 0);
}

function spentHold(nodeCase: NodeCase): Hold | undefined {
  if (!isSpent(nodeCase)) return undefined;
  const acts = nodeCase.fence?.status.incident?.acts ?? 0;
  const message = `${acts} acts in this incident have not brought it to an end; nothing more is released until the node is back`;
  return { reason: 'TooManyActs', message, holds: 'releases' };
}

function maintenanceHold(nodeCase: NodeCase): Hold | undefined {
  const found = maintenanceOf(nodeCase);
  return found && { reason: 'Maintenance', holds: 'remedies', ...found };
}
