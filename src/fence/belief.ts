/**
 * What the word of a device is worth: one rule, whoever asks. Before a fence begins, after a command, right before a
 * release and in a check it is this one, so that none of them believes what another has found to be wrong.
 *
 * `off` contradicts a kubelet that renews its Lease: such a device belongs to another machine, whatever it says (S34).
 */
import { isSilent, silentAfterMs } from '../api/life.ts';
import type { Circumstances, PowerAnswer } from '../api/power.ts';
import { firstPowerMethods, questionOf } from '../api/power.ts';
import type { NodeCase } from '../api/release-view.ts';

/** What the devices of a node come to. `off`: every one of them says so, and is believed. */
export interface PowerSays {
  says: 'off' | 'on' | 'unknown' | 'unasked';
  message: string;
}

/** A renewal that was sent before the power went may be seen so long after. */
const underwayMs = 2000;
/** Who has not answered by then is not waited for. */
const patienceMs = 10_000;
/** An older answer says nothing about now. */
const freshForMs = 15_000;

/** Why the word of a device is not believed; undefined: it is. */
export function doubtAbout(answer: PowerAnswer, about: Circumstances): string | undefined {
  if (answer.identity === 'other') return answer.message;
  if (answer.power !== 'off' || about.what === 'storage') return undefined;
  const { lease, ready, offForMs } = about;
  if (lease === undefined) {
    return ready === 'True' && offForMs === undefined ? `${answer.message}, and the node is Ready` : undefined;
  }
  // Of a machine that it knows by name, a device is believed at once that we told it to switch off.
  if (answer.identity === 'same' && offForMs !== undefined) {
    const isRenewed = lease.renewed === true && lease.unchangedForMs < offForMs - underwayMs;
    return isRenewed ? `${answer.message}, and the kubelet has renewed its Lease since` : undefined;
  }
  if (isSilent(lease)) return undefined;
  return `${answer.message}, and the Lease of the node has not been silent for ${silentAfterMs(lease) / 1000} s`;
}

export function powerSays(nodeCase: NodeCase): PowerSays {
  const { config, power, lease, node } = nodeCase;
  const methods = firstPowerMethods(config);
  if (methods.length === 0) return { says: 'unasked', message: 'no device switches its power' };
  if (power === undefined || power.question !== questionOf(methods)) {
    return { says: 'unasked', message: 'its devices were not asked yet' };
  }
  const { answers, askedForMs } = power;
  if (answers === undefined || askedForMs > freshForMs) {
    const isSlow = askedForMs >= patienceMs;
    return { says: isSlow ? 'unknown' : 'unasked', message: 'its devices have not answered yet' };
  }
  const on = answers.find((answer) => answer.power === 'on' && answer.identity !== 'other');
  if (on !== undefined) return { says: 'on', message: on.message };
  for (const answer of answers) {
    const doubt = doubtAbout(answer, { what: 'power', ready: node?.ready, lease });
    if (doubt !== undefined || answer.power !== 'off') return { says: 'unknown', message: doubt ?? answer.message };
  }
  if (lease?.renewed === true && lease.unchangedForMs < askedForMs) {
    return { says: 'unknown', message: 'the kubelet has renewed its Lease since its devices were asked' };
  }
  return { says: 'off', message: answers.map(({ message }) => message).join('; ') };
}
