/**
 * An incident as a picture of time: what was heard, asked, held, done, what became of its workloads and of its machine, each as
 * marks on one axis. Everything in it is on record, or was seen by whoever watches; nothing is judged here.
 */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { KnownDevice } from './explanation.ts';

export const LANES = ['heard', 'asked', 'held', 'done', 'workloads', 'machine'] as const;
export type Lane = (typeof LANES)[number];

/** What a mark looks like. Colour alone says nothing: each has a pattern of its own as well. */
export type MarkKind = 'alive' | 'silent' | 'said' | 'waits' | 'act' | 'freed' | 'off' | 'coming' | 'bad';

export interface Mark {
  lane: Lane;
  kind: MarkKind;
  from: string;
  /** Absent: a moment; or, if it is open, it goes on. */
  to?: string;
  open?: true;
  /** On the bar. */
  label: string;
  /** What it rests on, in a sentence. */
  text: string;
  /** Where that is written. */
  source: string;
  /** Marks of one row share a line of their lane; absent: wherever there is room. */
  row?: string;
}

export interface Part {
  what: string;
  ms: number;
}

export interface Timeline {
  id: string;
  node: string;
  trouble: string;
  /** The left end of the picture. */
  from: string;
  startedAt: string;
  /** Absent: it is open. */
  endedAt?: string;
  marks: Mark[];
  /** What comes next, and when, as far as that is known. */
  next?: { what: string; at?: string };
  /** How long its workloads were away, and with what that time was spent. Absent: none was, or that is not known. */
  total?: { ms: number; isOver: boolean; parts: Part[] };
}

/** A pod that was on the node when it failed, and what became of it. */
export interface Workload {
  pod: string;
  /** When it was let go, where it was. */
  goneAt?: string;
  /** Its successor. */
  runs?: { node: string; since: string };
}

/** Why something was held back, and until when, as whoever watches has seen it. */
export interface SeenHold {
  reason: string;
  message: string;
  since: string;
  endedAt?: string;
}

/** All that a picture is made from. */
export interface Chronicle {
  node: string;
  status: NodeFenceStatus;
  nowMs: number;
  devices: readonly KnownDevice[];
  workloads: readonly Workload[];
  /** Since when it was silent, if that is not on record any more. */
  silentSince?: string;
  /** When its trouble went away, if that is not on record any more. */
  clearedAt?: string;
  holds: readonly SeenHold[];
}

type HistoryEntry = NodeFenceStatus['history'][number];

/** One incident, as far as the history goes back. */
export interface Spell {
  id: string;
  trouble: string;
  startedAt: string;
  endedAt?: string;
  entries: HistoryEntry[];
}

/** Those on record, the latest first. */
export function spellsOf(node: string, { history, incident }: Pick<NodeFenceStatus, 'history' | 'incident'>): Spell[] {
  const begins = history.flatMap(({ reason }, at) => (reason === 'Incident' ? [beginOf(history, at)] : []));
  const spells = begins.map((begin, at) => spellOf(node, history.slice(begin, begins[at + 1])));
  // Its beginning may have gone from the history, which is bounded.
  const isKnown = incident === undefined || spells.some(({ startedAt }) => startedAt === incident.startedAt);
  if (!isKnown) spells.push(openSpell(incident, history));
  return spells
    .map((spell) => (spell.startedAt === incident?.startedAt ? { ...spell, id: incident.id } : spell))
    .toReversed();
}

/** What is decided in the same moment is written before it. */
function beginOf(history: readonly HistoryEntry[], at: number): number {
  let begin = at;
  while (begin > 0 && history[begin - 1]?.at === history[at]?.at && history[begin - 1]?.reason !== 'BackInService') {
    begin -= 1;
  }
  return begin;
}

function spellOf(node: string, entries: HistoryEntry[]): Spell {
  const first = entries.find(({ reason }) => reason === 'Incident');
  const last = entries.find(({ reason }) => reason === 'BackInService');
  const startedAt = first?.at ?? '';
  return {
    id: `${node}-${startedAt.replaceAll(/[^0-9]/g, '')}`.slice(-64),
    trouble: first?.message ?? '',
    startedAt,
    ...(last === undefined ? {} : { endedAt: last.at }),
    entries,
  };
}

function openSpell(
  { id, trouble, startedAt }: NonNullable<NodeFenceStatus['incident']>,
  history: readonly HistoryEntry[],
): Spell {
  return { id, trouble, startedAt, entries: history.filter(({ at }) => Date.parse(at) >= Date.parse(startedAt)) };
}
