/** What is asked of whoever reads an explanation, before anything else: to act, to decide, to look, or nothing. */
import { HELD, WRONG } from '../api/reasons.ts';
import { isUnderFence } from '../api/facts.ts';
import type { Advised, Known, Wait } from './explanation.ts';
import { isBack, isGone, isLed } from './explanation.ts';
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
  if (!isOpen && isWell)
    return ofWell(
      needs,
      asWished,
      waits.some(({ wait }) => wait.reason === 'Threshold'),
    );
  if (!isOpen && policy === undefined) return unselected;
  const need = needs.find(({ reason, isUrgent }) => !wished.has(reason) && (isUrgent === true || wrong.has(reason)));
  if (need?.reason === HELD.reason.AwaitingApproval) {
    return 'have to decide: it waits for your approval; first find out whether somebody has switched it off, or works on it';
  }
  const taken = waits.find(({ wait }) => wait.reason === 'TakenUp')?.wait;
  if (taken !== undefined && isWell) {
    const lapses = taken.until === undefined ? '' : `; it lapses at ${seconds(taken.until)}`;
    return `have to decide: ${taken.message}${lapses}; take it back if nobody wants it any more`;
  }
  if (need !== undefined) return `have to act: nothing ends this by itself${first(need)}`;
  if (fence?.waitsFor !== undefined) {
    const before = stuck.length === 0 ? '' : '; but first its pods have to go, see below';
    return `have to act: ${fence.waitsFor}${before}`;
  }
  if (asWished !== undefined && !isUnderFence(fence)) {
    const end = asWished.until === undefined ? '' : `; it ends by itself at ${seconds(asWished.until)}`;
    return `have to decide: somebody has wished that nothing is done; find out whether that still holds${end}`;
  }
  if (hold !== undefined && storms.has(hold.reason)) {
    return 'have to look whether a network, a switch or the power of many has failed: it waits until that is over';
  }
  if (fence?.phase === 'poweringOff' && fence.retries > 0) {
    return 'have to look at its device, which does not do what it is told; it is tried again meanwhile, and nothing is released by it';
  }
  if (hold?.until !== undefined && patient.has(hold.reason)) {
    const end = seconds(hold.until);
    return hold.reason === HELD.reason.KubeletDown
      ? `have to start its kubelet on the machine before ${end}: its pods run on, and its power is cut then`
      : `nothing to do if it is back by ${end}: its power is cut then`;
  }
  if (!isBack(known) && !isUnderFence(fence) && policy === undefined) return unselected;
  const at = next?.at ?? hold?.until;
  return at === undefined ? byItself : `${byItself}, by ${seconds(at)} at the latest; look again then`;
}

const unselected =
  'have to decide: no policy selects it, and nobody else does anything about it; begin with: kubectl get remedypolicies';

function seconds(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

function first({ command }: Need): string {
  return command === undefined ? '' : `; begin with: ${command.command}`;
}

function ofWell(needs: readonly Need[], asWished: Wait | undefined, isReported: boolean): string {
  const [need] = needs;
  if (isReported) return 'nothing to do, if you want what its policy is about to do (below): its power may be cut then';
  const why = need?.reason ?? asWished?.reason;
  return why === undefined ? 'nothing to do' : `nothing to do now; before its next outage see to this: ${why}`;
}
