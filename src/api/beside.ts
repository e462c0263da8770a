/**
 * Whether it was the right machine that went dark (SAF-17). A device that cannot say whose power it is may be plugged into
 * another machine, whatever that one is fenced by: after it was switched off, every other node of the cluster has to show that it
 * lives. One that was silent before is accounted for if it has such a device as well, and that says off: then they are all off,
 * whoever is plugged in where. One that fell silent with the cut is not: its own device says off also where both lead to its machine.
 * One without any device is accounted for if it was gone long before all this.
 */
import { MAX_SILENT_BESIDE } from './fence-names.ts';
import type { NodeFenceStatus } from './node-fence.ts';
import type { NodeCase } from './release-view.ts';
import type { SilentNode } from './surroundings.ts';

export type Darkness =
  /** Somebody may still show that it lives; of those that are silent, nobody knows whose power it was. */
  | { kind: 'open'; silent: readonly string[]; unheard: readonly string[]; untilMs: number }
  /** These fell silent with the cut. */
  | { kind: 'dark'; names: readonly string[] };

const namedAtMost = 3;
/** What strikes one node after the other, such as a network that is failing, takes less. */
const longBeforeMs = 600_000;

/** Undefined: it was the right one, as far as anybody can tell. */
export function darkBeside({ beside, fence }: Pick<NodeCase, 'beside' | 'fence'>): Darkness | undefined {
  if (beside === undefined) return undefined;
  const { status } = fence ?? {};
  const silent = beside.silent.filter((one) => !one.isOff && !wasGone(one, status));
  const dark = beside.silent.filter((one) => isFallen(one, status));
  if (dark.length > 0) return { kind: 'dark', names: namesOf(dark) };
  if (silent.length === 0 && beside.unheard === 0) return undefined;
  return { kind: 'open', silent: namesOf(silent), unheard: beside.names, untilMs: beside.settledAtMs };
}

/** Who has to be remembered when a command is sent: of those that Kubernetes misses, their Nodes say since when. */
export function silentNow({ silent }: { silent: readonly SilentNode[] }): string[] {
  return namesOf(silent.filter(({ unknownSince }) => unknownSince === undefined)).slice(0, MAX_SILENT_BESIDE);
}

function namesOf(nodes: readonly SilentNode[]): string[] {
  return nodes.map(({ name }) => name);
}

/**
 * It may have been plugged in there all the same, and have hung for so long: that takes two mistakes and a coincidence, and without
 * this any dead Node that nobody deletes would hold every release. Where the outlet was off before we told it, it takes one.
 */
function wasGone({ hasDevice, unknownSince = '' }: SilentNode, status: NodeFenceStatus | undefined): boolean {
  if (hasDevice || powerOf(status).some(({ commandSentAt }) => commandSentAt === undefined)) return false;
  const begunAt = status?.incident?.startedAt ?? status?.fence?.startedAt ?? '';
  return Date.parse(unknownSince) < Date.parse(begunAt) - longBeforeMs;
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

/** What a release waits for, and how a person can end that. */
export function unproven(silent: readonly string[]): string {
  const who = silent.slice(0, namedAtMost).join(', ');
  return `${who} has not been heard of since, and no outlet of its own says off: nobody knows which of them went dark. Look at it: bring it back, switch its outlet off, or delete its Node`;
}
