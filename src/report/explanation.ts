/** What an explanation of a node is made from, and what it says: the words that making and writing it share. */
import type { Advice, Command, Names } from '../api/advice.ts';
import { commandsOf, filledSentence } from '../api/advice.ts';
import { clockTime, isUnderFence } from '../api/facts.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { SeenPause } from '../api/seen-pause.ts';
import type { LadderThreshold, PolicyFacts } from '../api/release-view.ts';
import type { EvidenceItem, Judgement, NodeCondition, NodeFacts, Verdict } from '../api/view.ts';
import type { DrainState } from './drain-status.ts';

/** What the command has read. */
export interface Known {
  node: string;
  /** By the API server's clock. */
  atMs: number;
  /** Of one look. */
  judgement: Judgement;
  /** Absent: there is no Node object. */
  facts?: NodeFacts;
  /** Absent: no policy selects it. */
  policy?: PolicyFacts;
  /** Absent: the operator has never had a reason to make one. */
  record?: Pick<NodeFence, 'spec' | 'status'>;
  /** A storm that it is in, by the record of one of those who have it on record; absent: its own record says all. */
  storm?: { node: string; hold: NonNullable<NodeFence['status']['hold']> };
  devices: readonly KnownDevice[];
  operator: Leader;
  /** Of a cordoned node under a DrainPolicy. */
  drain?: DrainState;
  /** Absent: whether everything is paused could not be read. */
  pause?: SeenPause;
  /** By what is written on it, and has not passed. */
  leftAlone: readonly LeftAlone[];
  /** Takes the pauses that have a name away, as kubectl has it. */
  unpause?: string | undefined;
  /** What is written on it that nobody reads. */
  meaningless: readonly string[];
  /** A taint of an administrator says that its machine is off; and what takes it away. */
  outOfService?: { message: string; command: string } | undefined;
  /** What the user may not read, and is therefore not told of. */
  unread: readonly string[];
  /** Another operator leads as well, and what that means. */
  rivals?: string;
  /** That of the operator. */
  namespace: string;
}

export interface LeftAlone {
  reason: 'Maintenance' | 'NamedPause';
  message: string;
  /** Absent: what is written is no time, and holds until it is mended. */
  untilMs?: number;
}

export interface KnownDevice {
  name: string;
  status: FenceDeviceStatus;
  /** Somebody has shown whose port it is. */
  isShown?: boolean;
}

/** Who decides. Without a leader, what is on record is what the last one has left. */
export type Leader =
  | { leads: 'yes'; holder: string }
  /** `unable`: why the last one gave the lead up. */
  | { leads: 'no'; holder: string; since: string; unable?: string }
  | { leads: 'nobody' }
  | { leads: 'unknown'; message: string };

export interface Wait {
  reason: string;
  message: string;
  since?: string | undefined;
  until?: string | undefined;
  ends: string;
}

export interface ExplainedEvidence {
  /** It was so when the trouble began, and may be otherwise now. */
  isPast?: true;
  source: EvidenceItem['source'] | NodeFenceStatus['evidence'][number]['source'] | 'Device' | 'Boot';
  says: string;
  detail: string;
  at: string;
  by?: string;
}

export interface Explanation {
  node: string;
  at: string;
  /** The whole in one sentence. */
  summary: string;
  /** Whether whoever reads this has to do something. */
  yours: string;
  policy?: { name: string; mode: string };
  operator: Leader;
  /** What somebody has to know who reads the rest: what could not be read, and who else acts here. */
  warnings: string[];
  verdict: {
    is: Verdict;
    reason: string;
    explanation: string;
    /** `record`: the operator has decided it; `look`: there is no open record, and this command has looked once. */
    from: 'record' | 'look';
    evidence: ExplainedEvidence[];
  };
  trouble?: { what: string; since: string; incident: string };
  /** Why it is not done, or not over, yet. */
  waits: Wait[];
  released: { at: string; basis: string; by?: string; pods: number; ended: boolean }[];
  /** Under `mode: DryRun`. */
  rehearsed: { at: string; reason: string; message: string }[];
  /** `after`: once this hold is over, `at` the latest. */
  next?: { what: string; at?: string; after?: string };
  /** What would change this. */
  changes: string[];
  commands: Command[];
}

/** Wait and what can be typed about it. */
export interface Advised {
  wait: Wait;
  commands: Command[];
  /** Nothing else helps before that. */
  comesFirst?: true;
}

/** Somebody decides. Where that cannot be found out, the record is taken at its word. */
export function isLed({ operator: { leads } }: Pick<Known, 'operator'>): boolean {
  return leads !== 'no' && leads !== 'nobody';
}

export function isGone({ judgement }: Pick<Known, 'judgement'>): boolean {
  return judgement.reason === 'NodeGone';
}

/** Its incident is open: the operator attends to it, and its verdict is on record. */
export function isAttended({ record }: Pick<Known, 'record'>): boolean {
  return record?.status.incident !== undefined;
}

/** Of a machine that its own fence has just switched off, Kubernetes says for a while that it is Ready. */
export function isBack({ record }: Pick<Known, 'record'>): boolean {
  const { return: back, fence } = record?.status ?? {};
  return back?.stage !== undefined && !isUnderFence(fence);
}

/** Nothing is begun meanwhile; what was begun is brought to its end, and nobody is told that it is held. */
export function leftAloneBy({ leftAlone, record }: Known): readonly LeftAlone[] {
  return isUnderFence(record?.status.fence) ? [] : leftAlone;
}

/** What the Node reports, Ready apart, for which its policy has a remedy. For how long is counted by the operator alone. */
export function reportedTrouble({ facts, policy }: Known): (NodeCondition & { threshold: LadderThreshold })[] {
  return (policy?.remedy?.thresholds ?? []).flatMap((threshold) => {
    const { type, status } = threshold.condition ?? {};
    const found = facts?.conditions.find((one) => one.type === type && one.type !== 'Ready');
    if (found === undefined) return [];
    const isMet = status === 'NotTrue' ? found.status !== 'True' : found.status === status;
    return isMet ? [{ ...found, threshold }] : [];
  });
}

export function fences(policy: PolicyFacts | undefined): boolean {
  return Object.values(policy?.remedy?.kinds ?? {}).includes('fence');
}

export function isMaintained(known: Known): boolean {
  return leftAloneBy(known).some(({ reason }) => reason === 'Maintenance');
}

export function namesOf({ node, policy, namespace, record, unpause, storm, leftAlone }: Known): Names {
  const { incident, fence } = record?.status ?? {};
  const other = fence?.swapped?.[0] ?? storm?.node;
  return { node, policy: policy?.name, namespace, incident: incident?.id, unpause, other, later: laterThan(leftAlone) };
}

const longerMs = 7_200_000;

/** Undefined: nobody has left it alone, or it has no end that could be put off. */
function laterThan(leftAlone: readonly LeftAlone[]): string | undefined {
  const ends = leftAlone.map(({ untilMs }) => untilMs);
  const last = Math.max(...ends.map((untilMs = Infinity) => untilMs));
  return ends.length === 0 || last === Infinity ? undefined : clockTime(last + longerMs);
}

export function advised(wait: Omit<Wait, 'ends'>, advice: Advice, names: Names): Advised {
  return { wait: { ...wait, ends: filledSentence(advice.ends, names) }, commands: commandsOf(advice, names) };
}
