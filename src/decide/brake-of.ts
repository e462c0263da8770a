/** What holds back a remedy that cannot be taken back: the brake over all nodes, and a person who has not approved. */
import { clockTime } from '../api/facts.ts';
import { isRenewing } from '../api/life.ts';
import { DEFAULT_FENCE, DEFAULT_STORM } from '../api/policy-facts.ts';
import type { HELD } from '../api/reasons.ts';
import type { NodeCase, PresentCase } from '../api/release-view.ts';
import { powerSays } from '../fence/belief.ts';
import type { Spell } from '../release/patience.ts';
import { leftToOthers, othersUnknown, patienceWith } from '../release/patience.ts';
import {
  cooldownBrake,
  isStorm,
  lookAround,
  othersInTrouble,
  ownBrake,
  quorumBrake,
  skipFor,
  slotBrake,
  stormBrake,
} from '../judge/storm.ts';
import type { StormLimits } from '../judge/storm.ts';
import { ownSilence } from '../judge/standpoint.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { wasMade } from './jobs.ts';
import { ladderKey, remedyOf, taskOf } from './of-case.ts';
import { quietOf } from './silence.ts';

/** Why nothing begins just now. */
export interface RemedyHold {
  reason: keyof (typeof HELD)['reason'];
  message: string;
  /** By the API server's clock: when to look again, though nobody tells. */
  recheckAtMs?: number;
  /** When it ends by itself at the latest. */
  untilMs?: number;
}

/** What is about to begin. */
export interface Harsh {
  kind: 'fence' | 'remedy';
  /** What it is for; absent: no threshold of the policy. */
  threshold?: string | undefined;
  /** By a person, not by a ladder. */
  isRequested?: boolean;
  /** It cuts something, which others may have plans with, or nothing may be gained by; absent: it does not. */
  spell?: Spell | undefined;
}

/** Where no policy and no person wants it: nothing begins. */
const nobodyWants = { ...DEFAULT_STORM, maxUnresponsive: 0 };

export function brakeOf(nodeCase: NodeCase, harsh: Harsh): RemedyHold | undefined {
  const { trouble, count, serverNowMs: nowMs, name, node } = nodeCase;
  const { kind, threshold, isRequested = false, spell } = harsh;
  const storm = remedyOf(nodeCase)?.storm ?? (isRequested ? DEFAULT_STORM : nobodyWants);
  const unapproved = approvalHold(nodeCase);
  if (unapproved !== undefined) return unapproved;
  // Whether anything would be gained is not known of a node whose pods nobody has read; before anything is done they are.
  const isPatient = node !== undefined && spell !== undefined && !isRequested && nodeCase.isUnread !== true;
  return (
    (isRequested ? undefined : leftToOthers(nodeCase)) ??
    skipFor(name, storm.skipWhen ?? [], trouble.conditions) ??
    crowdBrake(nodeCase, storm, threshold) ??
    (isRequested ? undefined : (returning(nodeCase) ?? sideBrake(nodeCase))) ??
    (kind === 'fence' && !isRequested ? lookAround(settling(nodeCase), nowMs) : undefined) ??
    (isRequested ? undefined : othersUnknown(nodeCase)) ??
    (isPatient ? patienceWith({ ...nodeCase, node }, spell) : undefined) ??
    (kind === 'fence' && !isRequested ? refusedBrake(nodeCase) : undefined) ??
    cooldownBrake(storm, count, nowMs) ??
    slotBrake(storm, count, kind) ??
    ownBrake(nodeCase.own, othersFirst(nodeCase, threshold), othersUntilMs(nodeCase))
  );
}

/** Who is not judged yet is by then; nobody tells. */
const judgedWithinMs = 1000;

function crowdBrake(
  { count, serverNowMs: nowMs }: NodeCase,
  storm: StormLimits,
  threshold: string | undefined,
): RemedyHold | undefined {
  const brake = quorumBrake(count) ?? stormBrake(storm, count, threshold);
  const isOpen = count.unjudged > 0 && !isStorm(storm, count, threshold);
  return brake !== undefined && isOpen ? { ...brake, recheckAtMs: nowMs + judgedWithinMs } : brake;
}

/** A kubelet reports every ten seconds; and a node that has booted takes some more until its network is there. */
const readyWithinMs = 60_000;

