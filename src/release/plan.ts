/**
 * From what may go to what is done: the record of the basis, written before anything else, and the steps in their order.
 * Quarantine stands before the first pod goes (NGS-6); volumes leave `volumesInUse` before their pods do, so that
 * Kubernetes itself detaches them at once (NGS-4, FEV-4). Whatever is done already makes no step, so that the same plan
 * goes on after a crash.
 */
import { MAX_RELEASED_PODS, MAX_RELEASES } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { AttachmentFacts, NodeCase, PodFacts } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Grounds, GroundedAct, Step } from '../api/steps.ts';
import { clockTime, hasTaint, identityOf, isOver, nameInUse } from '../api/facts.ts';
import { markOf } from '../api/quarantine.ts';
import { unseenVolume } from '../api/unseen.ts';
import { budgeted, budgetsAgainst } from './budgets.ts';
import { attachmentsHere, driverOf, kubeletSilent } from './checks.ts';
import { keptBy } from './kept.ts';
import { tellingOff } from './out-of-service.ts';
import { wayNamed, ways } from './release-node.ts';
import type { Fate, Freed, Going, Way } from './way.ts';

/** Kubernetes detaches within a second once nothing uses a volume; after so long it needs help. */
export const detachByOurselvesAfterMs = 15_000;
/** So many pods go on the strength of one live read. */
const podsPerRead = 32;

export interface ReleasePlan {
  /** The whole list, as it has to be stored before the first step. */
  records: ReleaseRecord[];
  steps: Step[];
}

interface Group {
  way: Way;
  goings: readonly Going[];
  pods: PodFacts[];
  volumes: string[];
  entries: string[];
  attachments: AttachmentFacts[];
}

/** Without fates nothing new is begun; what has begun is followed to its end. */
export function planRelease(nodeCase: NodeCase, fates: readonly Fate[] | undefined, epoch: number): ReleasePlan {
  const records = (nodeCase.fence?.status.releases ?? []).map((record) => progressed(nodeCase, record));
  const steps: Step[] = [];
  const telling: Step[] = [];
  for (const [way, goings] of fates === undefined ? [] : grouped(nodeCase, fates, records)) {
    const group = groupOf(nodeCase, { way, goings }, fates ?? []);
    const isEmpty = goings.length === 0 && group.attachments.length === 0;
    const record = isEmpty ? undefined : recordFor(nodeCase, group, records, epoch);
    const freed = freedBy(group);
    const respected = budgeted(nodeCase, group.pods);
    const grounds = groundsOf(nodeCase, { way, record, freed, epoch });
    const acts = way.basis === 'PowerOff' ? tellingOff(nodeCase, fates ?? [], record) : [];
    // Where nothing goes, nothing has to be kept away: Kubernetes schedules nothing to a node that is not Ready.
    if (record === undefined) telling.push(...(acts.length > 0 ? [{ acts, grounds: { ...grounds, taints: [] } }] : []));
    else
      steps.push(
        ...stepsOf(nodeCase, group, {
          telling: acts,
          grounds: respected.length === 0 ? grounds : { ...grounds, budgeted: respected },
        }),
      );
  }
  steps.push(...detachSteps(nodeCase, records, epoch));
  const quarantine = quarantineStep(nodeCase);
  if (steps.length > 0 && quarantine !== undefined) steps.unshift(quarantine);
  return { records: bounded(records), steps: [...steps, ...telling] };
}

function grouped(nodeCase: NodeCase, fates: readonly Fate[], records: readonly ReleaseRecord[]): Map<Way, Going[]> {
  const groups = new Map<Way, Going[]>();
  // Volumes may hang on a node whose pods are long gone.
  const clearing = ways.find(({ clearsNode }) => clearsNode?.(nodeCase));
  if (clearing !== undefined) groups.set(clearing, []);
  for (const fate of fates) {
    if (!fate.goes || isBehindUs(nodeCase, fate, records)) continue;
    const way = wayNamed(fate.way);
    const goings = groups.get(way) ?? [];
    goings.push(fate);
    groups.set(way, goings);
  }
  return groups;
}

