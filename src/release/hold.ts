/** What keeps us from acting although the rules would allow it. */
import type { NodeCase } from '../api/release-view.ts';
import type { HELD } from '../api/reasons.ts';

export interface Hold {
  reason: keyof (typeof HELD)['reason'];
  message: string;
  /** `everything`: the way back into service waits as well. */
  holds: 'everything' | 'releases';
}

export function holdOf({ policy, fence }: NodeCase): Hold | undefined {
  if (fence?.spec.stop === true) {
    return { reason: 'Stopped', message: 'spec.stop of the NodeFence is true', holds: 'everything' };
  }
  if (policy.kind !== 'one') return undefined;
  const { name, mode } = policy.policy;
  switch (mode) {
    case 'Enforce':
      return undefined;
    case 'Paused':
      return { reason: 'Paused', message: `policy ${name} is paused`, holds: 'everything' };
    case 'DryRun':
      return { reason: 'DryRun', message: `policy ${name} only decides and reports`, holds: 'everything' };
    case 'Approve': {
      const { approval, incident } = fence?.status ?? {};
      if (approval !== undefined && approval.incident === incident?.id) return undefined;
      const message = `policy ${name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message, holds: 'releases' };
    }
  }
}