/** It was silent, and renews its Lease again: whatever a cut was for is over, or will be in a moment (SAF-8). */
function returning({ node, lease, serverNowMs: nowMs }: NodeCase): RemedyHold | undefined {
  if (lease?.backForMs === undefined || lease.backForMs >= readyWithinMs) return undefined;
  if (node?.ready === 'True' || !isRenewing(lease)) return undefined;
  const untilMs = nowMs - lease.backForMs + readyWithinMs;
  const message = `its kubelet renews its Lease again: it has until ${clockTime(untilMs)} to be Ready`;
  return { reason: 'ComingBack', message, recheckAtMs: untilMs, untilMs };
}

/** What is silent may be well, where our own node is silent too: that has the time of a boot, from the beginning of this trouble. */
function sideBrake(nodeCase: NodeCase): RemedyHold | undefined {
  const { name, count, trouble, serverNowMs: nowMs } = nodeCase;
  if (trouble.leaseSilentMs === undefined) return undefined;
  const { bootTimeoutMs } = remedyOf(nodeCase)?.fence ?? DEFAULT_FENCE;
  const { incident } = nodeCase.fence?.status ?? {};
  const startedMs = incident === undefined ? nowMs : Date.parse(incident.startedAt);
  return ownSilence(count, { name, nowMs, untilMs: startedMs + bootTimeoutMs });
}

/** Where nothing is tried any more, nobody knows by then what would be answered. */
const refusalLastsMs = 60_000;
/** Whoever has taken over has tried by then. */
const triesWithinMs = 1000;

/**
 * What the API server does not let go from a machine that is on would not go from one that is off either: a cut would free nothing. It
 * is tried on, and over when something goes. Whoever takes over has not tried yet: what was said before holds for that one pass.
 */
function refusedBrake(nodeCase: NodeCase): RemedyHold | undefined {
  const { refused, fence, identity, serverNowMs: nowMs } = nodeCase;
  if (cutsStorageNext(nodeCase)) return undefined;
  if (refused !== undefined) {
    const message = `nothing would be freed by a cut: ${refused.message}`;
    return { reason: 'ReleaseRefused', message, recheckAtMs: nowMs + refusalLastsMs };
  }
  const { hold, holder } = fence?.status ?? {};
  if (hold?.reason !== 'ReleaseRefused' || holder === identity) return undefined;
  return { reason: hold.reason, message: hold.message, recheckAtMs: nowMs + triesWithinMs };
}

const beforePower: ReadonlySet<string | undefined> = new Set([undefined, 'waiting', 'isolating', 'failed']);

/**
 * What cuts a node off from its storage is let go on: where its record was lost, that it was cut off before is found out by it, and by
 * nothing else while no quarantine can be put there (RET-2).
 */
function cutsStorageNext({ fence, config }: NodeCase): boolean {
  return config.ok && config.config.isolation.length > 0 && beforePower.has(fence?.status.fence?.phase);
}

/** The API server tells the time in whole seconds, and a pass comes at any moment between: by so much it is the same end. */
const sameEndMs = 2000;

/** When it is known of all others is counted anew in each pass; what is on record of the same silence stands, and is not written again. */
function settling({ around, fence }: NodeCase): NodeCase['around'] {
  const { reason, until = '' } = fence?.status.hold ?? {};
  const saidMs = reason === 'LookingAround' ? Date.parse(until) : NaN;
  const isSame = around !== undefined && Math.abs(around.settledAtMs - saidMs) <= sameEndMs;
  return isSame ? { ...around, settledAtMs: saidMs } : around;
}

/** When nothing else holds it back any more, nothing may hold others back either: so long they have to be begun. */
const othersTurnMs = 60_000;

/**
 * Others who are in trouble have the time of a boot, counted from the beginning of its own trouble and from each step of a fence of
 * theirs, which whoever leads next may run on; and their turn. It does not wait for ever.
 */
function othersUntilMs(nodeCase: NodeCase): number {
  const { serverNowMs: nowMs, count } = nodeCase;
  const { bootTimeoutMs } = remedyOf(nodeCase)?.fence ?? DEFAULT_FENCE;
  const { incident, hold } = nodeCase.fence?.status ?? {};
  const startedMs = incident === undefined ? nowMs : Date.parse(incident.startedAt);
  const heldMs = hold?.reason === 'OwnNode' ? Date.parse(hold.since) : nowMs;
  return Math.max(heldMs + othersTurnMs, Math.max(startedMs, count.fencedAtMs ?? startedMs) + bootTimeoutMs);
}

