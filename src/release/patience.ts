/**
 * Whether what looks like trouble may be somebody's plan, or nothing would be gained by a cut (SAF-18). A reboot after a drain, a
 * kubelet that is replaced and a shutdown in good order look like a dead node from afar; what tells them apart is what people and
 * the machine itself say about it, and that there is nothing on the node for which anybody waits.
 *
 * It is asked before something that says it is on is cut. What a person asks for, and what is off, is not held by any of this.
 */
import { clockTime, hasTaint } from '../api/facts.ts';
import { isRenewing } from '../api/life.ts';
import type { OtherActor } from '../api/others.ts';
import { toldOther } from '../api/others.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { PAUSE_PREFIX } from '../api/plans.ts';
import { isAboutThisMachine, latelySaid } from '../api/power.ts';
import type { NodeCase, PresentCase } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Worth } from '../api/steps.ts';
import { timeWritten } from '../api/time-written.ts';
import { gainOf } from './gain.ts';

export interface Patience {
  reason: 'LeftToOthers' | 'NamedPause' | 'PlannedWork' | 'NothingToFree' | 'KubeletDown' | 'LookingAround';
  message: string;
  /** By the API server's clock: when it is over, or has to be looked at again; absent: when somebody does something. */
  recheckAtMs?: number;
  /** When it is over at the latest. */
  untilMs?: number;
}

/** What is about to be cut. */
export interface Spell {
  /** When it was first called for, by the API server's clock. */
  sinceMs: number;
  /** When its kubelet was last heard of; before it was called for, that does not count. */
  heardMs: number;
  bootTimeoutMs: number;
}

type Reading = (nodeCase: PresentCase, spell: Spell) => Patience | undefined;

/** The first that has a reason gives it. */
const readings: readonly Reading[] = [pausedByName, planned, nothingToFree, kubeletDown];

