/** Why something about a node is not done, or not over, yet: each with since when, what ends it, and what can be typed. */
import { ALARM_ADVICE, FENCED_ADVICE, HELD_ADVICE, LEFT_OFF, TRIED_IN_VAIN } from '../api/advice.ts';
import type { Advice } from '../api/advice.ts';
import { COMMANDS } from '../api/advice.ts';
import { DRAINING_ADVICE } from '../api/advice-of-drains.ts';
import { UNFENCEABLE_ADVICE, WRONG_ADVICE } from '../api/advice-of-devices.ts';
import { RELEASED_ADVICE, STUCK_ADVICE } from '../api/advice-of-pods.ts';
import { REQUESTED_ADVICE } from '../api/advice-of-requests.ts';
import { formatDuration } from '../api/duration.ts';
import { clockTime, isUnderFence } from '../api/facts.ts';
import { lapsesAtMs, requestOf } from '../api/fence-request.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { pauseOf } from '../api/pause.ts';
import { ALARM, FENCED, HELD, RELEASED, WRONG } from '../api/reasons.ts';
import type { Advised, Known } from './explanation.ts';
import { advised, isAttended, isBack, isGone, leftAloneBy, namesOf, reportedTrouble } from './explanation.ts';

/** What is not in the list, as a newer operator may write it, is told as it is. */
function adviceFor(all: { readonly [reason: string]: Advice }, reason: string): Advice {
  return all[reason] ?? { ends: 'its cause is gone', can: [COMMANDS.record] };
}

export function waitsOf(known: Known): Advised[] {
  const own = isAttended(known)
    ? [
        ...heldBy(known),
        ...fenceWaits(known),
        ...thresholdWait(known),
        ...releaseWaits(known),
        ...returnWaits(known),
        ...stuckPods(known),
      ]
    : [...stoppedOnly(known), ...unselected(known), ...stormWait(known), ...conditionWaits(known)];
  const asked = requests(known);
  return [
    ...own,
    ...pausedForAll(known, own),
    ...refused(known, own),
    ...workedOn(known, [...own, ...asked]),
    ...drainWaits(known),
    ...alarms(known, own),
    ...asked,
    ...deviceWaits(known),
  ];
}

function heldBy(known: Known): Advised[] {
  const { record, policy } = known;
  const hold = record?.status.hold;
  if (hold === undefined) return stoppedOnly(known);
  const { reason, message, since, until } = hold;
  const { ends: usual, can } = adviceFor(HELD_ADVICE, reason);
  const told = advised(
    { reason, message, since, until },
    { ends: usual, can: isAskedWell(known) ? [can[0]] : can },
    namesOf(known),
  );
  // As the operator has put it; a command of another version may know less.
  const ends = hold.ends === undefined ? told.wait.ends : hold.ends;
  return [{ ...told, wait: { ...told.wait, ends: policy === undefined ? told.wait.ends : ends } }];
}

/** To lift a limit would cut this one as well, which is well and waits for nothing. */
function isAskedWell({ judgement, record }: Known): boolean {
  return judgement.verdict === 'healthy' && record !== undefined && requestOf(record) !== undefined;
}

/** Thousands at once have no record each: why nothing is done is the same for all of them. */
function stormWait(known: Known): Advised[] {
  if (known.storm === undefined) return [];
  const { node, hold } = known.storm;
  const { reason, message, since, until } = hold;
  const told = `${message}; it has no record of its own: that of ${node}, which is held back by the same, says so`;
  const { ends, can } = adviceFor(HELD_ADVICE, reason);
  const own: Advice['can'] = [...can, COMMANDS.witness, COMMANDS.stop];
  return [advised({ reason, message: told, since, until }, { ends, can: own }, namesOf(known))];
}

/** Somebody has just stopped it, or has stopped a node that is well. */
function stoppedOnly(known: Known): Advised[] {
  if (known.record?.spec.stop !== true) return [];
  const message = HELD.explanation.Stopped;
  return [advised({ reason: 'Stopped', message }, HELD_ADVICE.Stopped, namesOf(known))];
}

/** Also of a node that is well: whoever looks wants to know before it fails. */
function pausedForAll(known: Known, said: readonly Advised[]): Advised[] {
  const { pause, atMs } = known;
  const found = pause && pauseOf(pause, atMs);
  if (found === undefined || said.some(({ wait }) => wait.reason === HELD.reason.PausedForAll)) return [];
  const { message, untilMs } = found;
  const until = untilMs === undefined ? undefined : clockTime(untilMs);
  const wait = { reason: HELD.reason.PausedForAll, message, since: pause?.written?.since, until };
  return [advised(wait, HELD_ADVICE.PausedForAll, namesOf(known))];
}

