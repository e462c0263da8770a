/** What is asked of whoever reads an explanation, before anything else: to act, to decide, to look, or nothing. */
import { HELD, WRONG } from '../api/reasons.ts';
import { COMMANDS, commandsOf } from '../api/advice.ts';
import { clockTime, isUnderFence } from '../api/facts.ts';
import { requestOf } from '../api/fence-request.ts';
import type { Advised, Known, Wait } from './explanation.ts';
import { seconds, when } from './clock-text.ts';
import { aheadOf, momentOf, unlessBack } from './explain-ahead.ts';
import { fences, isBack, isGone, isLed, namesOf, reportedTrouble } from './explanation.ts';
import type { Need } from './needs.ts';
import { needsOf } from './needs.ts';

/** Somebody has wished it so. */
const wished: ReadonlySet<string> = new Set([
  HELD.reason.Stopped,
  HELD.reason.Paused,
  HELD.reason.DryRun,
  HELD.reason.PausedForAll,
  HELD.reason.Maintenance,
  HELD.reason.NamedPause,
  HELD.reason.Forbidden,
]);

/** So many at once have something in common. */
const storms: ReadonlySet<string> = new Set([
  HELD.reason.StormLimit,
  HELD.reason.ZoneStormLimit,
  HELD.reason.ControlPlaneQuorum,
  HELD.reason.OwnZoneAlone,
]);

/** It has time to be back, and is cut then. */
const patient: ReadonlySet<string> = new Set([
  HELD.reason.KubeletDown,
  HELD.reason.PlannedWork,
  HELD.reason.NothingToFree,
]);

const canBeProlonged: ReadonlySet<string> = new Set([HELD.reason.Maintenance, HELD.reason.NamedPause]);

const wrong: ReadonlySet<string> = new Set(Object.keys(WRONG.reason));

const byItself = 'nothing to do: it goes on by itself';

export function yoursOf(known: Known, waits: readonly Advised[]): string {
  const { record, judgement, policy } = known;
  const { incident, hold = known.storm?.hold, fence, next, stuck = [] } = record?.status ?? {};
  if (isGone(known) && incident === undefined) return 'nothing to do';
  const isOpen = incident !== undefined;
  const isWell = judgement.verdict === 'healthy';
  if (!isLed(known)) {
    return isOpen || !isWell
      ? 'have to act: get an operator to run; until one leads nothing is done about anything'
      : 'have to act: get an operator to run; if this node fails before, nothing is done about it';
  }
  const needs = needsOf(known);
  const asWished = waits.find(({ wait }) => wished.has(wait.reason))?.wait;
  if (!isOpen && isWell) return ofWell(known, needs, asWished);
  if (!isOpen && policy === undefined) return unselected;
  const need = needs.find(({ reason, isUrgent }) => !wished.has(reason) && (isUrgent === true || wrong.has(reason)));
  if (need?.reason === HELD.reason.AwaitingApproval) {
    return 'have to decide: it waits for your approval; first find out whether somebody has switched it off, or works on it';
  }
  const taken = waits.find(({ wait }) => wait.reason === 'TakenUp');
  if (taken !== undefined && isWell) return takenText(known, taken);
  if (need !== undefined) {
    const [other] = fence?.swapped ?? [];
    const struck = other === undefined ? '' : `; ${other} fell silent when it was cut, and may be off by that`;
    return `have to act: nothing ends this by itself${struck}${first(need, waits)}`;
  }
  if (fence?.waitsFor !== undefined) {
    const before = stuck.length === 0 ? '' : '; but first its pods have to go, see below';
    return `have to act: ${fence.waitsFor}${before}`;
  }
  if (asWished !== undefined && !isUnderFence(fence)) {
    return `have to decide: somebody has wished that nothing is done; find out whether that still holds${endText(known, asWished)}`;
  }
  if (hold !== undefined && storms.has(hold.reason)) return stormText(known);
  if (fence?.phase === 'poweringOff' && fence.retries > 0) return deviceText(known);
  if (hold?.until !== undefined && patient.has(hold.reason)) return patientText(known, hold.reason, hold.until);
  if (!isBack(known) && !isUnderFence(fence) && policy === undefined) return unselected;
  if (hold?.reason === HELD.reason.LeftToOthers) return othersText(known);
  const ahead = aheadOf(known);
  if (ahead !== undefined) {
    const moment = momentOf(ahead, known);
    const storm = hold?.reason === HELD.reason.LookingAround ? ', or too many others turn out to be silent' : '';
    return `nothing to do, if this may happen: ${moment} ${ahead.what}${unlessBack(known)}${storm}; to prevent it: ${stopOf(known)}`;
  }
  const at = next?.at ?? hold?.until;
  return at === undefined ? byItself : `${byItself}, by ${seconds(at)} at the latest; look again then`;
}

