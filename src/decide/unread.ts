/**
 * A node whose pods nobody has read yet. Who is silent among thousands gets no watch of its pods before it is asked whether
 * anything would be done about it: until then it is enough to say why nothing is. What may be done at all is decided with its
 * pods, and never on there being none.
 */
import type { NodeCase } from '../api/release-view.ts';
import type { Step } from '../api/steps.ts';
import { assertionOf } from '../release/by-assertion.ts';
import { crashHeard } from '../release/by-kernel-crash.ts';
import { holdOf } from '../release/hold.ts';
import { isQuarantined } from '../return/return-node.ts';
import type { RemedyDecision } from './decide-remedy.ts';

/** Whether what was decided without its pods would be the same with them: nothing is done, and no pod could go. */
export function standsUnread(nodeCase: NodeCase, remedy: RemedyDecision, steps: readonly Step[]): boolean {
  if (nodeCase.node === undefined || steps.length > 0) return false;
  // A rehearsal tells which pods would go.
  if (nodeCase.policy.kind === 'one' && nodeCase.policy.policy.mode === 'DryRun') return false;
  if (isBegun(nodeCase) || assertionOf(nodeCase) !== undefined || crashHeard(nodeCase) !== undefined) return false;
  return holdOf(nodeCase)?.holds === 'everything' || isWaiting(nodeCase, remedy);
}

/** Something of this node was let go, or is kept from it: who is there matters until the end. */
function isBegun(nodeCase: NodeCase): boolean {
  const { releases = [], applied = [] } = nodeCase.fence?.status ?? {};
  return isQuarantined(nodeCase) || applied.length > 0 || releases.some(({ endedAt }) => endedAt === undefined);
}

/** For the time of its fence, for the brake, or to be missed by Kubernetes: while a fence waits, nothing goes at anybody's risk (S3). */
function isWaiting({ node, gates }: NodeCase, { asked, fence, ladders }: RemedyDecision): boolean {
  if (asked !== undefined || ladders.some(({ phase }) => phase !== 'running')) return false;
  if (node?.ready === 'True') return fence === undefined || fence.phase === 'waiting';
  return fence?.phase === 'waiting' && !gates.NonGracefulFailover;
}
