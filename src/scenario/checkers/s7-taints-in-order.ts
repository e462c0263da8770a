/**
 * S7: force-eviction and out-of-service go once the pods and attachments that they are about are gone; the quarantine
 * goes last, from a node that is Ready. Judged when an operator takes one away. That the machine is clean is S9.
 */
import { isReady } from '../../world/objects/meta.ts';
import type { Node, Taint } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished, isOfTheNode } from '../../world/objects/pods.ts';
import { tolerates } from '../../world/objects/tolerations.ts';
import type { ClusterState, StoredRelease } from '../cluster-state.ts';
import type { Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { isQuarantined, quarantine, whyItWouldComeAgain } from './late.ts';
import { recordsOf, volumesOf } from './release.ts';
import { assertingKeys, outOfService } from './s5-not-while-restarting.ts';
import { EarlyEnds } from './early-ends.ts';

export const s7: Invariant = {
  id: 'S7',
  check: (context) => {
    const { state, violated, exempt } = context;
    const ends = new EarlyEnds(context);
    /** Who was there when the quarantine began, by node. */
    const present = new Map<string, Set<string>>();
    /** `node controller`: of whose pods one that came later has gone again. */
    const spent = new Set<string>();
    return {
      onAct: (act, node) => ends.acted(act, node),
      onWire: (event) => ends.heard(event),
      onMachine: ({ type }, machine) => ends.happened(type, machine),
      onStored(change, user) {
        ends.stored(change, user);
        const { type, object, previous } = change;
        if (type === 'DELETED' && object.kind === 'Pod') {
          const pod = object as Pod;
          if (present.get(pod.spec.nodeName ?? '')?.has(pod.metadata.uid ?? '') === false) spent.add(controllerOf(pod));
        }
        if (object.kind !== 'Node' || !isQuarantined(object) || isQuarantined(previous)) return;
        const { name } = object.metadata;
        const here = [...state.pods.values()].filter(({ spec }) => spec.nodeName === name);
        present.set(name, new Set(here.map(({ metadata }) => metadata.uid ?? '')));
        for (const key of spent) if (key.startsWith(`${name} `)) spent.delete(key);
      },
      onWrite(write) {
        for (const taint of removedFrom(write)) {
          const node = write.after as Node;
          const stays = staysIn(node, present.get(node.metadata.name), spent);
          const early =
            taint.key === quarantine.key ? tooEarly(state, node) : unfinished(state, node, { taint, stays });
          if (early === undefined) continue;
          const told = `${node.metadata.name} lost its taint ${taint.key} while ${early}`;
          const end = taint.key === outOfService ? ends.of(node, releasesOf(state, node)) : undefined;
          if (end === undefined) violated(told);
          else exempt(end.exemption, `${told}: ${end.why}`);
        }
      },
    };
  },
};

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

/**
 * Whoever came to a quarantine that it tolerates, or to this very node, or after another one of its controller that came and went, stays
 * and holds nothing up (SAF-9).
 */
function staysIn(
  node: Node,
  present: ReadonlySet<string> | undefined,
  spent: ReadonlySet<string>,
): (pod: Pod) => boolean {
  if (present === undefined || !isQuarantined(node)) return () => false;
  return (pod) =>
    !present.has(pod.metadata.uid ?? '') && (whyItWouldComeAgain(pod) !== undefined || spent.has(controllerOf(pod)));
}

function controllerOf({ metadata, spec }: Pod): string {
  return `${spec.nodeName} ${metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid}`;
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