export function patienceWith(nodeCase: PresentCase, spell: Spell): Patience | undefined {
  for (const reading of readings) {
    const found = reading(nodeCase, spell);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Nobody tells when an object beside the Node has changed: while one says so it is read again this often. */
const othersAgainMs = 5000;
/** What could not be read by then is not waited for: it may never be. */
const othersOpenMs = 15_000;

/** Two who act on one node undo what the other one does, or cut what the other one has just restarted (ADM-6). */
export function leftToOthers(nodeCase: NodeCase): Patience | undefined {
  const other = othersAtWork(nodeCase).find(({ does }) => does !== 'reboots');
  if (other === undefined) return undefined;
  const told = { reason: 'LeftToOthers', message: `${toldOther(other)}, and it is left to that one` } as const;
  return other.object === undefined ? told : { ...told, recheckAtMs: nodeCase.serverNowMs + othersAgainMs };
}

/** Unknown is not no, and what is never answered is not waited for without an end. */
export function othersUnknown({ elsewhere, serverNowMs }: NodeCase): Patience | undefined {
  const { openForMs = othersOpenMs } = elsewhere ?? {};
  if (openForMs >= othersOpenMs) return undefined;
  const message = 'whether somebody else is at work on it is found out first';
  return { reason: 'LookingAround', message, recheckAtMs: serverNowMs + againMs };
}

/** By objects that are about the node, which say more, and by what is on the Node. */
function othersAtWork({ node, elsewhere }: NodeCase): OtherActor[] {
  return [...(elsewhere?.found ?? []), ...(node?.plans?.others ?? [])];
}

/** All of them have to have passed. One that is no time holds until it is mended: unknown is not no. */
export function pausedByName({ node, serverNowMs }: Pick<PresentCase, 'node' | 'serverNowMs'>): Patience | undefined {
  const pauses = Object.entries(node.plans?.pauses ?? {}).map(([name, written]) => ({ name, ...timeWritten(written) }));
  const open = pauses.filter(({ atMs }) => atMs === undefined || serverNowMs < atMs);
  const broken = open.find(({ atMs }) => atMs === undefined);
  if (broken !== undefined) {
    const example = clockTime(serverNowMs + 7_200_000);
    const what = `the annotation ${PAUSE_PREFIX}${broken.name} is ${broken.shown}, which is no time`;
    return {
      reason: 'NamedPause',
      message: `${what}: write one such as ${example.slice(0, 10)}T12:00:00Z, or remove it`,
    };
  }
  if (open.length === 0) return undefined;
  const untilMs = Math.max(...open.map(({ atMs = 0 }) => atMs));
  const names = open.map(({ name }) => name).join(', ');
  const message = `paused until ${clockTime(untilMs)} by ${names}`;
  return { reason: 'NamedPause', message, recheckAtMs: untilMs, untilMs };
}

/**
 * Who works on a node cordons it; who shuts its machine down has its kubelet say so; and what was off and is on was switched on
 * by somebody. It has the time of a boot to be back.
 */
function planned(nodeCase: PresentCase, spell: Spell): Patience | undefined {
  for (const { what, sinceMs = spell.sinceMs } of plansOf(nodeCase)) {
    const found = withinBoot(
      nodeCase,
      { ...spell, sinceMs: Math.max(sinceMs, spell.sinceMs) },
      { reason: 'PlannedWork', message: `${what}, which may be a reboot that somebody wants` },
    );
    if (found !== undefined) return found;
  }
  return switchedOnYet(nodeCase);
}

/** `sinceMs`: by when it began at the earliest; absent: nobody knows. */
function plansOf(nodeCase: PresentCase): { what: string; sinceMs?: number }[] {
  const { foundOff } = nodeCase.fence?.status.incident ?? {};
  const onMs = foundOff && cameOnMs(nodeCase, foundOff);
  const rebooting = othersAtWork(nodeCase).find(({ does }) => does === 'reboots');
  return [
    ...(wasShuttingDown(nodeCase) ? [{ what: 'its kubelet has reported that its machine is shutting down' }] : []),
    ...(rebooting === undefined ? [] : [{ what: toldOther(rebooting) }]),
    ...(nodeCase.node.plans?.isCordoned === true ? [{ what: 'the node is cordoned' }] : []),
    ...(onMs === undefined ? [] : [{ what: 'its machine was off and has been switched on', sinceMs: onMs }]),
  ];
}

type FoundOff = NonNullable<NonNullable<NodeFenceStatus['incident']>['foundOff']>;

/** When it was switched on, by others, after its devices had said off; undefined: it was not, as far as anybody knows. */
export function cameOnMs(nodeCase: PresentCase, { bootId, onAt }: FoundOff): number | undefined {
  if (bootId !== nodeCase.node.bootId) return undefined;
  if (onAt !== undefined) return Date.parse(onAt);
  const lately = latelySaid(nodeCase);
  const isOn = lately.kind === 'said' && lately.answers.some((one) => one.power === 'on' && isAboutThisMachine(one));
  return isOn ? nodeCase.serverNowMs : undefined;
}

/** Its devices have said off, and whoever leads now has not heard them: what they say now is found out first. */
function switchedOnYet(nodeCase: PresentCase): Patience | undefined {
  const { node, serverNowMs, fence } = nodeCase;
  const { foundOff } = fence?.status.incident ?? {};
  const isOpen = foundOff?.bootId === node.bootId && latelySaid(nodeCase).kind === 'open';
  if (!isOpen) return undefined;
  const message = 'whether its machine, which was off, has been switched on is found out first';
  return { reason: 'LookingAround', message, recheckAtMs: serverNowMs + againMs };
}

/**
 * Drained, or never used: a cut would free nothing, and what is only booting comes back by itself. Where no kubelet has ever
 * reported, nobody knows what that machine is doing, and nothing says that it has fallen silent.
 */
function nothingToFree(nodeCase: PresentCase, spell: Spell): Patience | undefined {
  if (gainOf(nodeCase) !== undefined || isForgotten(nodeCase) || isEmptiedByLadder(nodeCase)) return undefined;
  if (nodeCase.node.bootId === '') {
    const message = 'no kubelet has ever reported for the node, and nothing on it would be freed by a cut';
    return { reason: 'NothingToFree', message };
  }
  return withinBoot(nodeCase, spell, {
    reason: 'NothingToFree',
    message: 'nothing on the node would be freed by a cut',
  });
}

/**
 * Our quarantine is on it, and nobody remembers what for: what may have been cut off there has to be found out. Of a boot before
 * this one nothing is left.
 */
function isForgotten({ node, fence }: PresentCase): boolean {
  const { releases = [], incident } = fence?.status ?? {};
  const { poweredOff } = incident ?? {};
  const isBootedSince = poweredOff !== undefined && poweredOff.bootId !== node.bootId;
  return hasTaint(node, QUARANTINE_KEY, 'NoSchedule') && releases.length === 0 && !isBootedSince;
}

/** What lets a node be empty by the time that it is to be restarted. */
const emptying: ReadonlySet<string | undefined> = new Set(['drain', 'podTemplate']);

/** Its own ladder has emptied it to restart it, and its kubelet lives: it is not booting, and nobody else has plans with it. */
function isEmptiedByLadder({ node, policy, fence, lease }: PresentCase): boolean {
  if (policy.kind !== 'one' || lease?.renewed !== true || !isRenewing(lease)) return false;
  // Nobody has heard of its state since it was silent: it is just coming back.
  if (node.ready === 'Unknown') return false;
  const { thresholds = [], kinds = {} } = policy.policy.remedy ?? {};
  return (fence?.status.ladders ?? []).some(({ threshold, position, phase }) => {
    const rungs = thresholds.find(({ key }) => key === threshold)?.remedies.slice(0, position) ?? [];
    return phase === 'running' && rungs.some(({ name }) => emptying.has(kinds[name]));
  });
}

function withinBoot(
  { serverNowMs }: NodeCase,
  { sinceMs, bootTimeoutMs }: Spell,
  { reason, message }: Pick<Patience, 'reason' | 'message'>,
): Patience | undefined {
  const untilMs = sinceMs + bootTimeoutMs;
  if (serverNowMs >= untilMs) return undefined;
  const told = `${message}: it has until ${clockTime(untilMs)} to be back`;
  return { reason, message: told, recheckAtMs: untilMs, untilMs };
}

/** So long a kubelet may be away from a machine that answers: it is being replaced, or about to be started. */
const kubeletAwayMs = 300_000;
/** An answer that is older says nothing about now. */
const freshForMs = 15_000;
/** Who does not know by then will not know. */
const knockingMs = 5000;
const againMs = 1000;

/** The machine answers that nobody listens at the port of its kubelet. A machine that does not answer says nothing. */
function kubeletDown(nodeCase: PresentCase, { heardMs }: Spell): Patience | undefined {
  const { node, kubelet, serverNowMs } = nodeCase;
  const untilMs = heardMs + kubeletAwayMs;
  if (node.kubelet === undefined || serverNowMs >= untilMs) return undefined;
  const { askedForMs = 0, port } = kubelet ?? {};
  const isKnown = port !== undefined && askedForMs <= freshForMs;
  if (!isKnown) {
    if (port === undefined && askedForMs >= knockingMs) return undefined;
    const message = 'whether its machine answers, and only its kubelet is down, is found out first';
    return { reason: 'LookingAround', message, recheckAtMs: serverNowMs + againMs };
  }
  if (port !== 'refused') return undefined;
  const message = `its machine answers, and its kubelet is down: it has until ${clockTime(untilMs)} to be back`;
  return { reason: 'KubeletDown', message, recheckAtMs: untilMs, untilMs };
}

/** What a cut rests on, to be found unchanged right before it. */
export function worthOf(nodeCase: PresentCase, spell: Spell): Worth {
  const { node, serverNowMs: nowMs, elsewhere } = nodeCase;
  const isKnown = elsewhere !== undefined && elsewhere.openForMs === undefined;
  const { name, machine, providerId } = node;
  return {
    plans: node.plans ?? { isCordoned: false, isShuttingDown: false, pauses: {} },
    ...(isKnown ? { elsewhere: { name, machine, providerId, found: elsewhere.found } } : {}),
    ...(nowMs < spell.sinceMs + spell.bootTimeoutMs ? { gain: gainOf(nodeCase) } : {}),
    ...(nowMs < spell.heardMs + kubeletAwayMs ? { door: node.kubelet } : {}),
  };
}

/** Its kubelet said so in this boot, and has not said since that it is well. */
export function wasShuttingDown({ node, fence }: NodeCase): boolean {
  if (node === undefined || node.ready === 'True') return false;
  return node.plans?.isShuttingDown === true || fence?.status.incident?.shutDown?.bootId === node.bootId;
}
