/**
 * What the word of a device is worth: one rule, whoever asks. Before a fence begins, after a command, right before a
 * release and in a check it is this one, so that none of them believes what another has found to be wrong.
 *
 * `off` contradicts a kubelet that renews its Lease: such a device belongs to another machine, whatever it says. One that
 * cannot say whose power it is has to have been seen on while its node was alive; one that was found to be wrong is no
 * evidence until a check has cleared it (S34). A machine that has power by several devices is off when all of them are: a kubelet
 * that renews contradicts the last of them, and no other.
 */
import { unaccounted } from '../api/beside.ts';
import { isRenewing, isSilent, RENEWAL_UNDERWAY_MS, silentAfterMs } from '../api/life.ts';
import type { Circumstances, Doubt, PowerAnswer } from '../api/power.ts';
import { ANSWER_FRESH_MS, latelySaid } from '../api/power.ts';
import type { NodeCase, Sighting } from '../api/release-view.ts';
import type { NodeView } from '../api/view.ts';

/** What the devices of a node come to. `off`: every one of them says so, and is believed. */
export interface PowerSays {
  says: 'off' | 'on' | 'unknown' | 'unasked';
  message: string;
}

/** Why the word of a device is not believed; undefined: it is. */
export function doubtAbout(answer: PowerAnswer, about: Circumstances): Doubt | undefined {
  const { identity, wrong, wasSeenOn, message } = answer;
  if (identity === 'other') return known(message);
  if (wrong !== undefined) return known(`${message}, and it is known to be wrong: ${wrong}`);
  if (identity === 'none' && !wasSeenOn && answer.power !== 'unknown') {
    const why = 'cannot say whose power it is, and was never seen on while the node was alive';
    return { reason: 'NotProven', message: `${message}; it ${why}` };
  }
  if (answer.needsDrill !== undefined && answer.power !== 'unknown' && (about.isForLater === true || !isAlive(about))) {
    const why = `no drill has shown that it and the other outlets beside it are the power of the node, and they cannot say: fenceline drill ${answer.needsDrill}`;
    return { reason: 'NotProven', message: `${message}; ${why}` };
  }
  if (about.isBasis === true && answer.isUnshown === true) {
    const why = 'it cannot say whose port it is, and nobody has shown it';
    return { reason: 'NotProven', message: `${message}; ${why}` };
  }
  if (answer.power !== 'off' || about.what === 'storage' || about.isPart === true) return undefined;
  const why = livingSign(answer, about);
  return why === undefined ? undefined : { ...known(`${message}, and ${why}`), mayPass: true };
}

/** A cut of it will show whether it was its power. */
function isAlive({ lease, ready }: Circumstances): boolean {
  return lease === undefined ? ready === 'True' : lease.renewed === true && isRenewing(lease);
}

function known(message: string): Doubt {
  return { reason: 'WrongMachine', message };
}

/** What contradicts a power that is off. */
function livingSign({ identity }: PowerAnswer, about: Circumstances): string | undefined {
  const { lease, ready, offForMs, isMissed = false } = about;
  if (lease === undefined) return ready === 'True' && offForMs === undefined ? 'the node is Ready' : undefined;
  // Of a machine that it knows by name, a device is believed at once that we told it to switch off.
  if (identity === 'same' && offForMs !== undefined) {
    const isRenewed = lease.renewed === true && lease.unchangedForMs < offForMs - RENEWAL_UNDERWAY_MS;
    return isRenewed ? 'the kubelet has renewed its Lease since' : undefined;
  }
  // Nor does it need a Lease that is overdue, where its kubelet does not answer either (EVD-4).
  if (isSilent(lease) || (identity === 'same' && isMissed)) return undefined;
  return `the Lease of the node has not been silent for ${silentAfterMs(lease) / 1000} s`;
}

/**
 * Whether what is seen of a node all the time says that it has lost its power: its devices do, each of which knows whose power it
 * is, and its kubelet does not answer. It may be suspected by that, and is judged like any other then.
 */
export function watchSays({ power, view }: Pick<Sighting, 'power' | 'view'>): NodeView['power'] {
  const { answers = [], askedForMs = Infinity, port } = power ?? {};
  if (port !== 'silent' || askedForMs > ANSWER_FRESH_MS || answers.length === 0) return undefined;
  const isOff = answers.every((one) => one.power === 'off' && one.identity === 'same' && one.wrong === undefined);
  if (!isOff || (view.lease?.unchangedForMs ?? Infinity) < askedForMs) return undefined;
  return { says: 'off', message: answers.map(({ message }) => message).join('; ') };
}

export function powerSays(nodeCase: NodeCase): PowerSays {
  const { lease, node } = nodeCase;
  const lately = latelySaid(nodeCase);
  if (lately.kind !== 'said') return { says: lately.kind === 'open' ? 'unasked' : 'unknown', message: lately.message };
  const { answers, askedForMs } = lately;
  const doubtOf = (answer: PowerAnswer): Doubt | undefined =>
    doubtAbout(answer, { what: 'power', ready: node?.ready, lease, isMissed: nodeCase.power?.port === 'silent' });
  const on = answers.find((answer) => answer.power === 'on' && doubtOf(answer) === undefined);
  if (on !== undefined) return { says: 'on', message: on.message };
  for (const answer of answers) {
    const doubt = doubtOf(answer);
    if (doubt !== undefined || answer.power !== 'off') return { says: 'unknown', message: (doubt ?? answer).message };
  }
  if (lease?.renewed === true && lease.unchangedForMs < askedForMs) {
    return { says: 'unknown', message: 'the kubelet has renewed its Lease since its devices were asked' };
  }
  // Of two that are silent, and one outlet that is off, nobody knows which of them it is.
  const needs = unaccounted(nodeCase);
  if (needs !== undefined) return { says: 'unknown', message: needs };
  return { says: 'off', message: answers.map(({ message }) => message).join('; ') };
}
