/**
 * Whether a node is connected to its storage, by the word of the devices that could have cut it off. A record may be deleted, or
 * restored without its status, while a cut is in force; the device knows it all the same. In service without its storage a node is
 * not back (RET-2), and a cut that nobody remembers is not undone by us (SAF-4): it is said, and the node stays in quarantine.
 */
import type { PowerAnswer } from '../api/power.ts';
import { questionOf, storageMethods } from '../api/power.ts';
import type { NodeCase } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';

/** What somebody connects by hand is noticed when they are asked again, which is once a minute. */
const freshMs = 90_000;
/** Where the record says what was done, a device that does not answer by then is not waited for. */
const patienceMs = 10_000;

const isCut =
  'it is cut off from its storage, and no fence on record has done so; look what runs there, then switch it on';

/** Why it is not known to be connected; undefined: it is, as far as anybody has reason to doubt it. */
export function notConnected(nodeCase: NodeCase): string | undefined {
  const { config, storage, fence } = nodeCase;
  const { releases = [], fence: fenced } = fence?.status ?? {};
  const isRemembered = releases.length > 0 || fenced !== undefined;
  if (!config.ok) return isRemembered ? undefined : unknown('its fence configuration cannot be read');
  const methods = storageMethods(config);
  if (methods.length === 0) return undefined;
  const isAsked = storage?.question === questionOf(methods);
  const { answers, askedForMs = 0 } = isAsked ? storage : {};
  if (answers === undefined || askedForMs > freshMs) {
    return isRemembered && askedForMs >= patienceMs
      ? undefined
      : 'whether it is connected to its storage is asked first';
  }
  const off = answers.find((answer) => isBelieved(answer) && answer.power === 'off');
  if (off !== undefined) return `${off.message}: ${isCut}`;
  const open = answers.find((answer) => !isBelieved(answer) || answer.power === 'unknown');
  return open === undefined || isRemembered ? undefined : unknown(open.message);
}

function isBelieved({ identity, wrong }: PowerAnswer): boolean {
  return identity !== 'other' && wrong === undefined;
}

function unknown(why: string): string {
  const what = 'the record of what was done to it is gone, and nobody knows whether it is connected to its storage';
  return `${what}: ${why}; whoever has seen that it is removes the taint ${QUARANTINE_KEY}`;
}
