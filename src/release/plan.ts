/**
 * From what may go to what is done: the record of the basis, written before anything else, and the steps in their order.
 * Quarantine stands before the first pod goes (NGS-6); volumes leave `volumesInUse` before their pods do, so that
 * Kubernetes itself detaches them at once (NGS-4, FEV-4). Whatever is done already makes no step, so that the same plan
 * goes on after a crash.
 */
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import type { Grounds, GroundedAct, Step } from '../api/steps.ts';
import { clockTime, hasTaint, identityOf, isOver, nameInUse } from '../api/facts.ts';
import { markOf } from '../api/quarantine.ts';
import { budgeted } from './budgets.ts';
import { attachmentsHere, driverOf, kubeletSilent } from './checks.ts';
import { keptBy } from './kept.ts';
import { tellingOff } from './out-of-service.ts';
import type { Group } from './records.ts';
import { bootOf, bounded, recorded, wayOf } from './records.ts';
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

/** Without fates nothing new is begun; what has begun is followed to its end. */
export function planRelease(nodeCase: NodeCase, fates: readonly Fate[] | undefined, epoch: number): ReleasePlan {
  const records = (nodeCase.fence?.status.releases ?? []).map((record) => progressed(nodeCase, record));
  const steps: Step[] = [];
  const telling: Step[] = [];
  for (const [way, goings] of fates === undefined ? [] : grouped(nodeCase, fates, records)) {
    const group = groupOf(nodeCase, { way, goings }, fates ?? []);
    const isEmpty = goings.length === 0 && group.attachments.length === 0;
    const own = isEmpty ? [] : recorded(nodeCase, group, records, epoch);
    const freed = freedBy(group);
    const respected = budgeted(nodeCase, group.pods);
    const grounds = groundsOf(nodeCase, { way, records: own, freed, epoch });
    const acts = way.basis === 'PowerOff' ? tellingOff(nodeCase, fates ?? [], own.at(-1)) : [];
    // Where nothing goes, nothing has to be kept away: Kubernetes schedules nothing to a node that is not Ready.
    if (own.length === 0) telling.push(...(acts.length > 0 ? [{ acts, grounds: { ...grounds, taints: [] } }] : []));
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
  return { records: bounded(nodeCase, records), steps: [...steps, ...telling] };
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

function freedBy({ attachments, goings }: Group): Freed {
  const drivers = attachments.map(({ driver }) => driver);
  const volumes = goings.flatMap(({ frees }) => frees.flatMap(({ csi }) => csi?.driver ?? []));
  return { drivers: [...new Set([...drivers, ...volumes])] };
}

interface Resting {
  way: Way;
  /** None: nothing goes. */
  records: readonly Pick<ReleaseRecord, 'freed'>[];
  freed: Freed;
  epoch: number;
}

/** What every act of a release rests on, and what its way adds to that. */
function groundsOf(nodeCase: NodeCase, { way, records, freed, epoch }: Resting): Grounds {
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
    freed: records.flatMap((record) => record.freed),
    pause: nodeCase.pause,
    epoch,
  };
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
    return [{ acts, grounds: groundsOf(nodeCase, { way, records: [record], freed, epoch }) }];
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
