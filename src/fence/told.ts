/** How a fence is told: in the condition Fenced, in the history and in events, all by the same word. */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { FENCED } from '../api/reasons.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

export interface FenceNews {
  status: 'True' | 'False';
  reason: keyof typeof FENCED.reason;
  message: string;
}

const words: Record<Fence['phase'], keyof typeof FENCED.reason> = {
  waiting: 'WaitingToIsolate',
  isolating: 'Isolating',
  isolated: 'Isolated',
  poweringOff: 'PoweringOff',
  off: 'PoweredOff',
  poweringOn: 'PoweringOn',
  booting: 'Booting',
  recovering: 'Recovering',
  finished: 'Recovered',
  failed: 'FenceFailed',
};
/** In these the machine does no harm, as a device has said. */
const harmless: ReadonlySet<Fence['phase']> = new Set(['isolated', 'off']);

export function fenceNews(fence: Fence): FenceNews {
  const { phase, irrevocableSince, retries, method, message, storage } = fence;
  // Without a device that cut it off from its storage, as in a fence that begins anew, the node is as free as before.
  const isCutOff = irrevocableSince !== undefined && (phase !== 'isolated' || storage.length > 0);
  const reason = phase === 'isolated' && !isCutOff ? 'WaitingToPowerOff' : words[phase];
  const tries = retries === 0 ? undefined : `${retries} ${retries === 1 ? 'try' : 'tries'} failed`;
  const parts = [method, tries, message].filter((part) => part !== undefined);
  return {
    status: harmless.has(phase) && isCutOff ? 'True' : 'False',
    reason,
    message: parts.join(': ').slice(0, 1024),
  };
}

/** What should be looked at by a person. */
export function isBadNews(reason: string): boolean {
  return reason === FENCED.reason.FenceFailed;
}
