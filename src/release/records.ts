/**
 * What is on record of releases. The record of a basis is written before anything goes on it, and kept for as long as what it let go may
 * still run: in the boot that it was written in nothing of it is forgotten, because who comes back is asked after all of it (SAF-4).
 */
import { MAX_RELEASED_PODS, MAX_RELEASES } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { AttachmentFacts, NodeCase, PodFacts } from '../api/release-view.ts';
import { clockTime, nameInUse } from '../api/facts.ts';
import { hiddenForSeconds, unseenVolume } from '../api/unseen.ts';
import { budgetsAgainst } from './budgets.ts';
import { ways } from './release-node.ts';
import type { Going, Way } from './way.ts';

/** What goes in one way. */
export interface Group {
  way: Way;
  goings: readonly Going[];
  pods: PodFacts[];
  volumes: string[];
  entries: string[];
  attachments: AttachmentFacts[];
}

/** What goes together: a pod with its volumes, or a volume that nobody uses any more. */
interface Share {
  pods: PodFacts[];
  volumes: string[];
  entries: string[];
  attachments: string[];
}

const lists = ['pods', 'attachments', 'volumes', 'freed'] as const;

/**
 * One record for each basis, author and boot; what joins later is added to it, and what does not fit gets another. Answers with
 * those that something was added to.
 */
export function recorded(nodeCase: NodeCase, group: Group, records: ReleaseRecord[], epoch: number): ReleaseRecord[] {
  const blank = blankFor(nodeCase, group.way, epoch);
  const isOpen = (record: ReleaseRecord): boolean => record.endedAt === undefined && isAlike(record, blank);
  const overruled = group.pods.flatMap((pod) => budgetsAgainst(nodeCase, pod));
  return [...placed(sharesOf(group), records, { blank, isOpen })].map(([index, share]) => {
    const before = records[index] ?? blank;
    const budgets = union(before.budgets ?? [], overruled).slice(0, MAX_RELEASED_PODS);
    const record = { ...joined(nodeCase, before, share), ...(budgets.length === 0 ? {} : { budgets }) };
    records[index] = record;
    return record;
  });
}

function sharesOf({ goings, volumes, entries, attachments }: Group): Share[] {
  const of = (names: readonly string[]): string[] =>
    attachments.filter(({ volume }) => names.includes(volume)).map(({ name }) => name);
  const shares = goings.map(({ pod, frees }: Going): Share => {
    const names = frees.map(({ volume }) => volume);
    return {
      pods: [pod],
      volumes: names,
      entries: frees.flatMap((volume) => nameInUse(volume) ?? []),
      attachments: of(names),
    };
  });
  const known = new Set(shares.flatMap((share) => [...share.volumes, ...share.entries]));
  const unused = volumes.filter((volume) => !known.has(volume));
  const left = entries.filter((entry) => !known.has(entry));
  return [
    ...shares,
    ...unused.map((volume) => ({ pods: [], volumes: [volume], entries: [], attachments: of([volume]) })),
    ...left.map((entry) => ({ pods: [], volumes: [], entries: [entry], attachments: [] })),
  ];
}

/** Which record takes what, by its place; a new one has the next. A pod that is on record stays where it is. */
function placed(
  shares: readonly Share[],
  records: readonly ReleaseRecord[],
  { blank, isOpen }: { blank: ReleaseRecord; isOpen: (record: ReleaseRecord) => boolean },
): Map<number, Share> {
  const open = records.flatMap((record, index) => (isOpen(record) ? [{ index, room: new Room(record) }] : []));
  let next = records.length;
  const places = new Map<number, Share>();
  for (const share of shares) {
    let place = open.find(({ room }) => room.has(share)) ?? open.find(({ room }) => room.isFor(share));
    if (place === undefined) {
      place = { index: next, room: new Room(blank) };
      next += 1;
      open.push(place);
    }
    const { index, room } = place;
    const before = places.get(index) ?? { pods: [], volumes: [], entries: [], attachments: [] };
    places.set(index, {
      pods: [...before.pods, ...share.pods.filter(({ uid }) => !room.pods.has(uid))],
      volumes: [...before.volumes, ...share.volumes],
      entries: [...before.entries, ...share.entries],
      attachments: [...before.attachments, ...share.attachments],
    });
    room.take(share);
  }
  return places;
}

/** What is in a record, and what else goes into it. */
class Room {
  readonly pods: Set<string>;
  readonly #volumes: Set<string>;
  readonly #freed: Set<string>;
  readonly #attachments: Set<string>;

  constructor({ pods, volumes, freed, attachments }: ReleaseRecord) {
    this.pods = new Set(pods.map(({ uid }) => uid));
    this.#volumes = new Set(volumes);
    this.#freed = new Set(freed);
    this.#attachments = new Set(attachments);
  }

