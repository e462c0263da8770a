/** When a node that was cut off from its storage may have it again. */
import { sharesBoot } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { isForgotten } from '../api/quarantine.ts';
import type { NodeCase, PodFacts, PresentCase } from '../api/release-view.ts';
import { keptBy } from '../release/kept.ts';
import { isQuarantined, returnNode } from '../return/return-node.ts';
import { bootOf } from './boot-of.ts';

/**
 * Nothing of before can write there any more, whatever let it go (SAF-4): a release of ours, or Kubernetes, by a taint or a forced delete
 * of somebody else. What runs there is what should only if every volume that its kubelet uses is one of a pod that is there, and
 * every pod is there that had one of which no kubelet says whether it is used. Where something was let go in the boot that it is in, or
 * may have been and nobody remembers, its kubelet has had its time to say so as well: another boot since the fence began is not
 * always another boot since then.
 */
export function isHarmless(nodeCase: PresentCase, status: NodeFenceStatus, isOfPredecessor: boolean): boolean {
  const { node, fence: record } = nodeCase;
  const bootId = bootOf(nodeCase, status);
  const isRebooted = bootId !== '' && bootId !== (status.fence?.bootId ?? bootId);
  // Where no boot ID tells, power that was off is all that can be known (FEN-16).
  if (isRebooted && sharesBoot(nodeCase)) return true;
  if (needsReboot(nodeCase) || !isAccountedFor(nodeCase, isRebooted)) return false;
  const { releases = [] } = record?.status ?? {};
  const open = releases.filter(({ bootId: of }) => of === node.bootId);
  // What a new Node object does not list yet, or the deletion of the old one has let go, may be there all the same; and where our
  // quarantine is and nothing on record, something was let go that nobody remembers.
  const mayBeLetGo = isOfPredecessor || (isQuarantined(nodeCase) && releases.length === 0);
  if (open.length === 0 && (isRebooted || !mayBeLetGo)) return true;
  return returnNode(nodeCase, open).stage === 'soaked';
}

/** Nothing but another boot will show that it is. */
export function needsReboot(nodeCase: PresentCase): boolean {
  return !areUnseenThere(nodeCase) || isForgotten(nodeCase);
}

/**
 * By name: what cannot be told to be theirs may be of a pod that is gone. In another boot the names that nobody can tell are those of
 * pods that were started again.
 */
function isAccountedFor(nodeCase: NodeCase, isRebooted: boolean): boolean {
  const kept = keptBy(nodeCase, inService(nodeCase));
  const entries = nodeCase.node?.volumesInUse ?? [];
  if (isRebooted) return entries.every((entry) => kept.entry(entry));
  return !kept.isUnknown && entries.every((entry) => kept.named.has(entry));
}

/** Of one that is gone, whoever let it go, only another boot of the machine says that it does not write any more. */
function areUnseenThere(nodeCase: NodeCase): boolean {
  const unseen = nodeCase.fence?.status.incident?.unseen;
  if (unseen === undefined || unseen.bootId !== nodeCase.node?.bootId) return true;
  const there = new Set(inService(nodeCase).map(({ uid }) => uid));
  return unseen.pods.every((uid) => there.has(uid));
}

function inService({ pods }: NodeCase): PodFacts[] {
  return pods.filter(({ deletionAtMs }) => deletionAtMs === undefined);
}
