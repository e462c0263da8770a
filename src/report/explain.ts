/**
 * `fenceline explain`: from the record of the operator, and what the API shows beside it, to one value that says why a node
 * is judged as it is, why nothing happens yet, what comes next, what would change that, and what a person can type now. Text
 * and JSON are made from it. Nothing is judged here: what the operator has decided is on record, and of a node that has no
 * record the verdict is that of the same rule, from one look.
 */
import type { Command } from '../api/advice.ts';
import { COMMANDS, commandsOf } from '../api/advice.ts';
import { formatDuration } from '../api/duration.ts';
import { clockTime, isUnderFence } from '../api/facts.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import { requestOf } from '../api/fence-request.ts';
import { pauseOf } from '../api/pause.ts';
import { HELD, WRONG } from '../api/reasons.ts';
import type { LadderThreshold, PolicyFacts } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import { summaryOf } from './explain-summary.ts';
import { yoursOf } from './explain-yours.ts';
import { waitsOf } from './explain-waits.ts';
import { releasesOf } from './incidents.ts';
import type { Advised, ExplainedEvidence, Explanation, Known } from './explanation.ts';
import { aheadOf, unlessBack } from './explain-ahead.ts';
import {
  fences,
  isAttended,
  isBack,
  isGone,
  isLed,
  isMaintained,
  leftAloneBy,
  namesOf,
  reportedTrouble,
} from './explanation.ts';

const maxCommands = 6;

export function explain(known: Known): Explanation {
  const { node, atMs, policy, operator } = known;
  const status = known.record?.status;
  const advised = waitsOf(known);
  const { incident } = status ?? {};
  return {
    node,
    at: clockTime(atMs),
    summary: summaryOf(known, advised),
    yours: yoursOf(known, advised),
    ...(policy === undefined ? {} : { policy: { name: policy.name, mode: policy.mode } }),
    operator,
    warnings: [
      ...(known.rivals === undefined ? [] : [known.rivals]),
      ...(known.outOfService === undefined ? [] : [known.outOfService.message]),
      ...known.meaningless,
      ...known.unread.map((what) => `you may not read ${what}: whether everything is paused is not known`),
    ],
    verdict: verdictOf(known),
    ...(incident === undefined
      ? {}
      : { trouble: { what: incident.trouble, since: incident.startedAt, incident: incident.id } }),
    waits: advised.map(({ wait }) => wait),
    released: releasesOf(status ?? {}).map(({ recordedAt, basis, by, pods, endedAt }) => ({
      at: recordedAt,
      basis,
      ...(by === undefined ? {} : { by }),
      pods: pods.length,
      ended: endedAt !== undefined,
    })),
    rehearsed: status?.rehearsal?.steps ?? [],
    ...nextOf(known, advised),
    changes: changesOf(known),
    commands: commandsFor(known, advised),
  };
}

function nextOf(known: Known, waits: readonly Advised[]): Pick<Explanation, 'next'> {
  const { record } = known;
  if (!isLed(known)) return { next: { what: 'nothing, until an operator leads' } };
  const { next, hold } = record?.status ?? {};
  if (!isAttended(known)) return beginning(known, waits);
  if (next === undefined) return {};
  const { at } = next;
  const what = nextText(known, next.what);
  if (at !== undefined) return { next: { what, at } };
  if (hold === undefined) return { next: { what } };
  const { reason: after, until } = hold;
  return { next: { what, after, ...(until === undefined ? {} : { at: until }) } };
}

function nextText(known: Known, what: string): string {
  const { fence } = known.record?.status ?? {};
  const isUnnamed = known.devices.some(({ status }) => status.wrong?.reason === WRONG.reason.AnotherMachine);
  if (fence?.phase === 'poweringOff' && isUnnamed && !wasTold(known)) return otherMachine;
  return aheadOf(known)?.what === what ? `${what}${unlessBack(known)}` : what;
}

const otherMachine =
  'its device is asked again which machine it answers for; while that is another one it is told nothing, and nothing is cut by it';

/** Of a node that is in trouble, and not for long enough yet: what begins then, unless somebody holds it. */
function beginning(known: Known, waits: readonly Advised[]): Pick<Explanation, 'next'> {
  const { judgement, policy } = known;
  if (isGone(known)) return {};
  const isWell = judgement.verdict === 'healthy';
  const met = isWell ? reportedTrouble(known).map(({ threshold }) => threshold) : (policy?.remedy?.thresholds ?? []);
  // Whoever is in a storm has met it long since.
  const since = known.storm === undefined ? thresholdText : stillText;
  const due = met.map((one) => `${one.remedies[0]?.name} begins, if ${since(one)}`);
  if (due.length === 0) return {};
  const storm = known.storm?.hold.reason;
  const hold = waits.find(({ wait }) => holdsEverything.has(wait.reason) || wait.reason === storm)?.wait;
  return {
    next: {
      what: due.join('; or '),
      ...(hold === undefined ? {} : { after: hold.reason }),
      ...(hold?.until === undefined ? {} : { at: hold.until }),
    },
  };
}