/** Nothing will be done by its policy, whatever happens: that is to be known before anything does. */
function refused(known: Known, said: readonly Advised[]): Advised[] {
  const message = known.policy?.refused;
  if (message === undefined || said.some(({ wait }) => wait.reason === HELD.reason.Forbidden)) return [];
  return [advised({ reason: HELD.reason.Forbidden, message }, HELD_ADVICE.Forbidden, namesOf(known))];
}

/** Also before the operator has a reason to hold anything back. */
function workedOn(known: Known, said: readonly Advised[]): Advised[] {
  return leftAloneBy(known)
    .filter(({ reason }) => said.every(({ wait }) => wait.reason !== reason))
    .map(({ reason, message, untilMs }) => {
      const until = untilMs === undefined ? undefined : clockTime(untilMs);
      return advised({ reason, message, until }, HELD_ADVICE[reason], namesOf(known));
    });
}

/** What its drain waits for, by the guard of its replicas. */
function drainWaits(known: Known): Advised[] {
  const { blocked, reason = '', message = '', since } = known.drain ?? { blocked: false };
  if (!blocked) return [];
  const waits = reason === 'OwnCordon' ? 'a drain of it would wait' : 'its drain waits';
  const wait = { reason, message: `${waits}: ${message}`, since };
  return [advised(wait, adviceFor(DRAINING_ADVICE, reason), namesOf(known))];
}

/** Whatever is wrong with it, nobody has asked for anything to be done. */
function unselected(known: Known): Advised[] {
  const { judgement, policy } = known;
  if (policy !== undefined || judgement.verdict === 'healthy' || isGone(known)) return [];
  return [advised({ reason: 'NoPolicy', message: 'no policy selects it' }, STUCK_ADVICE.NoPolicy, namesOf(known))];
}

/** Of a node that is well by its Lease and Ready: what it reports, and its policy has a remedy for. */
function conditionWaits(known: Known): Advised[] {
  if (known.judgement.verdict !== 'healthy') return [];
  return reportedTrouble(known).map(({ type, status, since, threshold }) => {
    const { forMs = 0 } = threshold.condition ?? {};
    const dueMs = Date.parse(since) + forMs;
    const due = Number.isNaN(dueMs) ? '' : ` (at ${clockTime(dueMs)} or later, if the Node has the right time)`;
    const message = `${type} is ${status}, and policy ${known.policy?.name} begins with ${threshold.remedies[0]?.name} when the operator has seen that for ${formatDuration(forMs)}${due}`;
    const ends = `${type} is not ${status} any more; else its remedy begins`;
    return advised(
      { reason: 'Threshold', message, since },
      {
        ends,
        can: [
          COMMANDS.describe,
          { ...COMMANDS.stop, to: 'keep that from it: nothing is done about it until fenceline resume' },
          COMMANDS.policy,
        ],
      },
      namesOf(known),
    );
  });
}

function conditionOf({ conditions }: NodeFenceStatus, type: string): NodeFenceStatus['conditions'][number] | undefined {
  return conditions.find((one) => one.type === type);
}

/** In these there is nothing to wait for. */
const settled: ReadonlySet<string> = new Set([
  FENCED.reason.Recovered,
  FENCED.reason.Cancelled,
  FENCED.reason.NodeDeleted,
]);

function fenceWaits(known: Known): Advised[] {
  const status = known.record?.status;
  const told = status && conditionOf(status, FENCED.of);
  if (status?.fence === undefined || told === undefined || settled.has(told.reason)) return [];
  const { reason, message } = told;
  const explanation: { readonly [reason: string]: string } = FENCED.explanation;
  const what = [explanation[reason], message === '' ? undefined : `(${message})`].filter((part) => part !== undefined);
  const { phase, until, stepStartedAt: since } = status.fence;
  const isWaiting = phase === 'waiting' || phase === 'isolated';
  // Of a fence that is held, its own time is not what it waits for.
  if (isWaiting && status.hold !== undefined) return [];
  const endsAt = isWaiting ? status.next?.at : until;
  const isAhead = endsAt !== undefined && Date.parse(endsAt) > known.atMs;
  const wait = { reason, message: what.join(' '), since, ...(isAhead ? { until: endsAt } : {}) };
  const advice = adviceFor(FENCED_ADVICE, reason);
  if (status.fence.waitsFor !== undefined) return [advised(wait, LEFT_OFF, namesOf(known))];
  const isInVain = phase === 'poweringOff' && status.fence.retries > 0;
  return [advised(wait, isInVain ? { ...advice, can: TRIED_IN_VAIN } : advice, namesOf(known))];
}