  #pairs(share: Share): [Set<string>, readonly string[]][] {
    return [
      [this.pods, share.pods.map(({ uid }) => uid)],
      [this.#volumes, share.volumes],
      [this.#freed, share.entries],
      [this.#attachments, share.attachments],
    ];
  }

  /** Its pod, with room for what it has beside. */
  has(share: Share): boolean {
    const [pod] = share.pods;
    return pod !== undefined && this.pods.has(pod.uid) && this.isFor(share);
  }

  isFor(share: Share): boolean {
    return this.#pairs(share).every(([names, more]) => new Set([...names, ...more]).size <= MAX_RELEASED_PODS);
  }

  take(share: Share): void {
    for (const [names, more] of this.#pairs(share)) for (const name of more) names.add(name);
  }
}

function blankFor(nodeCase: NodeCase, { name, basis, podStays, by }: Way, epoch: number): ReleaseRecord {
  const author = by(nodeCase);
  const bootId = bootOf(nodeCase);
  return {
    way: name,
    basis,
    ...(author === undefined ? {} : { by: author }),
    nodeUid: nodeCase.node?.uid ?? nodeCase.fence?.status.incident?.nodeUid ?? '',
    ...(bootId === undefined ? {} : { bootId }),
    epoch,
    recordedAt: clockTime(nodeCase.serverNowMs),
    podsStay: podStays,
    pods: [],
    attachments: [],
    volumes: [],
    freed: [],
  };
}

/** `pods` of the share: those that are new. */
function joined(nodeCase: NodeCase, before: ReleaseRecord, share: Share): ReleaseRecord {
  const now = clockTime(nodeCase.serverNowMs);
  const added = share.pods;
  const pods = [...before.pods, ...added.map((pod) => released(nodeCase, pod))];
  const freed = union(before.freed, share.entries);
  const attachments = union(before.attachments, share.attachments);
  const { podsGoneAt, freedAt: _, ...open } = before;
  // What a pod that stayed has used until now can be detached from now on, and has as long for that as the rest had (S7).
  const goneAt = attachments.length === before.attachments.length ? podsGoneAt : now;
  const times = {
    ...(added.length > 0 && before.pods.length > 0 ? { joinedAt: now } : {}),
    ...(added.length === 0 && podsGoneAt !== undefined ? { podsGoneAt: goneAt } : {}),
    ...(freed.length === before.freed.length && before.freedAt !== undefined ? { freedAt: before.freedAt } : {}),
  };
  return { ...open, ...times, pods, attachments, volumes: union(before.volumes, share.volumes), freed };
}

function released(nodeCase: NodeCase, pod: PodFacts): ReleaseRecord['pods'][number] {
  const { namespace, name, uid } = pod;
  const unseen = unseenVolume(nodeCase, pod);
  const graceSeconds = hiddenForSeconds(nodeCase, pod);
  return {
    namespace,
    name,
    uid,
    ...(unseen === undefined ? {} : { unseen }),
    ...(graceSeconds === undefined ? {} : { graceSeconds }),
  };
}

/** The way in whose name something was recorded; undefined: of an earlier version, or of one that knew more ways. */
export function wayOf({ way, basis, podsStay }: ReleaseRecord): Way | undefined {
  if (way !== undefined) return ways.find(({ name }) => name === way);
  const [only, ...others] = ways.filter((one) => one.basis === basis && one.podStays === podsStay);
  return others.length === 0 ? only : undefined;
}

/** The boot that a release from this node is about. */
export function bootOf({ node, fence }: NodeCase): string | undefined {
  return node?.bootId ?? fence?.status.incident?.bootId;
}

/** On the same grounds, of the same machine in the same boot. */
function isAlike(one: ReleaseRecord, other: ReleaseRecord): boolean {
  return (
    wayOf(one)?.name === wayOf(other)?.name &&
    one.basis === other.basis &&
    one.by === other.by &&
    one.nodeUid === other.nodeUid &&
    one.bootId === other.bootId
  );
}

/**
 * Where there are too many, the oldest that are over go first, of boots of which nothing runs any more; of the boot that the node is in
 * they become one, as far as they fit.
 */
export function bounded(nodeCase: NodeCase, records: readonly ReleaseRecord[]): ReleaseRecord[] {
  const boot = bootOf(nodeCase);
  const isPast = ({ endedAt, bootId }: ReleaseRecord): boolean => endedAt !== undefined && bootId !== boot;
  let left = withoutOldest(records, isPast);
  while (left.length > MAX_RELEASES) {
    const fewer = withFirstTwoAsOne(left);
    if (fewer === undefined) return withoutOldest(left, ({ endedAt }) => endedAt !== undefined);
    left = fewer;
  }
  return left;
}

function withoutOldest(records: readonly ReleaseRecord[], mayGo: (record: ReleaseRecord) => boolean): ReleaseRecord[] {
  const surplus = Math.max(0, records.length - MAX_RELEASES);
  const over = new Set(records.filter(mayGo).slice(0, surplus));
  return records.filter((record) => !over.has(record));
}

/** Undefined: there are no two that are over and fit. */
function withFirstTwoAsOne(records: readonly ReleaseRecord[]): ReleaseRecord[] | undefined {
  for (const [at, one] of records.entries()) {
    const other = records.findIndex((next, index) => index > at && areOne(one, next));
    const second = records[other];
    if (second !== undefined)
      return records.flatMap((record, index) => {
        if (index === other) return [];
        return [index === at ? merged(one, second) : record];
      });
  }
  return undefined;
}

function areOne(one: ReleaseRecord, other: ReleaseRecord): boolean {
  const areOver = one.endedAt !== undefined && other.endedAt !== undefined;
  return (
    areOver && isAlike(one, other) && lists.every((list) => one[list].length + other[list].length <= MAX_RELEASED_PODS)
  );
}

/** The later one is over as well: its times are those of both. */
function merged(one: ReleaseRecord, later: ReleaseRecord): ReleaseRecord {
  const { recordedAt, joinedAt = recordedAt } = later;
  const budgets = union(one.budgets ?? [], later.budgets ?? []).slice(0, MAX_RELEASED_PODS);
  return {
    ...later,
    recordedAt: one.recordedAt,
    joinedAt,
    pods: [...one.pods, ...later.pods],
    attachments: union(one.attachments, later.attachments),
    volumes: union(one.volumes, later.volumes),
    freed: union(one.freed, later.freed),
    ...(budgets.length === 0 ? {} : { budgets }),
  };
}

function union(before: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...before, ...more])];
}