/** Let go to the end, and on record: a pod whose object stays would otherwise be recorded anew in every pass. */
function isBehindUs(nodeCase: NodeCase, going: Going, records: readonly ReleaseRecord[]): boolean {
  if (actsFor(going).length > 0) return false;
  const boot = bootOf(nodeCase);
  const { uid } = going.pod;
  return records.some(
    ({ endedAt, bootId, pods }) => endedAt !== undefined && bootId === boot && pods.some((pod) => pod.uid === uid),
  );
}

function groupOf(
  nodeCase: NodeCase,
  { way, goings }: { way: Way; goings: readonly Going[] },
  fates: readonly Fate[],
): Group {
  const freed = goings.flatMap(({ frees }) => frees);
  const volumes = new Set(freed.map(({ volume }) => volume));
  const entries = new Set(freed.flatMap((volume) => nameInUse(volume) ?? []));
  const here = attachmentsHere(nodeCase);
  if (way.clearsNode !== undefined) {
    // Nothing runs there: what no pod that stays uses goes too, also where its pod is long gone.
    const kept = keptBy(
      nodeCase,
      fates.flatMap(({ goes, pod }) => (goes ? [] : [pod])),
    );
    for (const entry of nodeCase.node?.volumesInUse ?? []) if (!kept.entry(entry)) entries.add(entry);
    for (const attachment of here) if (!kept.attachment(attachment)) volumes.add(attachment.volume);
  }
  return {
    way,
    goings,
    pods: goings.map(({ pod }) => pod),
    volumes: [...volumes],
    entries: [...entries],
    attachments: here.filter(({ volume }) => volumes.has(volume)),
  };
}

/**
 * One record for each basis, author and boot; what joins later is added to it, and what does not fit gets another. Answers with the
 * last that something was added to.
 */