function takenText(known: Known, { wait, commands }: Advised): string {
  const { by = 'somebody', at = '' } = (known.record && requestOf(known.record)) ?? {};
  const lapses = wait.until === undefined ? '' : `, and lapses at ${clockIn(known, wait.until)}`;
  const back = commands[0] === undefined ? '' : `; if nobody wants it any more: ${commands[0].command}`;
  return `have to decide: ${known.node} is well and may be serving, and ${by} wants its power cut (asked for at ${seconds(at)}); that waits for what holds it back${lapses}${back}`;
}

/** What ends a protection is no good news to whoever works on the machine. */
function endText(known: Known, wait: Wait): string {
  const { until, reason } = wait;
  if (isEndless(known, wait)) return '; it has no end of its own, and lasts until somebody ends it';
  if (until === undefined) return '';
  const harm = fences(known.policy) ? ', and its power may be cut then' : '';
  const longer = canBeProlonged.has(reason) ? ': if somebody still works on it, prolong it (below)' : '';
  return `; its protection ends at ${clockIn(known, until)}${harm}${longer}`;
}

/** Of what a request was refused for, nothing says until when it holds. */
function isEndless({ record }: Known, { until, reason }: Wait): boolean {
  return until === undefined && record?.status.request?.reason !== reason;
}

/** Whoever repairs a switch has the slower ones cut as soon as the others are back. */
function stormText(known: Known): string {
  const look = 'have to look whether a network, a switch or the power of many has failed';
  if (isUnderFence(known.record?.status.fence)) return `${look}: it waits until that is over`;
  if (!fences(known.policy)) return `${look}: nothing is begun about it until that is over`;
  const [pause] = commandsOf({ ends: '', can: [COMMANDS.pauseAll] }, namesOf(known));
  const until = pause === undefined ? '' : `; while you repair it: ${pause.command}`;
  return `${look}: it is not cut meanwhile, but may be when that is over, if it is still silent then${until}`;
}

/** A device that gives no answer is not one that disobeys. */
function deviceText(known: Known): string {
  const isSilent = known.devices.some(({ status }) => status.power === 'unknown');
  const what = isSilent
    ? 'which does not say whether it is on or off (look at its network and its login first)'
    : 'which does not do what it is told';
  return `have to look at its device, ${what}; it is tried again meanwhile, and nothing is released by it`;
}

/** They have no end of their own, and whoever has marked a node may have forgotten it. */
function othersText(known: Known): string {
  const [describe] = commandsOf({ ends: '', can: [COMMANDS.describe] }, namesOf(known));
  return `have to look whether those to whom it is left go on with it: nothing is cut until they are done, which has no end of its own; begin with: ${describe?.command}`;
}

function patientText(known: Known, reason: string, until: string): string {
  const end = clockIn(known, until);
  if (reason === HELD.reason.KubeletDown) {
    return `have to start its kubelet on the machine: else its power may be cut, by ${end} at the latest, and its pods, which run on until then, end`;
  }
  const longer = reason === HELD.reason.PlannedWork ? `; if somebody works on it for longer: ${stopOf(known)}` : '';
  return `nothing to do now; unless it is back its power may be cut, by ${end} at the latest${longer}`;
}

function stopOf(known: Known): string {
  return commandsOf({ ends: '', can: [COMMANDS.stop] }, namesOf(known))[0]?.command ?? '';
}

function clockIn({ atMs }: Known, time: string): string {
  return when(time, clockTime(atMs));
}

const unselected =
  'have to decide: no policy selects it, and nobody else does anything about it; begin with: kubectl get remedypolicies';

/** Where nothing else helps before that, with that. */
function first({ command }: Need, waits: readonly Advised[]): string {
  const begin = waits.find(({ comesFirst }) => comesFirst)?.commands[0] ?? command;
  return begin === undefined ? '' : `; begin with: ${begin.command}`;
}

function ofWell(known: Known, needs: readonly Need[], asWished: Wait | undefined): string {
  if (reportedTrouble(known).length > 0) return ofReported(known);
  const why = needs[0]?.message ?? asWished?.message;
  if (why === undefined) return 'nothing to do';
  const isForGood = needs.length === 0 && asWished !== undefined && isEndless(known, asWished);
  return `nothing to do now; before its next outage see to this: ${why}${isForGood ? ', without an end of its own' : ''}`;
}

function ofReported(known: Known): string {
  if (!fences(known.policy)) {
    return `nothing to do, if you want what its policy is about to do (below); to prevent it: ${stopOf(known)}`;
  }
  return `have to decide: it is Ready and may be serving, and its power may be cut if what it reports goes on (below): what runs there dies then; to prevent it: ${stopOf(known)}`;
}