function othersFirst(nodeCase: NodeCase, threshold: string | undefined): number {
  return nodeCase.serverNowMs < othersUntilMs(nodeCase) ? othersInTrouble(nodeCase.count, threshold) : 0;
}

/** Nothing holds it back but where we run: whoever leads next may go on. */
export function handsOver(nodeCase: NodeCase, { hold, ladder }: { hold?: RemedyHold; ladder?: LadderState }): boolean {
  if (hold?.reason === 'OwnNodeSilent') return nodeCase.count.standpoint?.silent?.handOver === 'possible';
  if (hold?.reason !== 'OwnNode' || nodeCase.own?.handOver !== 'possible') return false;
  return othersFirst(nodeCase, ladder?.threshold) === 0;
}

/** Nothing is cut where nothing runs: what is found off is only let go, whatever holds cuts back but a person (STM-1). */
export function isFoundOff(nodeCase: NodeCase): boolean {
  return approvalHold(nodeCase) === undefined && powerSays(nodeCase).says === 'off';
}

function approvalHold({ policy, fence }: NodeCase): RemedyHold | undefined {
  if (policy.kind !== 'one' || policy.policy.mode !== 'Approve') return undefined;
  const { approval, incident } = fence?.status ?? {};
  if (approval !== undefined && approval.incident === incident?.id) return undefined;
  return { reason: 'AwaitingApproval', message: `policy ${policy.policy.name} waits for the approval of a person` };
}

/**
 * Too many nodes are in trouble, by what its policy allows: it is on record for when it is over. Nodes that nobody has judged yet begin
 * none; nor do they end one: whoever takes over would forget who was in it. Nor does a policy that is away, as while it is applied
 * anew: that says nothing of the switch that all these nodes are behind.
 */
export function isInStorm(nodeCase: NodeCase, ladder: LadderState | undefined): boolean {
  const { count } = nodeCase;
  const remedy = remedyOf(nodeCase);
  if (count.storm === undefined) return remedy !== undefined && isStorm(remedy.storm, count, ladder?.threshold);
  return stormBrake(remedy?.storm ?? DEFAULT_STORM, count, ladder?.threshold) !== undefined;
}

/** What cannot be taken back: it waits for a person, and for a storm to pass, as a fence does. */
const harshKinds: ReadonlySet<string> = new Set(['podTemplate', 'drain', 'deleteMachine']);

export function isHarshRung(ladder: LadderState | undefined, kind: string | undefined): ladder is LadderState {
  return ladder?.phase === 'running' && harshKinds.has(kind ?? '');
}

/** Why such a remedy does not begin just now; one that was begun goes on, and so does what brings a node back. */
export function harshHold(
  nodeCase: PresentCase,
  ladder: LadderState | undefined,
  kind: string | undefined,
): RemedyHold | undefined {
  if (!isHarshRung(ladder, kind)) return undefined;
  const isBegun = taskOf(nodeCase, ladderKey(ladder)) !== undefined || wasMade(nodeCase, ladder);
  if (isBegun) return undefined;
  const spell = kind === 'deleteMachine' ? machineSpell(nodeCase, ladder) : undefined;
  return brakeOf(nodeCase, { kind: 'remedy', threshold: ladder.threshold, spell });
}

/** Before its machine is removed it was cut, and had the time of a boot: counted from the beginning of the trouble. */
export function machineSpell(nodeCase: NodeCase, { startedAt }: LadderState): Spell {
  return spellOf(nodeCase, Date.parse(nodeCase.fence?.status.incident?.startedAt ?? startedAt));
}

/** Since when a cut has been called for; one that was back meanwhile, as far as anybody knows, has had nothing of its time since. */
export function spellOf(nodeCase: NodeCase, calledMs: number): Spell {
  const { bootTimeoutMs } = remedyOf(nodeCase)?.fence ?? DEFAULT_FENCE;
  const quiet = quietOf(nodeCase);
  const heardMs = Math.max(calledMs, quiet?.sinceMs ?? calledMs);
  return { sinceMs: quiet?.isAlive === false ? heardMs : calledMs, heardMs, bootTimeoutMs };
}
