/** What keeps us from acting although the rules would allow it. */
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
  const { policy, fence } = nodeCase;
  if (fence?.spec.stop === true) {
    return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true', holds: 'everything' };
  }
  if (policy.kind !== 'one') return undefined;
  const { name, mode } = policy.policy;
  switch (mode) {
    case 'Enforce':
      return maintenanceHold(nodeCase);
    case 'Paused':
      return { reason: 'Paused', message: `policy ${name} is paused`, holds: 'everything' };
    case 'DryRun':
      return { reason: 'DryRun', message: `policy ${name} only decides and reports`, holds: 'everything' };
    case 'Approve': {
      const { approval, incident } = fence?.status ?? {};
      const maintenance = maintenanceHold(nodeCase);
      if (approval !== undefined && approval.incident === incident?.id) return maintenance;
      // Neither of the two may let through what the other one holds.
      if (maintenance !== undefined) return { ...maintenance, holds: 'everything' };
      const message = `policy ${name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message, holds: 'releases' };
    }
  }
}

function maintenanceHold(nodeCase: NodeCase): Hold | undefined {
  const found = maintenanceOf(nodeCase);
  return found && { reason: 'Maintenance', holds: 'remedies', ...found };
}
