/** How the process that rehearses is told what to rehearse: the order in one line of JSON, and then the cluster, one object a line. */
import type { Snapshot } from '../api/snapshot.ts';
import type { RehearsalWish } from './rehearsal-wish.ts';

export interface RehearsalOrder extends RehearsalWish {
  featureGates: Readonly<Record<string, boolean>>;
}

/** Behind what could not be read. */
export const LISTING = ' (it takes the right to list them: docs/install.md#rights-of-people)';

type Line = [part: string, value: unknown, isText?: true];

export function* linesOf(snapshot: Snapshot): Generator<string> {
  for (const [part, value] of Object.entries(snapshot) as [string, unknown][]) {
    const all: Line[] = Array.isArray(value) ? value.map((one: unknown) => [part, one]) : [[part, value, true]];
    for (const line of all) yield JSON.stringify(line);
  }
}

const parts = {
  nodes: [],
  pods: [],
  sets: [],
  claims: [],
  volumes: [],
  classes: [],
  drivers: [],
  budgets: [],
  policies: [],
  maps: [],
  devices: [],
  replicas: [],
  unread: [],
} satisfies Record<Exclude<keyof Snapshot, 'takenAt'>, []>;

export async function snapshotIn(lines: AsyncIterable<string>): Promise<Snapshot> {
  const lists = new Map(Object.keys(parts).map((part) => [part, [] as unknown[]]));
  let takenAt = '';
  for await (const line of lines) {
    const [part, value, isText] = JSON.parse(line) as Line;
    if (isText === true) takenAt = String(value);
    else lists.get(part)?.push(value);
  }
  return { takenAt, ...Object.fromEntries(lists) } as unknown as Snapshot;
}
