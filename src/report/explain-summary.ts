/** The whole in one sentence: how the node is, and what is being done about it. */
import { isUnderFence } from '../api/facts.ts';
import { requestOf } from '../api/fence-request.ts';
import { CORDON_METHOD } from '../api/fence-names.ts';
import { FENCED, HELD } from '../api/reasons.ts';
import type { Advised, Known } from './explanation.ts';
import { seconds } from './clock-text.ts';
import { aheadOf, unlessBack } from './explain-ahead.ts';
import { isBack, isGone, isLed } from './explanation.ts';

export function summaryOf(known: Known, waits: readonly Advised[]): string {
  const { node, judgement, record } = known;
  const { incident, verdict = judgement.verdict, return: back } = record?.status ?? {};
  if (isGone(known) && incident === undefined)
    return `${node} is gone: there is no Node of this name, and nothing is left to do`;
  if (incident === undefined) return `${node} is ${judgement.verdict}${quietly(known, waits)}`;
  const trouble = troubleText(known, incident.trouble);
  if (!isLed(known)) return `${node} was ${verdict} (${trouble}), and nothing is done about it: no operator leads`;
  if (incident.clearedAt !== undefined) return `${node} is well again, if the trouble (${trouble}) stays away`;
  if (isBack(known)) return `${node} is back, and takes no pods yet: ${back?.waitsFor ?? back?.stage}`;
  // Of a machine that was just switched off Kubernetes notices nothing yet.
  const reads =
    verdict === 'healthy' && isUnderFence(record?.status.fence) ? 'still reads as healthy' : `is ${verdict}`;
  return `${node} ${reads} (${trouble}); ${doingOf(known, waits)}`;
}

function troubleText({ record }: Known, trouble: string): string {
  const asked = record && requestOf(record);
  // Somebody who finds a machine off has to know whose wish it was.
  if (trouble === 'being fenced' && asked !== undefined) return `a fence was asked for by ${asked.by} at ${asked.at}`;
  return trouble === 'lease' ? 'its Lease is not renewed' : trouble;
}

/** That somebody was refused is over; what would refuse the next one as well is not. */
const holds: ReadonlySet<string> = new Set(Object.keys(HELD.reason));

function quietly(known: Known, waits: readonly Advised[]): string {
  const [first] = waits;
  const { policy, record, judgement } = known;
  const isWell = judgement.verdict === 'healthy';
  if (record?.spec.stop === true) return ', and nothing would be done about it: it is stopped';
  if (!isLed(known)) return `, and nothing ${isWell ? 'would be' : 'is'} done about it: no operator leads`;
  if (isWell) {
    const held = waits.find(({ wait }) => wait.reason !== record?.status.request?.reason || holds.has(wait.reason));
    return held === undefined ? ': nothing is wrong, and nothing is being done' : `, but: ${held.wait.message}`;
  }
  if (policy === undefined) return ', and nothing is done about it: no policy selects it';
  if (known.storm !== undefined) {
    const { hold, node } = known.storm;
    return `, and nothing is done about it: too many are in trouble (${hold.message}, by the record of ${node})`;
  }
  return first === undefined
    ? ', and nothing is done about it yet'
    : `, and nothing is done about it: ${first.wait.message}`;
}

function doingOf(known: Known, [first]: readonly Advised[]): string {
  const { record } = known;
  const { hold, fence, conditions = [], next, stuck = [] } = record?.status ?? {};
  if (hold !== undefined) return `held back by ${hold.reason}: ${hold.message}`;
  const told = conditions.find(({ type }) => type === FENCED.of);
  const isOpen = fence !== undefined && fence.phase !== 'finished';
  const wrong = known.devices.find(({ status }) => status.wrong !== undefined);
  if (fence?.phase === 'off' && stuck.length > 0) {
    return `its power is off, and ${stuck.length} ${stuck.length === 1 ? 'pod waits' : 'pods wait'} to be released`;
  }
  if (isOpen && told !== undefined) {
    if (cutting.has(fence.phase) && wrong !== undefined)
      return `its fence can switch nothing as it is: ${wrong.name} is not used, as ${wrong.status.wrong?.message}`;
    const tries = fence.retries === 0 && fence.phase !== 'failed' ? '' : ` (${told.message})`;
    const ahead = aheadOf(known);
    const at = ahead?.at === undefined ? undefined : seconds(ahead.at);
    if (ahead !== undefined && at !== undefined && tries === '')
      return `at ${at} ${ahead.what}${unlessBack(known)}${silenceText(known, fence.phase)}`;
    return `its fence is ${fence.method === CORDON_METHOD && fence.phase === 'isolating' ? 'cordoning it' : stateText(fence.phase)}${tries === '' ? silenceText(known, fence.phase) : tries}`;
  }
  if (first !== undefined) return first.wait.message;
  return next?.at === undefined ? 'it is watched' : 'its policy gives it time to come back';
}

const cutting: ReadonlySet<Phase> = new Set(['waiting', 'isolating', 'isolated', 'poweringOff']);

/** What cannot be cut is not about to be. */
function silenceText({ devices }: Known, phase: Phase): string {
  const unusable = devices.find(({ status }) => status.wrong !== undefined || status.fenceable === false);
  return unusable === undefined || !cutting.has(phase)
    ? ''
    : `; but by ${unusable.name} it could not be fenced when it was last asked`;
}

type Phase = NonNullable<NonNullable<Known['record']>['status']['fence']>['phase'];

function stateText(phase: Phase): string {
  switch (phase) {
    case 'waiting':
      return 'about to begin: it has time to come back first';
    case 'isolating':
      return 'cutting it off from its storage';
    case 'isolated':
      return 'about to cut its power: it has time to come back first';
    case 'poweringOff':
      return 'cutting its power: what waits for that is released when its device says off, and not before';
    case 'off':
      return 'at the point where its power is off, and its pods and volumes are released';
    case 'poweringOn':
      return 'switching it on again';
    case 'booting':
      return 'done with the cut: it was switched on, and has to boot';
    case 'recovering':
      return 'undoing what it did';
    case 'finished':
      return 'over';
    case 'failed':
      return 'in error: what waits for it is not released, and a person has to act';
  }
}
