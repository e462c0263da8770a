/**
 * What is said to people is cut where its schema ends: a sentence that is too long must not keep a record from being stored,
 * because without its record nothing is released and nothing is switched on again.
 *
 * Identifiers are bounded where they are read, never here: what is compared must not be cut on one side alone.
 */
import type { NodeFenceStatus } from './node-fence.ts';

/** For how many characters there is room; in a list, in each of its entries. */
export interface Room {
  readonly [field: string]: number | Room;
}

/** By hand, because whoever decides does not load the schemas; a test compares the two. */
export const STATUS_ROOM: Room = {
  incident: { trouble: 512 },
  fence: { waitsFor: 1024, message: 1024 },
  evidence: { detail: 512 },
  stuck: { message: 512 },
  return: { waitsFor: 512 },
  hold: { message: 1024, ends: 512, command: 512 },
  next: { what: 512 },
  request: { message: 512, trouble: 512 },
  rehearsal: { waitsFor: 1024, steps: { message: 1024 } },
  deeds: { on: 1024, why: 512, evidence: 1024, message: 512 },
  history: { message: 1024 },
  conditions: { message: 8192 },
};

export function fittingStatus(status: NodeFenceStatus): NodeFenceStatus {
  return fitting(status, STATUS_ROOM) as NodeFenceStatus;
}

export function fitting(value: unknown, room: number | Room): unknown {
  if (typeof room === 'number') return typeof value === 'string' ? cut(value, room) : value;
  if (Array.isArray(value)) return value.map((one) => fitting(one, room));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inside]) => {
      const known = room[key];
      return [key, known === undefined ? inside : fitting(inside, known)];
    }),
  );
}

/** The API server counts characters, not code units. */
function cut(text: string, length: number): string {
  const signs = text.length > length ? Array.from(text) : [];
  return signs.length > length ? `${signs.slice(0, length - 1).join('')}…` : text;
}
