/**
 * Whether it was the right machine that went dark (SAF-17). A device that cannot say whose power it is may be plugged into
 * another machine, whatever that one is fenced by: after it was switched off, every other node of the cluster has to show that it
 * lives. One that was silent before is accounted for if it has such a device as well, and that has said off since: then they are all
 * off, whoever is plugged in where. One that fell silent with the cut is not: its own device says off also where both lead to its
 * machine. Nobody is accounted for because its Node is gone, or because it was given up long ago: a machine may run without either.
 */
import { MAX_SILENT_BESIDE } from './fence-names.ts';
import type { NodeFenceStatus } from './node-fence.ts';
import type { NodeCase } from './release-view.ts';
import type { SilentNode } from './surroundings.ts';

export type Darkness =
  /** Somebody may still show that it lives; `needs`: what takes a person, because nobody knows whose power it was. */
  | { kind: 'open'; unheard: readonly string[]; untilMs: number; needs?: string }
  /** These fell silent with the cut. */
  | { kind: 'dark'; names: readonly string[] };

const namedAtMost = 3;

/** Undefined: it was the right one, as far as anybody can tell. */
export function darkBeside(nodeCase: Pick<NodeCase, 'beside' | 'fence'>): Darkness | undefined {
  const { beside, fence } = nodeCase;
  if (beside === undefined) return undefined;
  const { status } = fence ?? {};
  const dark = beside.silent.filter((one) => isFallen(one, status));
  if (dark.length > 0) return { kind: 'dark', names: namesOf(dark) };
  const needs = unaccounted(nodeCase);
  if (needs === undefined && beside.unheard === 0) return undefined;
  const open = { kind: 'open' as const, unheard: beside.names, untilMs: beside.settledAtMs };
  return needs === undefined ? open : { ...open, needs };
}

/** Why nobody can know which machine went dark, and how a person can end that; undefined: all are accounted for, or may be yet. */
export function unaccounted({ beside, fence }: Pick<NodeCase, 'beside' | 'fence'>): string | undefined {
  const { silent: all = [], present = Infinity } = beside ?? {};
  const silent = namesOf(all.filter(({ isOff }) => !isOff));
  if (silent.length > 0) {
    return `${silent.slice(0, namedAtMost).join(', ')} has not been heard of since, and no outlet of its own has said off since: nobody knows which of them went dark. ${lookAtIt}`;
  }
  const { count = 0 } = fence?.status.fence?.others ?? {};
  if (present >= count) return undefined;
  return `${count - present} of the ${count} other nodes that there were have no Node any more: their machines may run, or be the ones that went dark. ${lookAtIt}`;
}

export interface MadeNode {
  uid: string;
  /** When the API server says that it was made; NaN: it does not. */
  madeMs: number;
}

/**
 * Who was there when the others were counted. The API server says in whole seconds when a Node was made, and another one may have another
 * clock: what times do not tell is told by the UID.
 */
export function wereThere({ at, young = [] }: Counted): (node: MadeNode) => boolean {
  const atMs = Date.parse(at);
  const known = new Set(young);
  return ({ uid, madeMs }) => madeMs + 1000 <= atMs || known.has(uid);
}

interface Counted {
  at: string;
  young?: readonly string[] | undefined;
}

/** To delete a Node says nothing of its machine. */
const lookAtIt =
  'Look which machine is off. Bring the others back, or switch this one off and on by hand; do not delete a Node to end this';

/** Who has to be remembered when a command is sent: of those that Kubernetes misses, their Nodes say since when. */
export function silentNow({ silent }: { silent: readonly SilentNode[] }): string[] {
  return namesOf(silent.filter(({ unknownSince }) => unknownSince === undefined)).slice(0, MAX_SILENT_BESIDE);
}

function namesOf(nodes: readonly SilentNode[]): string[] {
  return nodes.map(({ name }) => name);
}

/** It was not silent when the first command was about to be sent; no: it was, or nobody has looked, or could write down who was. */
function isFallen({ name, unknownSince = '' }: SilentNode, status: NodeFenceStatus | undefined): boolean {
  const [first] = powerOf(status)
    .filter(({ commandSentAt }) => commandSentAt !== undefined)
    .toSorted((one, other) => Date.parse(one.commandSentAt ?? '') - Date.parse(other.commandSentAt ?? ''));
  const { commandSentAt = '', silentBeside } = first ?? {};
  if (silentBeside === undefined || silentBeside.length >= MAX_SILENT_BESIDE || silentBeside.includes(name))
    return false;
  return !(Date.parse(unknownSince) < Date.parse(commandSentAt));
}

function powerOf(status: NodeFenceStatus | undefined): NonNullable<NodeFenceStatus['fence']>['switched'] {
  return (status?.fence?.switched ?? []).filter(({ step }) => step === 'power-management');
}

export function wrongOutlet(names: readonly string[]): string {
  const who = names.slice(0, namedAtMost).join(', ');
  return `${who} fell silent when it was cut: the outlets may be swapped. Nothing is released; look which machine is plugged in where`;
}
