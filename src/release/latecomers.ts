/**
 * Pods that came after the quarantine (SAF-9). The taint keeps a scheduler away, so that whatever comes all the same was bound
 * by one that had not seen it yet, tolerates it, or is made for this very node. The first goes like the others, once for each
 * controller and incident; of the rest the next one would come as soon as this one is gone: it stays, and nothing waits for it.
 */
import { hasTaint } from '../api/facts.ts';
import { MAX_LATE, MAX_QUARANTINED_PODS } from '../api/fence-names.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import { tolerates } from './by-assertion.ts';
import type { Check, Objection } from './checks.ts';
import { objection } from './checks.ts';
import type { Fate } from './way.ts';

const quarantine = { key: QUARANTINE_KEY, effect: 'NoSchedule' };

const reasonsToStay: readonly Check[] = [toleratesQuarantine, boundHere, anotherWent];

function toleratesQuarantine(_: NodeCase, { tolerations }: PodFacts): Objection | undefined {
  return tolerations.some((toleration) => tolerates(toleration, quarantine))
    ? objection('Latecomer', 'it came after the quarantine, which it tolerates')
    : undefined;
}

function boundHere(_: NodeCase, { isPinned }: PodFacts): Objection | undefined {
  return isPinned ? objection('Latecomer', 'it came after the quarantine, and is bound to this node') : undefined;
}

function anotherWent(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  const late = lateOf(nodeCase);
  const { owner } = pod;
  if (!late.includes(controllerOf(pod)) && late.length < MAX_LATE) return undefined;
  const whose = owner === undefined ? '' : ` of ${owner.kind} ${owner.name}`;
  return objection('Latecomer', `it came after the quarantine, and one${whose} that did has been released already`);
}

function controllerOf({ owner }: PodFacts): string {
  return owner?.uid ?? '';
}

function lateOf({ fence }: NodeCase): readonly string[] {
  return fence?.status.incident?.late ?? [];
}

/** Who was there is written down before the taint is put on the node; without it, or where not all of them fit, nobody is late. */
function isLatecomer({ node, fence }: NodeCase, { uid }: PodFacts): boolean {
  const known = fence?.status.quarantine;
  if (known === undefined || !hasTaint(node, quarantine.key, quarantine.effect)) return false;
  return known.pods.length < MAX_QUARANTINED_PODS && !known.pods.includes(uid);
}

/** What was begun is brought to its end. */
function isOnRecord({ fence }: NodeCase, { uid }: PodFacts): boolean {
  return (fence?.status.releases ?? []).some(({ pods }) => pods.some((pod) => pod.uid === uid));
}

function whyItStays(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  if (!isLatecomer(nodeCase, pod) || isOnRecord(nodeCase, pod)) return undefined;
  for (const check of reasonsToStay) {
    const found = check(nodeCase, pod);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** It stays whatever becomes of the others, so that nothing waits for it. */
export function staysBehind(nodeCase: NodeCase, pod: PodFacts): boolean {
  return whyItStays(nodeCase, pod) !== undefined;
}

/** Of several that came at once the first goes: what it takes is part of what the next one finds. */
export function withoutLatecomers(nodeCase: NodeCase, fates: readonly Fate[]): Fate[] {
  let found = nodeCase;
  return fates.map((fate) => {
    if (!fate.goes) return fate;
    const { pod, way } = fate;
    const against = whyItStays(found, pod);
    if (against !== undefined) return { pod, goes: false, objections: [{ way, objection: against }] };
    found = withLate(found, lateAfter(found, [fate]));
    return fate;
  });
}

/** The controllers of latecomers that were released, with those that go now. */
export function lateAfter(nodeCase: NodeCase, fates: readonly Fate[]): string[] {
  const going = fates.filter(({ goes, pod }) => goes && isLatecomer(nodeCase, pod) && !isOnRecord(nodeCase, pod));
  return [...new Set([...lateOf(nodeCase), ...going.map(({ pod }) => controllerOf(pod))])];
}

function withLate(nodeCase: NodeCase, late: string[]): NodeCase {
  const { fence } = nodeCase;
  if (fence?.status.incident === undefined) return nodeCase;
  const incident = { ...fence.status.incident, late };
  return { ...nodeCase, fence: { ...fence, status: { ...fence.status, incident } } };
}