function verdictOf(known: Known): Explanation['verdict'] {
  const { judgement, record, atMs } = known;
  const now = clockTime(atMs);
  const looked = [...judgement.evidence, ...conditionsSeen(known), ...bootSeen(known)].map((item) => ({
    ...item,
    ...(item.source === 'Lease' && item.says === 'Alive' && isSaidOff(known)
      ? { detail: `${item.detail}${justOff}` }
      : {}),
    at: now,
  }));
  const heard = [...looked, ...devicesHeard(known)];
  const { verdict, verdictReason } = record?.status ?? {};
  if (!isAttended(known) || verdict === undefined) {
    const { verdict: is, reason } = judgement;
    return { is, reason, explanation: VERDICT_REASONS[reason], from: 'look', evidence: byTime(heard) };
  }
  const reason = verdictReason ?? judgement.reason;
  const explanation = VERDICT_REASONS[reason as Judgement['reason']] ?? '';
  const stored = (record?.status.evidence ?? []).map(({ source, says, detail, observedAt, by }) => ({
    source,
    says,
    detail,
    at: observedAt,
    isPast: true as const,
    ...(by === undefined ? {} : { by }),
  }));
  return { is: verdict, reason, explanation, from: 'record', evidence: byTime([...stored, ...heard]) };
}

const justOff = '; but its device says off, and for a while a Lease looks like this after its machine was switched off';

function isSaidOff({ devices, record }: Known): boolean {
  const isOff = devices.some(({ status: { power, wrong } }) => power === 'off' && wrong === undefined);
  return isOff && isUnderFence(record?.status.fence);
}

