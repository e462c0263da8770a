/**
 * By the word of the crashed kernel (FEN-12): the kernel that kdump boots into says that it writes the memory down, so that
 * nothing that ran there before runs any more. Counts for that boot, and only where the policy listens to it.
 */
import type { NodeCase } from '../api/release-view.ts';
import type { Check, Objection } from './checks.ts';
import {
  knownVolumes,
  kubeletSilent,
  nodeDown,
  nodeExists,
  notDaemon,
  notMirror,
  nothingReappeared,
  objection,
} from './checks.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

const checks: readonly Check[] = [
  notMirror,
  notDaemon,
  nodeExists,
  crashed,
  nodeDown,
  kubeletSilent,
  nothingReappeared,
];

/** Who said so, for the boot that the node is in; undefined: nobody, or nobody listens. */
function crashedBy({ node, policy, fence, crash }: NodeCase): string | undefined {
  if (node === undefined || policy.kind !== 'one' || policy.policy.kdump === undefined) return undefined;
  if (crash?.bootId === node.bootId) return messageFrom(crash.address);
  const { incident, evidence = [] } = fence?.status ?? {};
  if (incident === undefined) return undefined;
  return evidence.find(({ source, bootId }) => source === 'Kdump' && bootId === node.bootId)?.by;
}

export function messageFrom(address: string): string {
  return `kdump message from ${address}`;
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