/** Its policy has a remedy, and gives it time to come back by itself first. */
function thresholdWait(known: Known): Advised[] {
  const { hold, fence, ladders = [], next, incident } = known.record?.status ?? {};
  const isBelow =
    hold === undefined && fence === undefined && ladders.length === 0 && known.policy?.remedy !== undefined;
  if (!isBelow || next?.at === undefined || incident?.clearedAt !== undefined) return [];
  const message = `policy ${known.policy?.name} gives it time to come back by itself`;
  const wait = { reason: 'Threshold', message, since: incident?.startedAt, until: next.at };
  return [
    advised(
      wait,
      { ends: 'it is back, or the threshold is met', can: [COMMANDS.fence, COMMANDS.stop] },
      namesOf(known),
    ),
  ];
}

function releaseWaits(known: Known): Advised[] {
  const status = known.record?.status;
  const told = status && conditionOf(status, RELEASED.of);
  if (told === undefined || told.status === 'True') return [];
  const { reason, message, lastTransitionTime: since } = told;
  return [advised({ reason, message, since }, adviceFor(RELEASED_ADVICE, reason), namesOf(known))];
}

/** Each stage says itself what it waits for. */
function returnWaits(known: Known): Advised[] {
  if (!isBack(known)) return [];
  const { stage, waitsFor, since, soakUntil } = known.record?.status.return ?? {};
  if (waitsFor === undefined) return [];
  const ends = soakUntil === undefined ? 'that is so' : 'it has stayed Ready and clean until then';
  const wait = { reason: `Returning, ${stage}`, message: waitsFor, since, until: soakUntil };
  return [advised(wait, { ends, can: [COMMANDS.describe] }, namesOf(known))];
}

const maxPods = 5;

function stuckPods(known: Known): Advised[] {
  const { stuck = [] } = known.record?.status ?? {};
  return stuck.slice(0, maxPods).map(({ namespace, name, reason, message, until }) => {
    const names = { ...namesOf(known), pod: name, podNamespace: namespace };
    const wait = { reason, message: `pod ${namespace}/${name} is still there: ${message}`, until };
    return advised(wait, adviceFor(STUCK_ADVICE, reason), names);
  });
}

/** What the fence or the hold says already is not said twice. */
function alarms(known: Known, said: readonly Advised[]): Advised[] {
  const status = known.record?.status;
  const told = status && conditionOf(status, ALARM.of);
  if (told?.status !== 'True') return [];
  const { reason, message, lastTransitionTime: since } = told;
  const isSaid = reason === 'FenceInError' || said.some(({ wait }) => wait.reason === reason);
  return isSaid ? [] : [advised({ reason, message, since }, adviceFor(ALARM_ADVICE, reason), namesOf(known))];
}

/** One that was refused, or is held back: somebody waits for a fence that does not come, or not yet. */
function requests(known: Known): Advised[] {
  const { request } = known.record?.status ?? {};
  if (request === undefined || request.endedAt !== undefined) return [];
  if (request.reason === 'TakenUp') return heldRequest(known);
  const { reason, message = '', by, answeredAt: since } = request;
  const wait = { reason, message: `the fence that ${by} asked for was refused: ${message}`, since };
  return [advised(wait, adviceFor(REQUESTED_ADVICE, reason), namesOf(known))];
}

function heldRequest(known: Known): Advised[] {
  const { record } = known;
  const asked = record && requestOf(record);
  const { fence, hold } = record?.status ?? {};
  if (record === undefined || asked === undefined || isUnderFence(fence) || hold === undefined) return [];
  const lapsesMs = lapsesAtMs(record);
  const message = `the fence that ${asked.by} asked for at ${asked.at} waits; nothing was begun for it yet`;
  const wait = { reason: 'TakenUp', message, ...(lapsesMs === undefined ? {} : { until: clockTime(lapsesMs) }) };
  return [advised(wait, REQUESTED_ADVICE.TakenUp, namesOf(known))];
}

/** Before anything is said of the device, somebody has to look at another machine, or at data. */
const seenFirst: ReadonlySet<string> = new Set([WRONG.reason.OutletsSwapped, WRONG.reason.NeverOff]);

/** By which of its devices it could not be fenced. */
function deviceWaits(known: Known): Advised[] {
  const names = namesOf(known);
  return known.devices.flatMap(({ name, status: { wrong, fenceable, reason = '', message = '', since } }) => {
    if (wrong !== undefined) {
      const wait = { reason: wrong.reason, message: `${name} is not used: ${wrong.message}`, since: wrong.since };
      const told = advised(wait, adviceFor(WRONG_ADVICE, wrong.reason), names);
      return [seenFirst.has(wrong.reason) ? told : { ...told, comesFirst: true as const }];
    }
    if (fenceable !== false) return [];
    const wait = { reason, message: `it could not be fenced by ${name}: ${message}`, since };
    const told = advised(wait, adviceFor(UNFENCEABLE_ADVICE, reason), names);
    // What its fence has failed for is mended first.
    return [known.record?.status.fence?.phase === 'failed' ? { ...told, comesFirst: true as const } : told];
  });
}
