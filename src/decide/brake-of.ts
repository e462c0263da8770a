/** What holds back a remedy that cannot be taken back: the brake over all nodes, and a person who has not approved. */
import { DEFAULT_STORM } from '../api/policy-facts.ts';
import type { HELD } from '../api/reasons.ts';
import type { NodeCase, PresentCase, RemedyFacts } from '../api/release-view.ts';
import { brakeFor, skipFor } from '../judge/storm.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { wasMade } from './jobs.ts';
import { ladderKey, remedyOf, taskOf } from './of-case.ts';

/** Why nothing begins just now. */
export interface RemedyHold {
  reason: keyof (typeof HELD)['reason'];
  message: string;
}

/** Where no policy and no person wants it: nothing begins. */
const nobodyWants = { ...DEFAULT_STORM, maxUnresponsive: 0 };

export function brakeOf(
  nodeCase: NodeCase,
  remedy: RemedyFacts | undefined,
  isRequested: boolean,
): RemedyHold | undefined {
  const { policy, fence, trouble, count } = nodeCase;
  if (policy.kind === 'one' && policy.policy.mode === 'Approve') {
    const { approval, incident } = fence?.status ?? {};
    if (approval === undefined || approval.incident !== incident?.id) {
      const message = `policy ${policy.policy.name} waits for the approval of a person`;
      return { reason: 'AwaitingApproval', message };
    }
  }
  const storm = remedy?.storm ?? (isRequested ? DEFAULT_STORM : nobodyWants);
  return skipFor(nodeCase.name, storm.skipWhen ?? [], trouble.conditions) ?? brakeFor(storm, count);
}

/** What cannot be taken back: it waits for a person, and for a storm to pass, as a fence does. */
const harsh: ReadonlySet<string> = new Set(['podTemplate', 'drain', 'deleteMachine']);

/** Why such a remedy does not begin just now; one that was begun goes on, and so does what brings a node back. */
export function harshHold(
  nodeCase: PresentCase,
  ladder: LadderState | undefined,
  kind: string | undefined,
): RemedyHold | undefined {
  if (ladder?.phase !== 'running' || !harsh.has(kind ?? '')) return undefined;
  const isBegun = taskOf(nodeCase, ladderKey(ladder)) !== undefined || wasMade(nodeCase, ladder);
  const brake = isBegun ? undefined : brakeOf(nodeCase, remedyOf(nodeCase), false);
  // That one fence is under way elsewhere is no reason to leave this node alone.
  return brake?.reason === 'ConcurrencyLimit' ? undefined : brake;
}
