/**
 * By the power supply (FEN-11): the machine is off, as its device said after the action and says again right before each
 * act. Nothing runs there, so that every pod may go, also while Kubernetes still calls the node Ready.
 */
import { darkBeside, wrongOutlet } from '../api/beside.ts';
import { renewsSince } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Check, Objection } from './checks.ts';
import { knownVolumes, nodeExists, notDaemon, notMirror, objection } from './checks.ts';
import { powerFacts, powerQuestion } from './device-question.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

const checks: readonly Check[] = [notMirror, notDaemon, nodeExists, poweredOff, othersHeard, wantedByLadder];

/** A power that went on again voids it, and so does another boot: the same kubelet starts the same pods (FEN-10). */
function poweredOff(nodeCase: NodeCase): Objection | undefined {
  const { node, fence } = nodeCase;
  const stored = fence?.status.fence;
  if (stored === undefined || stored.phase === 'finished')
    return objection('NoFence', 'no fence of the node is under way');
  if (stored.phase !== 'off' || powerFacts(nodeCase).length === 0)
    return objection('NotPoweredOff', 'no device has confirmed that the machine is off');
  if (stored.bootId === node?.bootId) return undefined;
  return objection('NotPoweredOff', 'the machine was booted again since its power was cut');
}

/** Where no device says whose power it is, everybody else has to have been heard of since (SAF-17). */
function othersHeard(nodeCase: NodeCase): Objection | undefined {
  const darkness = darkBeside(nodeCase);
  if (darkness === undefined) return undefined;
  if (darkness.kind === 'dark') return objection('OthersUnheard', wrongOutlet(darkness.names));
  const { needs, unheard, untilMs } = darkness;
  // Nobody knows until when: they are looked at again all the time.
  if (needs !== undefined) return objection('OthersUnheard', needs);
  return objection('OthersUnheard', `${unheard.join(', ')} has to be heard of first`, untilMs);
}

/** Whoever does not want the pods to go with the fence says so on the rung of the ladder. */
function wantedByLadder({ fence }: NodeCase): Objection | undefined {
  return fence?.status.fence?.cleanResources === true
    ? undefined
    : objection('NotWanted', 'cleanResources of the remedy is false');
}

/** Its fence says off for this boot, and the pods are to go with it. */
export function isPoweredOff(nodeCase: NodeCase): boolean {
  const stored = nodeCase.fence?.status.fence;
  const isOff = stored?.phase === 'off' && powerFacts(nodeCase).length > 0 && darkBeside(nodeCase) === undefined;
  return isOff && stored.cleanResources && stored.bootId === nodeCase.node?.bootId;
}

/** Its kubelet has renewed since its devices confirmed that it is off. */
export function isAliveSince(
  { lease, limits, serverNowMs }: NodeCase,
  fence: NodeFenceStatus['fence'] | undefined,
): boolean {
  if (fence?.phase !== 'off' || lease === undefined) return false;
  return renewsSince(lease, serverNowMs - Date.parse(fence.stepStartedAt), limits.viewAgeMs);
}

export const byPower: Way = {
  name: 'power',
  basis: 'PowerOff',
  checks,
  by: ({ fence }) => fence?.status.fence?.method,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: false,
  clearsNode: isPoweredOff,
  toleratesLife: never,
  grounds: (nodeCase) => ({ basis: 'PowerOff', question: powerQuestion(nodeCase) }),
  stillStands: isPoweredOff,
  unopened: ['NoFence'],
};
