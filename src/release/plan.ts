/**
 * From what may go to what is done: the record of the basis, written before anything else, and the steps in their order.
 * Quarantine stands before the first pod goes (NGS-6); volumes leave `volumesInUse` before their pods do, so that
 * Kubernetes itself detaches them at once (NGS-4, FEV-4). Whatever is done already makes no step, so that the same plan
 * goes on after a crash.
 */
import { MAX_RELEASES } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { Action, AttachmentFacts, Grounds, LiveNode, NodeCase, PodFacts, Step } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import { assertionOf } from './by-assertion.ts';
import { crashedBy } from './by-kernel-crash.ts';
import { REMEDY_AUTHOR, remediedBy } from './by-remedy.ts';
import { annotatedOf } from './by-safe-detach.ts';
import { cutOffFrom } from './by-storage-fence.ts';
import { clockTime, hasTaint, isOver, nameInUse } from '../api/facts.ts';
import { attachmentsHere, isKnown, kubeletSilent, nodeDown, nothingReappeared, volumesOf } from './checks.ts';
import type { Going, Outcome, Way } from './release-node.ts';
import { assertionWay, powerWay } from './release-node.ts';

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

/** Without outcomes nothing new is begun; what has begun is followed to its end. */
export function planRelease(known: NodeCase, outcomes: readonly Outcome[] | undefined, epoch: number): ReleasePlan {
  const records = (known.fence?.status.releases ?? []).map((record) => progressed(known, record));
  const steps: Step[] = [];
  for (const [way, goings] of outcomes === undefined ? [] : grouped(known, outcomes, records)) {
    const group = groupOf(known, { way, goings }, outcomes ?? []);
    if (goings.length === 0 && group.attachments.length === 0) continue;
    const record = recordFor(known, group, records, epoch);
    steps.push(...stepsOf(known, group, groundsOf(known, group, record, epoch)));
  }
  steps.push(...detachSteps(known, records, epoch));
  const quarantine = quarantineStep(known);
  if (steps.length > 0 && quarantine !== undefined) steps.unshift(quarantine);
  return { records: bounded(records), steps };
}

function grouped(known: NodeCase, outcomes: readonly Outcome[], records: readonly ReleaseRecord[]): Map<Way, Going[]> {
  const groups = new Map<Way, Going[]>();
  // Volumes may hang on a node whose pods are long gone.
  if (isPoweredOff(known)) groups.set(powerWay, []);
  else if (isAsserted(known)) groups.set(assertionWay, []);
  for (const outcome of outcomes) {
    if (!outcome.goes || isBehindUs(known, outcome, records)) continue;
    const goings = groups.get(outcome.way) ?? [];
    goings.push(outcome);
    groups.set(outcome.way, goings);
  }
  return groups;
}

/** Let go to the end, and on record: a pod whose object stays would otherwise be recorded anew in every pass. */
function isBehindUs(known: NodeCase, going: Going, records: readonly ReleaseRecord[]): boolean {
  if (actionsOf(going).length > 0) return false;
  const boot = bootOf(known);
  const { uid } = going.pod;
  return records.some(
    ({ endedAt, bootId, pods }) => endedAt !== undefined && bootId === boot && pods.some((pod) => pod.uid === uid),
  );
}

/** Its fence says off for this boot, and the pods are to go with it. */
function isPoweredOff({ node, fence }: NodeCase): boolean {
  const stored = fence?.status.fence;
  return stored?.phase === 'off' && stored.cleanResources && stored.bootId === node?.bootId;
}

/** The word is given, and nothing that is known of the node speaks against it. */
function isAsserted(known: NodeCase): boolean {
  if (known.node === undefined || assertionOf(known) === undefined) return false;
  return (nodeDown(known) ?? kubeletSilent(known) ?? nothingReappeared(known)) === undefined;
}

