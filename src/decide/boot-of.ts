/** Which boot a node is in, and whether the one that its fence waits for has come and gone. */
import { sharesBoot } from '../api/facts.ts';
import { isSilent, renewsSince, stillCounts } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { PresentCase } from '../api/release-view.ts';
import { leavesAsItIs } from '../release/hold.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

/** In these another boot of its machine is waited for, or has been seen. */
const untilBoot: ReadonlySet<string | undefined> = new Set([
  'poweringOff',
  'off',
  'poweringOn',
  'booting',
  'recovering',
]);

/**
 * While its fence was stopped its machine has booted, and by now its kubelet is silent again: what the fence was for is over, and this is
 * other trouble. One that has yet to renew is waited for.
 */
export function isLostAgain(nodeCase: PresentCase, status: NodeFenceStatus): boolean {
  const { node, lease } = nodeCase;
  const { fence, hold } = status;
  if (!leavesAsItIs(hold?.reason) || !untilBoot.has(fence?.phase)) return false;
  const bootId = bootOf(nodeCase, status);
  const isLost = lease === undefined ? node.ready === 'Unknown' : isSilent(lease);
  return isLost && bootId !== '' && bootId !== fence?.bootId;
}

const afterPowerOn: ReadonlySet<string | undefined> = new Set(['booting', 'failed']);

/**
 * The boot that the node is in. Where several nodes report the same ID, it is that of a kernel below them and says nothing: once
 * the power went on, a kubelet that has written since has started since, and stands for another boot (FEN-16).
 */
export function bootOf(nodeCase: PresentCase, { fence, incident }: NodeFenceStatus): string {
  const { node, lease, serverNowMs, limits } = nodeCase;
  const heard = incident?.poweredOff;
  if (!sharesBoot(nodeCase) || heard?.signs === undefined || lease === undefined) return node.bootId;
  // What was off in an earlier fence of the same incident has run since: that says nothing of this one.
  if (fence === undefined || isOfEarlierFence(heard, fence)) return node.bootId;
  const isOn = afterPowerOn.has(fence.phase) && !stillCounts(heard, { node, lease });
  // Before any device has said so: its kubelet is back long after the machine was off, and was silent until then.
  const mayBeOn = fence.phase === 'poweringOn' && heard.wasAlive !== true;
  const isOnByHand = mayBeOn && renewsSince(lease, serverNowMs - Date.parse(heard.at), limits.viewAgeMs);
  return isOn || isOnByHand ? `${node.bootId} again`.slice(-64) : node.bootId;
}

export function isOfEarlierFence({ at }: { at: string }, { startedAt }: Pick<Fence, 'startedAt'>): boolean {
  return Date.parse(at) < Date.parse(startedAt);
}