function recordFor(nodeCase: NodeCase, group: Group, records: ReleaseRecord[], epoch: number): ReleaseRecord {
  const blank = blankFor(nodeCase, group.way, epoch);
  const fits = (record: ReleaseRecord): boolean =>
    record.endedAt === undefined &&
    wayOf(record)?.name === blank.way &&
    record.by === blank.by &&
    record.nodeUid === blank.nodeUid &&
    record.bootId === blank.bootId;
  const known = new Set(records.filter(fits).flatMap(({ pods }) => pods.map(({ uid }) => uid)));
  const added = group.pods.filter(({ uid }) => !known.has(uid));
  for (;;) {
    const index = records.findIndex((one) => fits(one) && (added.length === 0 || one.pods.length < MAX_RELEASED_PODS));
    const before = records[index] ?? blank;
    const overruled = union(
      before.budgets ?? [],
      group.pods.flatMap((pod) => budgetsAgainst(nodeCase, pod)),
    );
    const record = {
      ...joined(nodeCase, before, { ...group, pods: added.splice(0, MAX_RELEASED_PODS - before.pods.length) }),
      ...(overruled.length === 0 ? {} : { budgets: overruled }),
    };
    if (index === -1) records.push(record);
    else records[index] = record;
    if (added.length === 0) return record;
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

/** `pods` of the group: those that are new. */
function joined(nodeCase: NodeCase, before: ReleaseRecord, group: Group): ReleaseRecord {
  const now = clockTime(nodeCase.serverNowMs);
  const added = group.pods;
  const pods = [...before.pods, ...added.map((pod) => released(nodeCase, pod))];
  const freed = union(before.freed, group.entries);
  const { podsGoneAt: _, freedAt: __, ...open } = before;
  const times = {
    ...(added.length > 0 && before.pods.length > 0 ? { joinedAt: now } : {}),
    ...(added.length === 0 && before.podsGoneAt !== undefined ? { podsGoneAt: before.podsGoneAt } : {}),
    ...(freed.length === before.freed.length && before.freedAt !== undefined ? { freedAt: before.freedAt } : {}),
  };
  const attachments = union(
    before.attachments,
    group.attachments.map(({ name }) => name),
  );
  return { ...open, ...times, pods, attachments, volumes: union(before.volumes, group.volumes), freed };
}

function released(nodeCase: NodeCase, pod: PodFacts): ReleaseRecord['pods'][number] {
  const { namespace, name, uid } = pod;
  const unseen = unseenVolume(nodeCase, pod);
  return { namespace, name, uid, ...(unseen === undefined ? {} : { unseen }) };
}

/** What the world has done of a record since: pods gone, volumes out of use, all at an end. */
export function progressed(nodeCase: NodeCase, record: ReleaseRecord): ReleaseRecord {
  if (record.endedAt !== undefined) return record;
  const now = clockTime(nodeCase.serverNowMs);
  const isCurrent = nodeCase.node === undefined || nodeCase.node.bootId === record.bootId;
  const next = { ...record };
  const inUse = nodeCase.node?.volumesInUse ?? [];
  if (next.freedAt === undefined && isCurrent && !record.freed.some((entry) => inUse.includes(entry)))
    next.freedAt = now;
  const podsGone = record.pods.every(({ uid }) => isGone(nodeCase, uid));
  if (!podsGone) return next;
  next.podsGoneAt ??= now;
  // What a pod that stays uses by now is not waited for: Kubernetes keeps it where it is.
  const used = keptBy(nodeCase, nodeCase.pods);
  const left = attachmentsHere(nodeCase).filter(
    ({ name, volume }) => record.attachments.includes(name) && !used.volumes.has(volume),
  );
  if (left.length === 0) next.endedAt = now;
  return next;
}

/** Its object is gone, or only finalizers keep it, or it stays by design and is over. */
function isGone({ pods }: NodeCase, uid: string): boolean {
  const pod = pods.find((one) => one.uid === uid);
  return pod === undefined || isOver(pod);
}

/** The way in whose name something was recorded; undefined: of an earlier version, or of one that knew more ways. */
function wayOf({ way, basis, podsStay }: ReleaseRecord): Way | undefined {
  if (way !== undefined) return ways.find(({ name }) => name === way);
  const [only, ...others] = ways.filter((one) => one.basis === basis && one.podStays === podsStay);
  return others.length === 0 ? only : undefined;
}

function freedBy({ attachments, goings }: Group): Freed {
  const drivers = attachments.map(({ driver }) => driver);
  const volumes = goings.flatMap(({ frees }) => frees.flatMap(({ csi }) => csi?.driver ?? []));
  return { drivers: [...new Set([...drivers, ...volumes])] };
}

interface Resting {
  way: Way;
  /** Absent: nothing goes. */
  record: Pick<ReleaseRecord, 'freed'> | undefined;
  freed: Freed;
  epoch: number;
}

/** What every act of a release rests on, and what its way adds to that. */
function groundsOf(nodeCase: NodeCase, { way, record, freed, epoch }: Resting): Grounds {
  const { node, lease, policy } = nodeCase;
  const { taint, ...basis } = way.grounds(nodeCase, freed);
  const taints = [
    ...(node === undefined ? [] : [{ key: QUARANTINE_KEY, effect: 'NoSchedule' }]),
    ...(taint === undefined ? [] : [taint]),
  ];
  return {
    ...basis,
    node: nodeCase.name,
    ...(node === undefined ? {} : { nodeUid: node.uid, bootId: node.bootId }),
    taints,
    ...(way.toleratesLife(nodeCase) || node === undefined
      ? {}
      : { leaseRenewTime: lease?.renewTime ?? '', heartbeatTime: node.heartbeatTime ?? '' }),
    ...(policy.kind === 'one' ? { policy: identityOf(policy.policy) } : {}),
    freed: record?.freed ?? [],
    pause: nodeCase.pause,
    epoch,
  };
}

/** The boot that a release from this node is about. */
function bootOf({ node, fence }: NodeCase): string | undefined {
  return node?.bootId ?? fence?.status.incident?.bootId;
}

/** `telling`: what the cluster is told of the node before anything goes. */
function stepsOf(
  nodeCase: NodeCase,
  group: Group,
  { telling, grounds }: { telling: readonly GroundedAct[]; grounds: Grounds },
): Step[] {
  const steps: Step[] = [];
  const beforeFreeing = { ...grounds, freed: [] };
  const isSafeDetach = group.way.basis === 'StorageSafeDetach';
  const fences = group.attachments.filter(
    ({ driver, fenceWanted }) =>
      isSafeDetach && driverOf(nodeCase.drivers, driver)?.unpublishFence === true && !fenceWanted,
  );
  if (fences.length > 0) {
    const acts: GroundedAct[] = fences.map(({ name, uid }) => ({ do: 'requestFence', attachment: name, uid }));
    steps.push({ acts, grounds: beforeFreeing });
  }
  const inUse = nodeCase.node?.volumesInUse ?? [];
  const volumes = group.entries.filter((entry) => inUse.includes(entry));
  const before: GroundedAct[] = [...telling];
  if (volumes.length > 0) before.push({ do: 'freeVolumes', volumes });
  if (before.length > 0) steps.push({ acts: before, grounds: beforeFreeing });
  const acts = group.goings.flatMap((going) => actsFor(going));
  for (let at = 0; at < acts.length; at += podsPerRead) {
    steps.push({ acts: acts.slice(at, at + podsPerRead), grounds });
  }
  return steps;
}

function actsFor({ pod, way }: Going): GroundedAct[] {
  const { basis, podStays } = wayNamed(way);
  if (podStays) return isOver(pod) ? [] : [{ do: 'failPod', pod, basis }];
  const isDone = pod.graceSeconds === 0 && pod.deletionAtMs !== undefined && isOver(pod);
  return isDone ? [] : [{ do: 'forceDelete', pod, basis }];
}

/** Where Kubernetes has not detached by itself, although nothing uses the volume any more. */
function detachSteps(nodeCase: NodeCase, records: readonly ReleaseRecord[], epoch: number): Step[] {
  const { node } = nodeCase;
  if (node?.ready === 'True') return [];
  const boot = bootOf(nodeCase);
  const used = keptBy(nodeCase, nodeCase.pods);
  return records.flatMap((record) => {
    const { endedAt, podsGoneAt, bootId } = record;
    const way = wayOf(record);
    const dueMs = Date.parse(podsGoneAt ?? '') + detachByOurselvesAfterMs;
    const isDue = endedAt === undefined && bootId === boot && nodeCase.serverNowMs >= dueMs;
    if (way === undefined || !isDue || !isStillAccepted(nodeCase, way, record)) return [];
    const left = attachmentsHere(nodeCase).filter(
      (one) => record.attachments.includes(one.name) && !one.deleting && !used.attachment(one),
    );
    if (left.length === 0) return [];
    const acts = left.map(({ name, uid }): GroundedAct => ({ do: 'deleteAttachment', attachment: name, uid }));
    const freed = { drivers: [...new Set(left.map(({ driver }) => driver))] };
    return [{ acts, grounds: groundsOf(nodeCase, { way, record, freed, epoch }) }];
  });
}

/**
 * Nobody unmounts under a kubelet that lives; a risk counts only while somebody accepts it, a word only while it stands,
 * and a gate that was switched off lets nothing more go.
 */
function isStillAccepted(nodeCase: NodeCase, way: Way, record: ReleaseRecord): boolean {
  if (!way.toleratesLife(nodeCase) && kubeletSilent(nodeCase) !== undefined) return false;
  return way.stillStands(nodeCase, record);
}

/** Undefined: it is in quarantine, or gone. */
export function quarantineStep(nodeCase: NodeCase): Step | undefined {
  const { node } = nodeCase;
  const mark = markOf(nodeCase);
  if (node === undefined || (hasTaint(node, QUARANTINE_KEY, 'NoSchedule') && mark === undefined)) return undefined;
  return { free: [{ do: 'quarantine', ...(mark === undefined ? {} : { mark }) }] };
}

/** The oldest that are over go first. */
function bounded(records: ReleaseRecord[]): ReleaseRecord[] {
  const surplus = records.length - MAX_RELEASES;
  if (surplus <= 0) return records;
  const over = records.filter(({ endedAt }) => endedAt !== undefined).slice(0, surplus);
  return records.filter((record) => !over.includes(record));
}

function union(before: readonly string[], more: readonly string[]): string[] {
  return [...new Set([...before, ...more])];
}
