/** What every room reads the same way out of the facts. */
import type { LadderThreshold, LiveNode, NodeCase, PodFacts, RemedyFacts } from './release-view.ts';
import { ownOf } from './own.ts';

interface FenceSigns {
  phase: string;
  releasedAt?: string | undefined;
  waitsFor?: string | undefined;
  switched?:
    | readonly {
        device?: string | undefined;
        commandSentAt?: string | undefined;
        confirmedAt?: string | undefined;
      }[]
    | undefined;
  told?: readonly string[] | undefined;
  lost?: readonly object[] | undefined;
}

/** In these a machine is off, or comes back, whoever switched it off. */
const underWay: ReadonlySet<string> = new Set(['off', 'poweringOn', 'booting', 'recovering']);

/** A fence has switched something, or found it switched off, and has not ended. */
export function isUnderFence(fence: FenceSigns | undefined): boolean {
  if (fence === undefined || fence.phase === 'finished' || fence.phase === 'failed') return false;
  const { phase, told, lost, switched = [] } = fence;
  return underWay.has(phase) || told !== undefined || lost !== undefined || switched.length > 0;
}

/** What it has cut of its machine, or may have, is not undone: a fact about that machine, whatever becomes of its Node object. */
export function hasCut(fence: FenceSigns | undefined): boolean {
  if (fence === undefined || fence.phase === 'finished') return false;
  const { told, lost, switched = [] } = fence;
  if (told !== undefined || lost !== undefined) return true;
  return switched.some(({ device, commandSentAt }) => !!device && commandSentAt !== undefined);
}

/** By what the devices of a machine are found whose Node object is gone: its name alone. */
export function goneNode(name: string): LiveNode {
  return { name, uid: '', resourceVersion: '', bootId: '', labels: {}, ready: undefined, taints: [], volumesInUse: [] };
}

/** Until what may go has gone, and not through the boot. */
const cutting: ReadonlySet<string> = new Set(['isolating', 'isolated', 'poweringOff', 'off']);

/** From the first command until all that may go has gone. What was found off was told nothing. */
export function isCutting(fence: FenceSigns): boolean {
  if (!cutting.has(fence.phase)) return false;
  if (fence.releasedAt !== undefined || fence.waitsFor !== undefined) return false;
  return (fence.switched ?? []).some(({ commandSentAt }) => commandSentAt !== undefined);
}

export type SlotKind = 'fence' | 'remedy';

/** As it is stored, or about to be. */
export interface Slotted {
  spec?: { stop?: boolean | undefined } | undefined;
  status?:
    | {
        fence?: FenceSigns | undefined;
        ladders?: readonly { phase: string; begunAt?: string | undefined }[] | undefined;
        hold?: object | undefined;
      }
    | undefined;
}

/**
 * Whether a node has one of the slots, as its record says: one reading for what this process has decided, for the view of the
 * records and for the live look before an act (STM-4). What has ended, or can do no more, has none (SAF-10). Whoever holds a fence
 * does not undo what its devices were told: it has its slot until it is stored that it is at rest. `remedy`: a Job, a drain or the
 * deletion of a machine.
 */
export function holdsSlot(kind: SlotKind, { spec, status }: Slotted): boolean {
  const { fence, ladders = [], hold } = status ?? {};
  if (kind === 'fence') return fence !== undefined && isCutting(fence);
  const isHeld = spec?.stop === true || hold !== undefined;
  return !isHeld && ladders.some(({ phase, begunAt }) => phase === 'running' && begunAt !== undefined);
}

/**
 * Whether its boot ID is that of a kernel below it, which says nothing of its own boots (FEN-16). That another node had the same
 * is on record, and true although that node is gone.
 */
export function sharesBoot({ node, fence }: Pick<NodeCase, 'node' | 'fence'>): boolean {
  if (node === undefined) return false;
  return node.sharesBootId === true || fence?.status.incident?.sharedBootId === node.bootId;
}

/** It is over, one way or the other; a failed one may begin anew. */
export function phaseHasEnded(phase: string | undefined): boolean {
  return phase === 'finished' || phase === 'failed';
}

/** Clocks are that far apart, and no further. */
export const CLOCKS_DIFFER_MS = 60_000;

/** It is from before there was this object, which was then restored from a backup, or copied. */
export function isFromBefore(
  at: string | undefined,
  object: { metadata?: { creationTimestamp?: string | undefined } },
): boolean {
  return Date.parse(at ?? '') < Date.parse(object.metadata?.creationTimestamp ?? '') - CLOCKS_DIFFER_MS;
}

/** `NotTrue` is False and Unknown; a condition that nobody reports is neither. */
export function isStatus(status: string, wanted: string): boolean {
  return wanted === 'NotTrue' ? status !== 'True' : status === wanted;
}

/** Where a ladder for silence, as the Lease or Kubernetes tells of it, fences; undefined: nowhere. */
export function fenceRung(
  { condition, lease, remedies }: LadderThreshold,
  kindOf: (remedy: string) => string | undefined,
): number | undefined {
  const isOfSilence = lease !== undefined || (condition?.type === 'Ready' && isStatus('Unknown', condition.status));
  const position = isOfSilence ? remedies.findIndex(({ name }) => kindOf(name) === 'fence') : -1;
  return position < 0 ? undefined : position;
}

export function fencesSilence({ thresholds, kinds }: Pick<RemedyFacts, 'thresholds' | 'kinds'>): boolean {
  return thresholds.some((one) => fenceRung(one, (name) => ownOf(kinds, name)) !== undefined);
}

type Belonging = { mirror: boolean; owner?: { kind: string } | undefined };

/** Of any group: whatever calls itself so has a pod for each node. */
export function isOfDaemonSet({ owner }: Pick<Belonging, 'owner'>): boolean {
  return owner?.kind === 'DaemonSet';
}

/** It runs there because of the node, and would be made again there: it is not moved elsewhere. */
export function belongsToNode(pod: Belonging): boolean {
  return pod.mirror || isOfDaemonSet(pod);
}

/** Its processes have ended, or the object says so: it uses nothing any more. */
export function isOver({ phase }: Pick<PodFacts, 'phase'>): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

/**
 * Somebody will still look at it when it is deleted: its object stays for a finalizer, or a Job counts how it ended. To
 * them it has to say that it is over (POD-6).
 */
export function isStillLookedAt({ hasFinalizers, owner }: Pick<PodFacts, 'hasFinalizers' | 'owner'>): boolean {
  return hasFinalizers || (owner?.group === 'batch' && owner.kind === 'Job');
}

export function hasTaint(node: LiveNode | undefined, key: string, effect: string): boolean {
  return node?.taints.some((taint) => taint.key === key && taint.effect === effect) ?? false;
}

/** As kubelets and the attach-detach controller call a CSI volume in the status of a Node. */
export function nameInUse({ csi }: { csi?: { driver: string; handle: string } }): string | undefined {
  return csi === undefined ? undefined : `kubernetes.io/csi/${csi.driver}^${csi.handle}`;
}

/** With milliseconds: what begins at different times is told apart by it. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** `Time` of the API: whole seconds. */
export function clockTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** By which a policy is told from one that was edited, or made anew, since. */
export function identityOf(policy: { name: string; uid: string; generation: number }): typeof policy {
  const { name, uid, generation } = policy;
  return { name, uid, generation };
}
