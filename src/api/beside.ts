/**
 * Whether it was the right machine that went dark (SAF-17). A device that cannot say whose power it is may be plugged into
 * another machine, whatever that one is fenced by: after it was switched off, every other node of the cluster has to show that it
 * lives. One that was silent before is accounted for if it has such a device as well, and that says off: then they are all off,
 * whoever is plugged in where. One that fell silent with the cut is not: its own device says off also where both lead to its machine.
 */
import type { NodeCase } from './release-view.ts';

export type Darkness =
  /** Somebody may still show that it lives; of those that are silent, nobody knows whose power it was. */
  | { kind: 'open'; silent: readonly string[]; unheard: readonly string[]; untilMs: number }
  /** These fell silent with the cut. */
  | { kind: 'dark'; names: readonly string[] };

const namedAtMost = 3;

type Switched = {
  step: string;
  commandSentAt?: string | undefined;
  silentBeside?: readonly string[] | undefined;
};

/** Undefined: it was the right one, as far as anybody can tell. */
export function darkBeside({ beside, fence }: Pick<NodeCase, 'beside' | 'fence'>): Darkness | undefined {
  if (beside === undefined) return undefined;
  const silent = beside.silent.filter(({ isOff }) => !isOff).map(({ name }) => name);
  const before = silentBefore(fence?.status.fence?.switched ?? []);
  const dark = beside.silent.map(({ name }) => name).filter((name) => before?.includes(name) === false);
  if (dark.length > 0) return { kind: 'dark', names: dark };
  if (silent.length === 0 && beside.unheard === 0) return undefined;
  return { kind: 'open', silent, unheard: beside.names, untilMs: beside.settledAtMs };
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

/** Who was silent when the first command was about to be sent; undefined: none was, or nobody has looked. */
function silentBefore(switched: readonly Switched[]): readonly string[] | undefined {
  const [first] = switched
    .filter(({ step, commandSentAt }) => step === 'power-management' && commandSentAt !== undefined)
    .toSorted((one, other) => Date.parse(one.commandSentAt ?? '') - Date.parse(other.commandSentAt ?? ''));
  return first?.silentBeside;
}
