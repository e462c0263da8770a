/** How a fence is told: in the condition Fenced, in the history and in events, all by the same word. */
import { wrongOutlet } from '../api/beside.ts';
import { CORDON_METHOD } from '../api/fence-names.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { PortFacts } from '../api/ports.ts';
import { shownCuts } from '../api/ports.ts';
import { FENCED } from '../api/reasons.ts';

/** How it begins what is on record of a machine that nobody has cut. */
export const FOUND_OFF = 'it was found off';

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
/** In these a device has said that the machine does no harm, or to nothing of this storage. */
function isHarmless({ phase, switched, isUnconfirmed }: Fence, ports: PortFacts): boolean {
  if (isUnconfirmed === true) return false;
  const confirmed = switched.filter(({ confirmedAt, device }) => confirmedAt !== undefined && device !== undefined);
  if (phase === 'off') return confirmed.some(({ step }) => step === 'power-management');
  const cut = shownCuts(confirmed, ports);
  return phase === 'isolated' && cut.some(({ step, storage }) => step === 'isolation' && storage.length > 0);
}

export function fenceNews(fence: Fence, ports: PortFacts = {}): FenceNews {
  const { phase, method, message, waitsFor, swapped, isForGood } = fence;
  if (swapped !== undefined) return { status: 'False', reason: 'OutletsSwapped', message: wrongOutlet(swapped) };
  const isCutOff = isHarmless(fence, ports);
  // Without a device that cut it off from its storage, as after a cordon, the node is as free as before.
  const open = fence.isUnconfirmed === true ? FENCED.reason.IsolationUnconfirmed : FENCED.reason.WaitingToPowerOff;
  const usual = phase === 'isolated' && !isCutOff ? open : words[phase];
  // It is tried again and again, and somebody has to look all the same.
  const reason = isForGood === true ? 'FenceFailed' : usual;
  const tries = triesText(fence);
  // What came of a try begins with the name of its method.
  const last = (waitsFor ?? message)?.replace(`${method}: `, '');
  const parts = [method, tries, last].filter((part) => part !== undefined);
  return { status: isCutOff ? 'True' : 'False', reason, message: parts.join(': ').slice(0, 1024) };
}

/** What is retried has failed once more when it has failed for good. Each time that it was begun anew it had as many tries again. */
function triesText({ phase, retries, restarts }: Fence): string | undefined {
  if (retries === 0) return undefined;
  const failed = phase === 'failed' ? retries + 1 : retries;
  const anew = restarts === 0 ? '' : ` since it was begun anew${restarts === 1 ? '' : ` (${restarts} times so far)`}`;
  return `${failed} ${failed === 1 ? 'try' : 'tries'} failed${anew}`;
}

/** What the name of a method does not say. */
const deedOf = {
  Isolating: 'it is being cut off from its storage',
  Isolated: 'it is cut off from its storage',
  PoweringOff: 'its power is being cut',
  PoweredOff: 'it is off, as its device said when it was asked again',
  PoweringOn: 'it is being switched on again',
  Booting: 'it was switched on, and has to boot',
  Recovering: 'what its fence did is being undone',
} satisfies { [Reason in keyof typeof FENCED.reason]?: string };

const ofFoundOff = {
  PoweringOff: `${FOUND_OFF}: its device is asked again, and nothing is cut`,
  PoweredOff: `${FOUND_OFF}, and its device still says so`,
};

const ofCordon = { Isolating: 'it is being cordoned, and not cut off from anything' };

/** A step of a fence in words, for the history and for events. */
export function deedText(reason: string, message: string, { fence, incident }: Told): string {
  const deeds: { readonly [reason: string]: string } = {
    ...deedOf,
    ...(fence?.method === CORDON_METHOD ? ofCordon : {}),
    ...(wasFoundOff({ fence, incident }) ? ofFoundOff : {}),
  };
  return deeds[reason] === undefined ? message : `${deeds[reason]} (${message})`.slice(0, 1024);
}

type Told = Pick<NodeFenceStatus, 'fence' | 'incident'>;

function wasFoundOff({ fence, incident }: Told): boolean {
  const wasTold = (fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt !== undefined);
  const found = incident?.foundOff;
  return found !== undefined && found.onAt === undefined && !wasTold;
}

/** What should be looked at by a person. */
export function isBadNews(reason: string): boolean {
  return reason === FENCED.reason.FenceFailed || reason === FENCED.reason.OutletsSwapped;
}
