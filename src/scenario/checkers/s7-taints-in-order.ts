/**
 * S7: force-eviction and out-of-service go once the pods and attachments that they are about are gone; the quarantine
 * goes last, from a node that is Ready. Judged when an operator takes one away. That the machine is clean is S9.
 */
import { isReady } from '../../world/objects/meta.ts';
import type { Machine } from '../../world/machines/machine.ts';
import type { Node, Taint } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished, isOfTheNode } from '../../world/objects/pods.ts';
import { tolerates } from '../../world/objects/tolerations.ts';
import type { ClusterState, StoredRelease } from '../cluster-state.ts';
import type { Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { isQuarantined, quarantine, whyItWouldComeAgain } from './late.ts';
import { recordsOf, volumesOf } from './release.ts';
import { assertingKeys } from './s5-not-while-restarting.ts';

export const s7: Invariant = {
  id: 'S7',
  check: ({ state, machineOf, nowMs, wallMs, violated, exempt }) => {
    /** When a person has last done something to the cluster: what was under way for them may be over. */
    let actedAtMs = -Infinity;
    /** Who was there when the quarantine began, by node. */
    const present = new Map<string, Set<string>>();
    return {
      onAct() {
        actedAtMs = nowMs();
      },
      onStored({ object, previous }) {
        if (object.kind !== 'Node' || !isQuarantined(object) || isQuarantined(previous)) return;
        const { name } = object.metadata;
        const here = [...state.pods.values()].filter(({ spec }) => spec.nodeName === name);
        present.set(name, new Set(here.map(({ metadata }) => metadata.uid ?? '')));
      },
      onWrite(write) {
        for (const taint of removedFrom(write)) {
          const node = write.after as Node;
          const stays = staysIn(node, present.get(node.metadata.name));
          const early =
            taint.key === quarantine.key ? tooEarly(state, node) : unfinished(state, node, { taint, stays });
          if (early === undefined) continue;
          const told = `${node.metadata.name} lost its taint ${taint.key} while ${early}`;
          if (taint.key !== assertingKeys[1]) violated(told);
          // On a machine that runs it must not stand a moment longer (S5).
          else if (isOn(machineOf(node.metadata.name))) continue;
          else if (nowMs() - actedAtMs < heededMs) exempt('PersonsAct', told);
          else if (isHungUp(state, node, wallMs())) exempt('KubernetesAct', told);
          else violated(told);
        }
      },
    };
  },
};

/** So long after somebody has paused, edited or deleted something, that may be the reason. */
const heededMs = 120_000;
/** Whoever detaches has had this long: its driver refuses, or hangs, and the machine is not left off for that. */
const detachMs = 60_000;

/** All of its pods are gone, and only attachments are left. */
function isHungUp(state: ClusterState, node: Node, atMs: number): boolean {
  const goneAt = releasesOf(state, node).flatMap(({ podsGoneAt, endedAt }) => (endedAt ? [] : (podsGoneAt ?? '')));
  return goneAt.length > 0 && goneAt.every((at) => atMs - Date.parse(at) >= detachMs);
}

function isOn(machine: Machine | undefined): boolean {
  return machine !== undefined && machine.power !== 'off';
}

function removedFrom(write: Write): Taint[] {
  if (write.resource !== 'nodes' || write.verb === 'delete' || !succeeded(write)) return [];
  const before: Node | undefined = write.before;
  const after: Node | undefined = write.after;
  const kept = new Set((after?.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`));
  return (before?.spec?.taints ?? []).filter(
    ({ key, effect }) => (key === quarantine.key || assertingKeys.includes(key)) && !kept.has(`${key}:${effect}`),
  );
}

/** Something that was released, on whatever basis, or has to be because of the taint. */
function unfinished(
  state: ClusterState,
  node: Node,
  { taint, stays }: { taint: Taint; stays: (pod: Pod) => boolean },
): string | undefined {
  const { name } = node.metadata;
  const left = leftOf(state, name, releasesOf(state, node));
  if (left !== undefined) return left;
  // Nothing was begun, and the node is back: nothing has to go any more.
  if (isReady(node)) return undefined;
  const pod = [...state.pods.values()].find((one) => one.spec.nodeName === name && isMeant(one, taint) && !stays(one));
  return pod === undefined ? undefined : `pod ${pod.metadata.namespace}/${pod.metadata.name} is still there`;
}

/** Whoever came to a quarantine that it tolerates, or to this very node, stays and holds nothing up (SAF-9). */
function staysIn(node: Node, present: ReadonlySet<string> | undefined): (pod: Pod) => boolean {
  if (present === undefined || !isQuarantined(node)) return () => false;
  return (pod) => !present.has(pod.metadata.uid ?? '') && whyItWouldComeAgain(pod) !== undefined;
}

function tooEarly(state: ClusterState, node: Node): string | undefined {
  if (!isReady(node)) return 'it is not Ready';
  const other = node.spec?.taints?.find(({ key }) => key === assertingKeys[0]);
  if (other !== undefined) return `it still has ${other.key}`;
  return leftOf(state, node.metadata.name, releasesOf(state, node));
}

/** Of this Node, in whatever boot: a detach has to be finished also after a reboot. */
function releasesOf(state: ClusterState, node: Node): StoredRelease[] {
  const { uid } = node.metadata;
  return recordsOf(state, node.metadata.name).filter(({ nodeUid }) => nodeUid === uid);
}

function leftOf(state: ClusterState, node: string, records: readonly StoredRelease[]): string | undefined {
  const here = [...state.pods.values()].filter((pod) => pod.spec.nodeName === node && !isFinished(pod));
  const released = new Set(records.flatMap(({ pods = [] }) => pods.map(({ uid }) => uid)));
  const pod = here.find(({ metadata }) => metadata.deletionTimestamp !== undefined && released.has(metadata.uid ?? ''));
  if (pod !== undefined) return `released pod ${pod.metadata.namespace}/${pod.metadata.name} is still there`;
  const used = new Set(here.flatMap((one) => volumesOf(state, one)));
  const names = new Set(records.flatMap(({ attachments = [] }) => attachments));
  const attachment = [...state.attachments.values()].find(
    ({ metadata, spec }) =>
      spec.nodeName === node && names.has(metadata.name) && !used.has(spec.source.persistentVolumeName ?? ''),
  );
  return attachment && `released volume ${attachment.spec.source.persistentVolumeName} is still attached`;
}

/** Pods that belong to the node and those that tolerate the taint, for ever or for a while, are not. */
function isMeant(pod: Pod, taint: Taint): boolean {
  if (isFinished(pod) || isOfTheNode(pod)) return false;
  return !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}
