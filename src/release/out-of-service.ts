/**
 * What is proven is said to the cluster (EVD-5): the Node of a machine that is confirmed off is not Ready, what stays there serves
 * nobody, and the standard taint stands on it until what may go has gone. Under it Kubernetes takes whatever terminates there: it is
 * put there only where that is nothing that we keep, and it goes before anything else is done with the machine (S5, S7). It only speeds others up: where nothing goes
 * by it, because somebody has stopped that or it is not so any more, it goes at once, whatever else is held back.
 */
import { belongsToNode, isOver } from '../api/facts.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import { DEFAULT_FENCE } from '../api/policy-facts.ts';
import type { NodeCase } from '../api/release-view.ts';
import { isOutOfServiceByUs, OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import { OUT_OF_SERVICE_KEY } from '../api/release-view.ts';
import type { GroundedAct } from '../api/steps.ts';
import { isAliveSince, isPoweredOff } from './by-power.ts';
import type { Fate } from './way.ts';

type Untaint = Extract<GroundedAct, { do: 'untaint' }>;

/** Nobody waits for a detach for ever: neither the taint, nor the power that comes after it. */
export const detachPatienceMs = 60_000;

/** What is not said yet. `record`: of what goes from there on the strength of its power; absent: there is nothing that could. */
export function tellingOff(nodeCase: NodeCase, fates: readonly Fate[], record?: ReleaseRecord): GroundedAct[] {
  const { node } = nodeCase;
  if (node === undefined || !isWanted(nodeCase) || !isPoweredOff(nodeCase)) return [];
  const isMarked = node.taints.some(({ key }) => key === OUT_OF_SERVICE_KEY);
  const isMade = record !== undefined && isGoing(nodeCase, record) && takesNobodyElse(nodeCase, fates);
  // Who is to go in a later minute would go as soon as Kubernetes sends it away (STM-4).
  const isTainted = !isMarked && isMade && !fates.some(awaitsItsTurn);
  const isSaid = node.ready === 'Unknown' && !isTainted;
  return [
    ...(isSaid ? [] : [{ do: 'takeOutOfService', isTainted } as const]),
    ...fates
      .filter(({ goes, pod }) => !goes && pod.readyAt !== undefined && !isOver(pod))
      .map(({ pod }) => ({ do: 'markUnready', pod }) as const),
  ];
}

/** `fates`: absent where something holds the release back. */
export function endOfOutOfService(
  nodeCase: NodeCase,
  records: readonly ReleaseRecord[],
  fates: readonly Fate[] | undefined,
): Untaint | undefined {
  const { node } = nodeCase;
  if (!isOutOfServiceByUs(node)) return undefined;
  const mayStand = fates !== undefined && takesNobodyElse(nodeCase, fates);
  const isNeeded = mayStand && isWanted(nodeCase) && isPoweredOff(nodeCase) && !isBack(nodeCase);
  if (isNeeded && (fates.some(awaitsItsTurn) || records.some((record) => isGoing(nodeCase, record)))) return undefined;
  return { do: 'untaint', ...OUR_OUT_OF_SERVICE };
}

function isWanted({ policy }: NodeCase): boolean {
  const fence = policy.kind === 'one' ? policy.policy.remedy?.fence : undefined;
  return (fence ?? DEFAULT_FENCE).markOutOfService;
}

/**
 * Ready was taken back before the mark was put there: whoever has written it since lives. So does who renews, and what its device says
 * is on.
 */
function isBack(nodeCase: NodeCase): boolean {
  const { node, onAgain } = nodeCase;
  const fence = nodeCase.fence?.status.fence;
  return node?.ready === 'True' || isAliveSince(nodeCase, fence) || onAgain?.since === fence?.stepStartedAt;
}

/** It goes as well, a minute later: until then the node is not put back into service in between. */
function awaitsItsTurn(fate: Fate): boolean {
  if (fate.goes) return false;
  return fate.objections.some(({ way, objection }) => way === 'power' && objection.reason === 'ReleaseRate');
}

/** On the strength of its power, in this boot, and not at an end. */
function isGoing({ node, serverNowMs }: NodeCase, { basis, bootId, endedAt, podsGoneAt }: ReleaseRecord): boolean {
  if (basis !== 'PowerOff' || bootId !== node?.bootId || endedAt !== undefined) return false;
  return podsGoneAt === undefined || serverNowMs < Date.parse(podsGoneAt) + detachPatienceMs;
}

/**
 * Under it Kubernetes takes away whatever terminates there, whether or not we let it go: a pod that waits for its turn, or one whose
 * budget is spent by the first of several.
 */
function takesNobodyElse({ policy }: NodeCase, fates: readonly Fate[]): boolean {
  if (policy.kind === 'one' && policy.policy.budgets === 'Respect') return false;
  return fates.every(({ goes, pod }) => goes || isOver(pod) || belongsToNode(pod) || pod.deletionAtMs === undefined);
}
