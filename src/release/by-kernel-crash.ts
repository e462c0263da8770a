/**
 * By the word of the crashed kernel (FEN-12): the kernel that kdump boots into says that it writes the memory down, so that
 * nothing that ran there before runs any more. Counts for that boot, until the node shows that it lives, and only
 * where the policy listens to it. It repeats itself for as long as that takes: what nobody has acted on
 * half a minute after its last message may run again.
 */
import type { Signs } from '../api/life.ts';
import { stillCounts } from '../api/life.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Check, Objection } from './checks.ts';
import { knownVolumes, kubeletSilent, nodeDown, nodeExists, notDaemon, notMirror, objection } from './checks.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

const checks: readonly Check[] = [notMirror, notDaemon, nodeExists, crashed, nodeDown, kubeletSilent];

export interface CrashHeard {
  by: string;
  /** When it was recorded; absent: it has not been yet. */
  observedAt?: string;
  signs: Signs;
}

/** Of the boot that the node is in, and not followed by a sign of life; undefined: nobody said so, or nobody listens. */
export function crashHeard(nodeCase: NodeCase): CrashHeard | undefined {
  const { node, policy, fence, crash } = nodeCase;
  if (node === undefined || policy.kind !== 'one' || policy.policy.kdump === undefined) return undefined;
  const { incident, evidence = [] } = fence?.status ?? {};
  const stored = incident && evidence.find((item) => item.source === 'Kdump' && isOfNow(item, nodeCase));
  if (stored?.signs !== undefined) {
    return { by: stored.by ?? '', observedAt: stored.observedAt, signs: stored.signs };
  }
  if (crash === undefined || !isOfNow(crash, nodeCase)) return undefined;
  return { by: `kdump message from ${crash.address}`, signs: crash.signs };
}

function isOfNow(heard: { bootId?: string | undefined; signs?: Signs | undefined }, nodeCase: NodeCase): boolean {
  return heard.bootId === nodeCase.node?.bootId && stillCounts(heard, nodeCase);
}

/** Senders repeat themselves every ten seconds, and messages get lost. */
const saysAgainWithinMs = 30_000;

function crashedBy(nodeCase: NodeCase): string | undefined {
  const heard = crashHeard(nodeCase);
  return heard !== undefined && (isFresh(nodeCase, heard) || isActedOn(nodeCase)) ? heard.by : undefined;
}

/** Who leads since a moment ago has heard nothing itself: then it counts from when it was recorded. */
function isFresh(nodeCase: NodeCase, { observedAt = '' }: CrashHeard): boolean {
  const { crash, serverNowMs } = nodeCase;
  const isHeard = crash !== undefined && crash.heardForMs < saysAgainWithinMs && isOfNow(crash, nodeCase);
  return isHeard || serverNowMs - Date.parse(observedAt) < saysAgainWithinMs;
}

/** In this boot: what was begun is brought to its end. */
function isActedOn({ fence, node }: NodeCase): boolean {
  const releases = fence?.status.releases ?? [];
  return releases.some(({ basis, bootId }) => basis === 'KernelCrashed' && bootId === node?.bootId);
}

function crashed(nodeCase: NodeCase): Objection | undefined {
  return crashedBy(nodeCase) === undefined ? objection('NoCrash', 'no crashed kernel has reported itself') : undefined;
}

export const byKernelCrash: Way = {
  name: 'kernel crash',
  basis: 'KernelCrashed',
  checks,
  by: crashedBy,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: false,
  toleratesLife: never,
  grounds: () => ({ basis: 'KernelCrashed' }),
  stillStands: (nodeCase, { by }) => crashedBy(nodeCase) === by,
  unopened: ['NoCrash'],
};