function groupOf(
  known: NodeCase,
  { way, goings }: { way: Way; goings: readonly Going[] },
  outcomes: readonly Outcome[],
): Group {
  const freed = goings.flatMap(({ frees }) => frees);
  const volumes = new Set(freed.map(({ volume }) => volume));
  const entries = new Set(freed.flatMap((volume) => nameInUse(volume) ?? []));
  const here = attachmentsHere(known);
  const kept = keptBy(known, outcomes);
  if ((way === assertionWay || way === powerWay) && !kept.isUnknown) {
    // Nothing runs there: what no pod that stays uses goes too, also where its pod is long gone.
    for (const entry of known.node?.volumesInUse ?? []) if (!kept.entries.has(entry)) entries.add(entry);
    for (const { volume } of here) if (!kept.volumes.has(volume)) volumes.add(volume);
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

interface Kept {
  entries: Set<string>;
  volumes: Set<string>;
  /** A volume of a pod that stays could not be read: it may be any of those that seem unused (S26). */
  isUnknown: boolean;
}

function keptBy(known: NodeCase, outcomes: readonly Outcome[]): Kept {
  const staying = outcomes.filter(({ goes, pod }) => !goes && !isOver(pod));
  const volumes = staying.flatMap(({ pod }) => volumesOf(known, pod));
  const used = volumes.filter(isKnown);
  return {
    entries: new Set(used.flatMap((volume) => nameInUse(volume) ?? [])),
    volumes: new Set(used.map(({ volume }) => volume)),
    isUnknown: used.length < volumes.length,
  };
}

/** One record for each basis, author and boot; what joins later is added to it. */
function recordFor(known: NodeCase, group: Group, records: ReleaseRecord[], epoch: number): ReleaseRecord {
  const { basis, podStays, by } = group.way;
  const nodeUid = known.node?.uid ?? known.fence?.status.incident?.nodeUid ?? '';
  const bootId = bootOf(known);
  const author = by(known);
  const fits = (record: ReleaseRecord): boolean =>
    record.endedAt === undefined &&
    record.basis === basis &&
    record.by === author &&
    record.podsStay === podStays &&
    record.nodeUid === nodeUid &&
    record.bootId === bootId;
  const index = records.findIndex(fits);
  const before: ReleaseRecord = records[index] ?? {
    basis,
    ...(author === undefined ? {} : { by: author }),
    nodeUid,
    ...(bootId === undefined ? {} : { bootId }),
    epoch,
    recordedAt: clockTime(known.serverNowMs),
    podsStay: podStays,
    pods: [],
    attachments: [],
    volumes: [],
    freed: [],
  };
  const record = joined(before, group, clockTime(known.serverNowMs));
  if (index === -1) records.push(record);
  else records[index] = record;
  return record;
}

function joined(before: ReleaseRecord, group: Group, now: string): ReleaseRecord {
  const known = new Set(before.pods.map(({ uid }) => uid));
  const added = group.pods.filter(({ uid }) => !known.has(uid));
  const pods = [...before.pods, ...added.map(({ namespace, name, uid }) => ({ namespace, name, uid }))];
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

/** What the world has done of a record since: pods gone, volumes out of use, all at an end. */
export function progressed(known: NodeCase, record: ReleaseRecord): ReleaseRecord {
  if (record.endedAt !== undefined) return record;
  const now = clockTime(known.serverNowMs);
  const isCurrent = known.node === undefined || known.node.bootId === record.bootId;
  const next = { ...record };
  const inUse = known.node?.volumesInUse ?? [];
  if (next.freedAt === undefined && isCurrent && !record.freed.some((entry) => inUse.includes(entry)))
    next.freedAt = now;
  const podsGone = record.pods.every(({ uid }) => isGone(known, uid));
  if (!podsGone) return next;
  next.podsGoneAt ??= now;
  const here = new Set(attachmentsHere(known).map(({ name }) => name));
  if (!record.attachments.some((name) => here.has(name))) next.endedAt = now;
  return next;
}

/** Its object is gone, or only finalizers keep it, or it stays by design and is over. */
function isGone({ pods }: NodeCase, uid: string): boolean {
  const pod = pods.find((one) => one.uid === uid);
  return pod === undefined || isOver(pod);
}

function groundsOf(known: NodeCase, group: Group, record: ReleaseRecord, epoch: number): Grounds {
  const grounds = commonGrounds(known, record, epoch);
  if (group.way.basis !== 'StorageSafeDetach') return grounds;
  const drivers = group.attachments.map(({ driver }) => driver);
  const volumes = group.goings.flatMap(({ frees }) => frees.flatMap(({ csi }) => csi?.driver ?? []));
  return { ...grounds, safeDrivers: annotatedOf(known, [...drivers, ...volumes]) };
}

/** What every act on a record rests on. */
function commonGrounds(known: NodeCase, { basis, freed }: ReleaseRecord, epoch: number): Grounds {
  const { node, lease, policy } = known;
  const assertion = basis === 'Asserted' ? assertionOf(known) : undefined;
  const taints = [
    ...(node === undefined ? [] : [{ key: QUARANTINE_KEY, effect: 'NoSchedule' }]),
    ...(assertion === undefined ? [] : [{ key: assertion.taint.key, effect: assertion.taint.effect }]),
  ];
  return {
    node: known.name,
    ...(node === undefined ? {} : { nodeUid: node.uid, bootId: node.bootId }),
    taints,
    ...(mayRenew(node, basis) || node === undefined ? {} : { leaseRenewTime: lease?.renewTime ?? '' }),
    ...(policy.kind === 'one' ? { policy: identityOf(policy.policy) } : {}),
    safeDrivers: [],
    freed,
    epoch,
    ...(basis === 'PowerOff' ? { isOff: true } : {}),
    ...(basis === 'StorageFenced' ? { isCutOff: true } : {}),
  };
}

/** The boot that a release from this node is about. */
function bootOf({ node, fence }: NodeCase): string | undefined {
  return node?.bootId ?? fence?.status.incident?.bootId;
}

function identityOf(policy: { name: string; uid: string; generation: number }): NonNullable<Grounds['policy']> {
  const { name, uid, generation } = policy;
  return { name, uid, generation };
}

function stepsOf(known: NodeCase, group: Group, grounds: Grounds): Step[] {
  const steps: Step[] = [];
  const beforeFreeing = { ...grounds, freed: [] };
  const isSafeDetach = group.way.name === 'safe detach';
  const fences = group.attachments.filter(
    ({ driver, fenceWanted }) => isSafeDetach && known.drivers.get(driver)?.unpublishFence === true && !fenceWanted,
  );
  if (fences.length > 0) {
    const actions: Action[] = fences.map(({ name, uid }) => ({ do: 'requestFence', attachment: name, uid }));
    steps.push({ actions, grounds: beforeFreeing });
  }
  const inUse = known.node?.volumesInUse ?? [];
  const volumes = group.entries.filter((entry) => inUse.includes(entry));
  if (volumes.length > 0) steps.push({ actions: [{ do: 'freeVolumes', volumes }], grounds: beforeFreeing });
  const actions = group.goings.flatMap((going) => actionsOf(going));
  for (let at = 0; at < actions.length; at += podsPerRead) {
    steps.push({ actions: actions.slice(at, at + podsPerRead), grounds });
  }
  return steps;
}

function actionsOf({ pod, way }: Going): Action[] {
  const basis = way.basis;
  if (way.podStays) return isOver(pod) ? [] : [{ do: 'failPod', pod, basis }];
  const isDone = pod.graceSeconds === 0 && pod.deletionAtMs !== undefined && isOver(pod);
  return isDone ? [] : [{ do: 'forceDelete', pod, basis }];
}

/** Where Kubernetes has not detached by itself, although nothing uses the volume any more. */
function detachSteps(known: NodeCase, records: readonly ReleaseRecord[], epoch: number): Step[] {
  const { node } = known;
  if (node?.ready === 'True') return [];
  const boot = bootOf(known);
  const used = keptBy(
    known,
    known.pods.map((pod) => ({ pod, goes: false, objections: [] })),
  );
  if (used.isUnknown) return [];
  const due = records.filter((record) => {
    const { endedAt, podsGoneAt, bootId } = record;
    return (
      endedAt === undefined &&
      isStillAccepted(known, record) &&
      bootId === boot &&
      podsGoneAt !== undefined &&
      known.serverNowMs >= Date.parse(podsGoneAt) + detachByOurselvesAfterMs
    );
  });
  return due.flatMap((record) => {
    const actions: Action[] = attachmentsHere(known)
      .filter(
        ({ name, deleting, volume }) => record.attachments.includes(name) && !deleting && !used.volumes.has(volume),
      )
      .map(({ name, uid }) => ({ do: 'deleteAttachment', attachment: name, uid }));
    if (actions.length === 0) return [];
    return [{ actions, grounds: commonGrounds(known, record, epoch) }];
  });
}

/** A kubelet that reports False lives and renews; who accepts the risk accepts that too. */
function mayRenew(node: LiveNode | undefined, basis: string): boolean {
  return node?.ready === 'False' && basis === 'AcceptedRisk';
}

/**
 * Nobody unmounts under a kubelet that lives; a risk counts only while somebody accepts it, a word only while it stands,
 * and a gate that was switched off lets nothing more go.
 */
function isStillAccepted(known: NodeCase, { basis, by }: ReleaseRecord): boolean {
  if (!mayRenew(known.node, basis) && kubeletSilent(known) !== undefined) return false;
  switch (basis) {
    case 'AcceptedRisk':
      return known.policy.kind === 'one' && by === `policy ${known.policy.policy.name}`;
    case 'StorageSafeDetach':
      return known.gates.NonGracefulFailover;
    case 'Asserted':
      return by?.startsWith(REMEDY_AUTHOR) ? remediedBy(known) === by : assertionOf(known) !== undefined;
    case 'PowerOff':
      return isPoweredOff(known);
    case 'StorageFenced':
      return cutOffFrom(known) !== undefined;
    case 'KernelCrashed':
      return crashedBy(known) === by;
    default:
      return true;
  }
}

function quarantineStep({ node }: NodeCase): Step | undefined {
  if (node === undefined || hasTaint(node, QUARANTINE_KEY, 'NoSchedule')) return undefined;
  return { actions: [{ do: 'taint', key: QUARANTINE_KEY, effect: 'NoSchedule' }] };
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