function byTime(items: readonly ExplainedEvidence[]): ExplainedEvidence[] {
  return items.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

/** What else its Node reports, by node-problem-detector as a rule: whatever is True, and what its policy has a remedy for. */
function conditionsSeen(known: Known): Omit<ExplainedEvidence, 'at'>[] {
  const troubles = new Set(reportedTrouble(known).map(({ type }) => type));
  return (known.facts?.conditions ?? []).flatMap(({ type, status, reason, since }) => {
    if (type === 'Ready' || (status !== 'True' && !troubles.has(type))) return [];
    // Whoever has written it may have fallen silent since.
    return [
      { source: 'Condition' as const, says: 'Unknown', detail: `${type} is ${status} (${reason}) since ${since}` },
    ];
  });
}

/** Nothing of before a boot runs any more. */
function bootSeen({ facts, record }: Known): Omit<ExplainedEvidence, 'at'>[] {
  const before = record?.status.evidence.find(({ bootId }) => bootId !== undefined)?.bootId ?? '';
  const now = facts?.bootId ?? '';
  if (before === '' || now === '' || before === now) return [];
  return [
    { source: 'Boot', says: 'Alive', detail: `it has booted since: its kubelet reports boot ${now}, before ${before}` },
  ];
}

function devicesHeard({ node, devices }: Known): ExplainedEvidence[] {
  const says = { on: 'Alive', off: 'Dead', unknown: 'Unknown' } as const;
  return devices.flatMap(({ name, isShown = false, status }) => {
    const { power, since, wrong, message, identity, seenOn } = status;
    if (power === undefined || since === undefined) return [];
    const trust = identity === undefined && seenOn !== undefined ? unshownText(node, status, isShown) : '';
    const doubt = wrong === undefined ? trust : `, and is not believed: ${wrong.message}`;
    const why = power !== 'unknown' || message === undefined ? '' : `: ${message}`;
    const word = wrong === undefined ? says[power] : 'Unknown';
    return [
      {
        source: 'Device' as const,
        says: word,
        detail: `${name} has ${power === 'unknown' ? 'not said whether it is on or off' : `said ${power} whenever it was asked`}${why}${doubt}`,
        at: since,
        by: name,
      },
    ];
  });
}

/** It cannot say whose it is: what follows from that, where nothing has shown it. */
function unshownText(node: string, { cuts, drilled }: FenceDeviceStatus, isShown: boolean): string {
  if (cuts !== 'Storage') {
    return drilled === undefined
      ? `; it cannot say whose power it is, and no drill has shown it: fenceline drill ${node}`
      : '';
  }
  if (isShown) return '';
  return `; it cannot say whose port it is, and nobody has shown it: fenceline check --shown ${node}`;
}

/** Under these even a machine that is found off is left alone. */
const holdsEverything: ReadonlySet<string> = new Set([
  'Stopped',
  'Paused',
  'PausedForAll',
  'DryRun',
  'Maintenance',
  'AwaitingApproval',
  'Forbidden',
]);

function changesOf(known: Known): string[] {
  const { policy, record } = known;
  const { fence, hold } = record?.status ?? {};
  if (!isLed(known)) return [known.operator.leads === 'nobody' ? leadingFirst : leading];
  if (isGone(known)) return [joined];
  if (known.storm !== undefined) return [inTime, foundOff];
  if (!isAttended(known)) return policy === undefined ? [withoutPolicy] : thresholdsOf(known, policy);
  if (isBack(known)) return [relapse];
  const isHeld = holdsEverything.has(hold?.reason ?? '');
  if (fence?.phase === 'off') return [onAgain];
  if (fence?.phase === 'poweringOn') return [switchedOn];
  if (fence?.phase === 'booting') return [booted];
  const isWrong = known.devices.some(({ status }) => status.wrong !== undefined);
  if (fence?.phase === 'failed') return [rebooted, isWrong ? putRight : offByHand];
  if (isUnderFence(fence) && wasTold(known)) return [afterCommand];
  const isAsked = record !== undefined && requestOf(record) !== undefined;
  if (isAsked && !isUnderFence(fence)) return record.status.request?.trouble === undefined ? [asked] : [asked, inTime];
  const others = hold?.reason === HELD.reason.LookingAround ? [manySilent] : [];
  const ifOff = isWrong ? [putRight] : [foundOff];
  return fences(policy) && !isHeld ? [inTime, ...ifOff, ...others] : [inTime];
}

const leading = 'an operator leads again: it goes on from what is on record, and decides by what it sees then';
const leadingFirst = 'an operator leads: it begins with what it sees then';
const joined = 'a node of this name joins the cluster: then it is looked at like any other';
const withoutPolicy = 'a policy that selects it; without one nothing is done about it whatever happens';
const inTime = 'its kubelet renews its Lease and Ready is True before anything is cut: then nothing is done to it';
const asked =
  'it boots, or its request lapses, before anything is begun: then nothing is done to it because somebody asked';
const foundOff = 'its device says off: then nothing has to be cut, and no storm holds it back';
const afterCommand =
  'only that it is Ready in a new boot: it is too late to take the cut back, as the command that was sent may still do it';
const onAgain = 'its device says on again before its pods are gone: then nothing more is released';
const manySilent = 'more nodes turn out to be silent than its policy allows: then it is held back as long as they are';
const switchedOn =
  'its device says that it is on, and it is Ready in a new boot: then it comes back in stages, and takes pods last';
const booted = 'it is Ready in a new boot: then it comes back in stages, and takes pods last';
const rebooted = 'it is Ready in a new boot: then nothing of before runs there, and it comes back by itself';
const offByHand = 'you switch it off by hand, its device says so, and a new fence is begun';
const putRight = 'what is wrong with its device is put right, a check says so, and it is fenced by it';
const relapse = 'it is not Ready, falls silent, or uses a released volume again: then it begins anew, and takes longer';

function isPaused({ pause, atMs }: Known): boolean {
  return pause !== undefined && pauseOf(pause, atMs) !== undefined;
}

/** What has to be over before anything is begun about a node that nothing is done about yet. */
function firstOf(known: Known): string {
  if (known.record?.spec.stop === true) return 'once it is resumed, ';
  if (isPaused(known)) return 'once the pause is over, ';
  if (isMaintained(known)) return 'once the maintenance is over, ';
  if (known.policy?.refused !== undefined) return 'once its policy is not refused any more, ';
  return leftAloneBy(known).length === 0 ? '' : 'once its pause is over, ';
}

function thresholdsOf(known: Known, { remedy, name, mode }: PolicyFacts): string[] {
  const first = firstOf(known);
  const told = (remedy?.thresholds ?? []).map((one) => {
    const ladder = one.remedies.map((rung) => rung.name).join(', then ');
    return `${first}${thresholdText(one)}: then policy ${name} begins with ${ladder}${mode === 'Enforce' ? '' : ` (mode: ${mode})`}`;
  });
  return told.length > 0 ? told : [`policy ${name} has no ladder: only its rules of release apply`];
}

function thresholdText({ condition, lease }: LadderThreshold): string {
  if (lease !== undefined) return `its Lease is not renewed for ${formatDuration(lease.staleForMs)}`;
  const { type = '', status = '', forMs = 0 } = condition ?? {};
  return `${type} is ${status === 'NotTrue' ? 'not True' : status} for ${formatDuration(forMs)}`;
}

function stillText(threshold: LadderThreshold): string {
  return threshold.lease === undefined ? thresholdText(threshold) : 'its Lease is still not renewed';
}

/**
 * What belongs to a wait first; what can be done in every situation after it, and what cuts a machine below all that only looks.
 * Without an operator nothing else helps.
 */
function commandsFor(known: Known, waits: readonly Advised[]): Command[] {
  const last = named(known, generalOf(known, waits));
  const first = isLed(known)
    ? waits
        .toSorted((one, other) => Number(other.comesFirst ?? false) - Number(one.comesFirst ?? false))
        .flatMap(({ commands }) => commands)
    : named(known, withoutOperator(known));
  const own = first
    .filter((one) => isBestOf(one, first))
    .filter(({ command }) => last.every((one) => one.command !== command));
  const [cutting, looking] = [own.filter(isCut), own.filter((one) => !isCut(one))];
  return [
    ...inService(known),
    ...looking.slice(0, maxCommands),
    ...last,
    ...(mayBeFenced(known) ? cutting.map((one) => cutText(known, one)) : []),
  ];
}

function isCut({ command }: Command): boolean {
  return command.startsWith(fenceCommand);
}

/** The dump that a crashed kernel writes is the only thing that says why it has crashed. */
function cutText({ record }: Known, { to, command }: Command): Command {
  const isDumping = record?.status.evidence.some(({ source }) => source === 'Kdump') === true;
  return { to: isDumping ? `${to}; a crash dump that is still being written is lost` : to, command };
}

/** Where none was ever seen, nobody led last. */
function withoutOperator({ operator }: Known): Command[] {
  const before = operator.leads === 'nobody' ? [] : [COMMANDS.leader];
  return [COMMANDS.operators, ...before, COMMANDS.run];
}

const inGeneral: ReadonlySet<string> = new Set(Object.values(COMMANDS).map(({ to }) => to));

/** Of two purposes of one command the one that names what to change: that a policy can be edited helps nobody at night. */
function isBestOf(one: Command, all: readonly Command[]): boolean {
  const same = all.filter(({ command }) => command === one.command);
  return (same.find(({ to }) => !inGeneral.has(to)) ?? same[0]) === one;
}

/** Of a machine that lives nobody may go on saying that it is off. */
function inService({ outOfService, judgement }: Known): Command[] {
  if (outOfService === undefined || judgement.verdict !== 'healthy') return [];
  return [{ to: 'let pods run there again: take the taint of the administrator away', command: outOfService.command }];
}

const fenceCommand = 'fenceline fence ';

/** Nobody is told to cut a machine that is well, nor to ask for what would be refused. */
function mayBeFenced(known: Known): boolean {
  const { judgement, policy, record } = known;
  const isHeld = isPaused(known) || isMaintained(known);
  const acts = policy?.mode !== 'DryRun' && policy?.mode !== 'Paused' && record?.spec.stop !== true;
  return judgement.verdict !== 'healthy' && acts && !isHeld;
}

function generalOf(known: Known, waits: readonly Advised[]): readonly Command[] {
  if (isGone(known)) return [COMMANDS.history];
  if (!isAttended(known) && waits.length === 0) return [COMMANDS.check, COMMANDS.evidence];
  if (known.record === undefined) return [COMMANDS.evidence];
  if (known.record.spec.stop) return [COMMANDS.history];
  const isUnderWay = known.record.status.fence?.phase === 'poweringOff' && wasTold(known);
  return [COMMANDS.history, isUnderWay ? { ...COMMANDS.stop, to: stopTooLate } : COMMANDS.stop];
}

/** A command was sent, or may have been. */
function wasTold({ record }: Known): boolean {
  return (record?.status.fence?.switched ?? []).some(({ commandSentAt }) => commandSentAt !== undefined);
}

const stopTooLate =
  'stop everything further, until fenceline resume: the cut is not taken back by that; the machine may go off all the same, and stays off then, and pods that wait go on waiting';

function named(known: Known, commands: readonly Command[]): Command[] {
  return commands.flatMap((one) => commandsOf({ ends: '', can: [one] }, namesOf(known)));
}
