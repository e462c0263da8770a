/**
 * Reads live what a decision rests on, right before the act, and says what is no longer so (S15). It knows no rules: the
 * decision names its grounds, and here they are compared.
 */
import { bootIdOf } from '../api/bounded-name.ts';
import type { WireBudget } from '../api/budgets.ts';
import { spentBudget, spentOver } from '../api/budgets.ts';
import type { Slotted } from '../api/facts.ts';
import { isDeepStrictEqual } from 'node:util';
import { holdsSlot, isOver, isStatus } from '../api/facts.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import type { OtherActor } from '../api/others.ts';
import { PAUSE_NAME, writtenPause } from '../api/seen-pause.ts';
import { plansOf } from '../api/plans.ts';
import { SAFE_DETACH_ANNOTATION } from '../api/release-view.ts';
import type { AskedElsewhere, Basis, DeviceQuestion, Grounds } from '../api/steps.ts';
import type { KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import type { Knock } from '../kube/knock.ts';
import type { ObjectRef } from '../kube/resources.ts';
import type { LiveReads } from './live-reads.ts';
import {
  configMaps,
  csiDrivers,
  leases,
  nodeFences,
  nodeLeaseNamespace,
  nodes,
  podDisruptionBudgets,
  pods,
  remedyPolicies,
  volumeAttachments,
} from '../kube/resources.ts';

export type Refusal =
  /** Something is different now: decide anew. */
  | { kind: 'changed'; what: string }
  /** A device does not confirm it. */
  | { kind: 'unconfirmed'; what: string }
  /** It could not be read, and unknown is not no. */
  | { kind: 'unreadable'; error: KubeError };

interface WireNode extends KubeObject {
  spec?: { taints?: { key: string; effect: string }[]; unschedulable?: boolean };
  status?: {
    conditions?: { type: string; status: string; message?: string; lastHeartbeatTime?: string | null }[];
    nodeInfo?: { bootID?: string };
    volumesInUse?: string[];
  };
}

interface WireFence extends KubeObject {
  spec?: { stop?: boolean };
  status?: { epoch?: number };
}

interface WirePod extends KubeObject {
  status?: { phase?: string };
}

interface WireDriver extends KubeObject {
  spec?: { attachRequired?: boolean };
}

type Comparison = (reads: LiveReads, grounds: Grounds, others: Others) => Promise<Refusal | undefined>;

/** Who is asked besides the API server. */
interface Others {
  ask: AskDevices;
  /** Absent where nothing is cut: nobody has to know. */
  knock?: Knock;
  elsewhere?: LookElsewhere | undefined;
}

/** Who else is at work on a node now, by objects beside it. */
export type LookElsewhere = (node: AskedElsewhere) => Promise<Result<readonly OtherActor[]>>;

/** What each basis rests on, all of it read live. */
const comparisons: Record<Basis, readonly Comparison[]> = {
  PowerOff: [sameNode, silentLease, sameRecord, samePolicy],
  StorageFenced: [sameNode, silentLease, sameRecord, samePolicy],
  StorageSafeDetach: [sameNode, silentLease, sameRecord, samePolicy, sameDrivers],
  KernelCrashed: [sameNode, silentLease, sameRecord, samePolicy],
  Asserted: [sameNode, silentLease, sameRecord, samePolicy],
  AcceptedRisk: [sameNode, silentLease, sameRecord, samePolicy],
  Remedy: [
    sameNode,
    sameTrouble,
    silentLease,
    sameRecord,
    samePolicy,
    freeSlot,
    samePlans,
    sameOthers,
    somethingToGain,
    kubeletNotAway,
  ],
  Return: [sameNode, isReady, sameRecord, samePolicy],
  Unmark: [sameNode],
};

/** Whatever it rests on. */
const always: readonly Comparison[] = [withinBudgets, samePause, samePods];

/** The power is off, or a ladder was called for by other signs: whether Ready has noticed does not matter. */
const mayBeReady: ReadonlySet<Basis> = new Set(['PowerOff', 'Remedy', 'Return', 'Unmark']);

/** Asks the devices of the node: why it cannot be taken for off, or for cut off from its storage; undefined: it is. */
export type AskDevices = (question: DeviceQuestion) => Promise<string | undefined>;

export async function verify(reads: LiveReads, grounds: Grounds, others: Others): Promise<Refusal | undefined> {
  // Devices are slow: what the API server knows is read after they have answered.
  const doubt = await notConfirmed(grounds, others.ask);
  if (doubt !== undefined) return doubt;
  const all = [...comparisons[grounds.basis], ...always];
  const found = await Promise.all(all.map((compare) => compare(reads, grounds, others)));
  return found.find((refusal) => refusal !== undefined);
}

/** What the devices do not say that it rests on. */
export async function notConfirmed(grounds: Grounds, ask: AskDevices): Promise<Refusal | undefined> {
  if (!('question' in grounds)) return undefined;
  const why = await ask(grounds.question);
  const off = grounds.question.what === 'power' ? 'off' : 'cut off from its storage';
  if (why !== undefined) return { kind: 'unconfirmed', what: `${grounds.node} is not known to be ${off}: ${why}` };
  return undefined;
}

/** Whether it says for what something is cut: who is not told what has to be so still would find nothing against it (S39). */
export function namesCause(grounds: Grounds): boolean {
  if (grounds.basis !== 'Remedy') return false;
  return grounds.isAsked === true || grounds.trouble !== undefined || grounds.leaseRenewTime !== undefined;
}

async function sameNode(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  const read = await reads.get<WireNode>({ resource: nodes, name: grounds.node });
  if (grounds.nodeUid === undefined) return absent(read, `node ${grounds.node}`);
  if (!read.ok) return missing(read.error, `node ${grounds.node}`);
  const { metadata, spec, status } = read.value;
  if (metadata.uid !== grounds.nodeUid) return changed(`${grounds.node} is another node of the same name`);
  if (bootIdOf(status?.nodeInfo) !== grounds.bootId) return changed(`${grounds.node} was booted again`);
  const { status: ready, lastHeartbeatTime } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
  if (!mayBeReady.has(grounds.basis) && ready !== 'False' && ready !== 'Unknown')
    return changed(`Ready of ${grounds.node} is ${ready ?? 'not reported'}`);
  if (grounds.heartbeatTime !== undefined && (lastHeartbeatTime ?? '') !== grounds.heartbeatTime)
    return changed(`the kubelet of ${grounds.node} has written its status`);
  for (const { key, effect } of grounds.taints) {
    const has = spec?.taints?.some((taint) => taint.key === key && taint.effect === effect) ?? false;
    if (!has) return changed(`the taint ${key}:${effect} is not on ${grounds.node}`);
  }
  const back = grounds.freed.find((entry) => status?.volumesInUse?.includes(entry));
  return back === undefined ? undefined : changed(`${back} is in volumesInUse of ${grounds.node}: a kubelet wrote it`);
}

/** What a remedy is for may be over by the time that it begins. */
async function sameTrouble(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  if (grounds.basis !== 'Remedy' || grounds.trouble === undefined) return undefined;
  const { type, status: wanted } = grounds.trouble;
  const found = await conditionOf(reads, grounds.node, type);
  if (!found.ok) return missing(found.error, `node ${grounds.node}`);
  if (found.value !== undefined && isStatus(found.value, wanted)) return undefined;
  return changed(`${type} of ${grounds.node} is ${found.value ?? 'not reported'}`);
}

async function isReady(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  if (grounds.basis !== 'Return' || !grounds.isReady) return undefined;
  const found = await conditionOf(reads, grounds.node, 'Ready');
  if (!found.ok) return missing(found.error, `node ${grounds.node}`);
  return found.value === 'True' ? undefined : changed(`Ready of ${grounds.node} is ${found.value ?? 'not reported'}`);
}

async function conditionOf(reads: LiveReads, node: string, type: string): Promise<Result<string | undefined>> {
  const read = await reads.get<WireNode>({ resource: nodes, name: node });
  if (!read.ok) return read;
  return { ok: true, value: read.value.status?.conditions?.find((condition) => condition.type === type)?.status };
}

async function silentLease(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  const ref = { resource: leases, namespace: nodeLeaseNamespace, name: grounds.node };
  const read = await reads.get<KubeObject & { spec?: { renewTime?: string } }>(ref);
  if (!read.ok) return read.error.kind === 'notFound' ? undefined : { kind: 'unreadable', error: read.error };
  const { leaseRenewTime } = grounds;
  if (leaseRenewTime === undefined || (read.value.spec?.renewTime ?? '') === leaseRenewTime) return undefined;
  return changed(`the kubelet of ${grounds.node} has renewed its Lease`);
}

async function sameRecord(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  const name = nodeFenceName(grounds.node);
  const read = await reads.get<WireFence>({ resource: nodeFences, name });
  if (!read.ok) return missing(read.error, `NodeFence ${name}`);
  if (read.value.spec?.stop === true) return changed(`NodeFence ${name} is stopped`);
  if (read.value.status?.epoch === grounds.epoch) return undefined;
  return changed(`NodeFence ${name} was taken over by another instance`);
}

async function samePolicy(reads: LiveReads, { policy }: Grounds): Promise<Refusal | undefined> {
  if (policy === undefined) return undefined;
  const read = await reads.get({ resource: remedyPolicies, name: policy.name });
  if (!read.ok) return missing(read.error, `RemedyPolicy ${policy.name}`);
  const { uid, generation } = read.value.metadata;
  return uid === policy.uid && generation === policy.generation
    ? undefined
    : changed(`RemedyPolicy ${policy.name} was edited`);
}

/**
 * What is about to begin is on record by now. Whoever else has begun is on record too, or has not looked yet and will find this
 * one: of two that begin at once at least one withdraws, whatever their views show (STM-4).
 */
async function freeSlot(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  const { slot, node } = grounds;
  if (slot === undefined) return undefined;
  const listed = await reads.list<KubeObject & Slotted>(nodeFences);
  if (!listed.ok) return { kind: 'unreadable', error: listed.error };
  const others = listed.value.items.filter(
    (record) => record.metadata.name !== nodeFenceName(node) && holdsSlot(slot.kind, record),
  );
  if (others.length < slot.max) return undefined;
  const names = others.slice(0, 3).map(({ metadata }) => metadata.name);
  return changed(`${names.join(', ')} came first, and maxConcurrent is ${slot.max}`);
}

/** Who has cordoned or paused the node meanwhile, or shuts its machine down, has something in mind with it. */
async function samePlans(reads: LiveReads, { node, worth }: Grounds): Promise<Refusal | undefined> {
  if (worth === undefined) return undefined;
  const read = await reads.get<WireNode>({ resource: nodes, name: node });
  if (!read.ok) return missing(read.error, `node ${node}`);
  return isDeepStrictEqual(plansOf(read.value), worth.plans)
    ? undefined
    : changed(`somebody has other plans with ${node} now`);
}

/** Somebody else may have begun to remedy it since, or has ended. */
async function sameOthers(_: LiveReads, { worth, node }: Grounds, { elsewhere }: Others): Promise<Refusal | undefined> {
  if (worth?.elsewhere === undefined || elsewhere === undefined) return undefined;
  const { found, ...about } = worth.elsewhere;
  const now = await elsewhere(about);
  if (!now.ok) return { kind: 'unreadable', error: now.error };
  return isDeepStrictEqual(now.value, found) ? undefined : changed(`somebody else has begun or ended work on ${node}`);
}

/** What would be freed may have gone by itself: then there is nothing to cut for. */
async function somethingToGain(reads: LiveReads, { worth }: Grounds): Promise<Refusal | undefined> {
  const gain = worth?.gain;
  if (gain === undefined) return undefined;
  const { name, uid } = gain;
  const ref: ObjectRef =
    gain.kind === 'pod' ? { resource: pods, namespace: gain.namespace, name } : { resource: volumeAttachments, name };
  const read = await reads.get<KubeObject & { status?: { phase?: string } }>(ref);
  if (!read.ok) return missing(read.error, `${gain.kind} ${name}`);
  const { metadata, status } = read.value;
  const isThere = metadata.uid === uid && !isOver({ phase: status?.phase ?? '' });
  return isThere ? undefined : changed(`${gain.kind} ${name}, which would be freed, is gone`);
}

/** A machine that answers says at once that nobody listens; one that does not answer is not waited for. */
const knockTimeoutMs = 250;

async function kubeletNotAway(_: LiveReads, { worth, node }: Grounds, { knock }: Others): Promise<Refusal | undefined> {
  const found = worth?.door && (await knock?.(worth.door, knockTimeoutMs));
  return found === 'refused' ? changed(`the machine of ${node} answers, and only its kubelet is down`) : undefined;
}

/** A budget may have been spent, made or edited since (STM-5). */
async function withinBudgets(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  const { budgeted = [] } = grounds;
  for (const namespace of new Set(budgeted.map((pod) => pod.namespace))) {
    const listed = await reads.list<KubeObject & WireBudget>(podDisruptionBudgets, { namespace });
    if (!listed.ok) return { kind: 'unreadable', error: listed.error };
    const spent = listed.value.items.flatMap(spentBudget);
    for (const pod of budgeted) {
      const [first] = spentOver(spent, pod);
      if (first !== undefined) return changed(`budget ${first} allows no disruption of ${pod.namespace}/${pod.name}`);
    }
  }
  return undefined;
}

/** Who pauses everything means from now on; and what was decided under a pause is decided anew without it (ADM-5). */
async function samePause(reads: LiveReads, { basis, pause }: Grounds): Promise<Refusal | undefined> {
  if (basis === 'Unmark' || pause === 'any') return undefined;
  const { namespace, written } = pause;
  const read = await reads.get({ resource: configMaps, namespace, name: PAUSE_NAME });
  if (!read.ok && read.error.kind !== 'notFound') return { kind: 'unreadable', error: read.error };
  const found = read.ok ? writtenPause(read.value) : undefined;
  return isDeepStrictEqual(found, written)
    ? undefined
    : changed(`the pause for all in ${namespace} is another one now`);
}

/** A watch may have lost that a pod has come, or that somebody has sent one away: then it is not clean (NGS-7, SAF-4). */
async function samePods(reads: LiveReads, { node, pods: seen }: Grounds): Promise<Refusal | undefined> {
  if (seen === undefined) return undefined;
  const listed = await reads.list<WirePod>(pods, { fieldSelector: `spec.nodeName=${node}` });
  if (!listed.ok) return { kind: 'unreadable', error: listed.error };
  const { items } = listed.value;
  const newcomer = items.find(({ metadata }) => !seen.some(({ uid }) => uid === metadata.uid));
  if (newcomer !== undefined) return changed(`pod ${named(newcomer)} is new on ${node}`);
  const staying = new Set(items.filter(isInService).map(({ metadata }) => metadata.uid));
  const left = seen.find((pod) => pod.isInService && !staying.has(pod.uid));
  if (left === undefined) return undefined;
  const still = items.find(({ metadata }) => metadata.uid === left.uid);
  return changed(`pod ${still === undefined ? left.uid : named(still)} is not in service on ${node} any more`);
}

function isInService({ metadata, status }: WirePod): boolean {
  return metadata.deletionTimestamp === undefined && !isOver({ phase: status?.phase ?? '' });
}

function named({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

async function sameDrivers(reads: LiveReads, grounds: Grounds): Promise<Refusal | undefined> {
  if (grounds.basis !== 'StorageSafeDetach') return undefined;
  const { safeDrivers, declaredDrivers } = grounds;
  const refusals = await Promise.all(
    [...safeDrivers, ...declaredDrivers].map(async (name) => {
      const ref: ObjectRef = { resource: csiDrivers, name };
      const read = await reads.get<WireDriver>(ref);
      if (!read.ok) return missing(read.error, `CSIDriver ${name}`);
      const isAttachless = read.value.spec?.attachRequired === false;
      const says = read.value.metadata.annotations?.[SAFE_DETACH_ANNOTATION];
      const isWord = says === 'true' || (says === undefined && declaredDrivers.includes(name));
      return isWord && !isAttachless ? undefined : changed(`CSIDriver ${name} does not detach safely any more`);
    }),
  );
  return refusals.find((refusal) => refusal !== undefined);
}

function absent(read: Result<unknown>, what: string): Refusal | undefined {
  if (read.ok) return changed(`there is a ${what} again`);
  return read.error.kind === 'notFound' ? undefined : { kind: 'unreadable', error: read.error };
}

function missing(error: KubeError, what: string): Refusal {
  return error.kind === 'notFound' ? changed(`${what} is gone`) : { kind: 'unreadable', error };
}

function changed(what: string): Refusal {
  return { kind: 'changed', what };
}
