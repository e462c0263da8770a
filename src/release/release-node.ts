/**
 * For each pod of a node in trouble: may it go, on what basis, or exactly why not.
 *
 * Each way is an ordered list of checks in a file of its own; the first one to which nothing objects is taken. Then what pods
 * share is looked at together.
 */
import { isOver } from '../api/facts.ts';
import type { WayName } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { byAssertion } from './by-assertion.ts';
import { byKernelCrash } from './by-kernel-crash.ts';
import { byAttachmentRecovery, byPolicy } from './by-policy.ts';
import { byPower } from './by-power.ts';
import { byRemedy } from './by-remedy.ts';
import { bySafeDetach } from './by-safe-detach.ts';
import { byStorageFence } from './by-storage-fence.ts';
import { withinBudgets } from './budgets.ts';
import type { Check, Objection } from './checks.ts';
import { objection, volumesOf } from './checks.ts';
import { withoutLatecomers } from './latecomers.ts';
import type { Fate, Way } from './way.ts';

/** The strongest first. */
export const ways: readonly Way[] = [
  byPower,
  byStorageFence,
  byKernelCrash,
  byRemedy,
  byAssertion,
  bySafeDetach,
  byPolicy,
  byAttachmentRecovery,
];

export function wayNamed(name: WayName): Way {
  const found = ways.find((way) => way.name === name);
  if (found === undefined) throw new Error(`there is no way ${name}`);
  return found;
}

export function releaseNode(nodeCase: NodeCase): Fate[] {
  const fates = nodeCase.pods.map((pod) => judgePod(nodeCase, pod));
  return withoutShared(nodeCase, withoutLatecomers(nodeCase, withinBudgets(nodeCase, fates)));
}

/** `refused`: what speaks against a way beyond its own checks. */
function judgePod(nodeCase: NodeCase, pod: PodFacts, refused: ReadonlyMap<WayName, Objection> = new Map()): Fate {
  const objections: { way: WayName; objection: Objection }[] = [];
  for (const way of ways) {
    const found = refused.get(way.name) ?? firstObjection(way.checks, nodeCase, pod);
    if (found === undefined) return { pod, goes: true, way: way.name, frees: way.frees(nodeCase, pod) };
    objections.push({ way: way.name, objection: found });
  }
  return { pod, goes: false, objections };
}

function firstObjection(checks: readonly Check[], nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  for (const check of checks) {
    const found = check(nodeCase, pod);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A volume that a pod which stays uses as well is not freed. Where the release rests on the volumes being detached, the
 * pod needs another way or stays too, and with it perhaps the next: until nothing changes any more.
 */
function withoutShared(nodeCase: NodeCase, before: readonly Fate[]): Fate[] {
  const refused = new Map<string, Map<WayName, Objection>>();
  let fates = [...before];
  for (;;) {
    const kept = usedByStaying(nodeCase, fates);
    let changed = false;
    fates = fates.map((fate) => {
      if (!fate.goes) return fate;
      const shared = fate.frees.find(({ volume }) => kept.has(volume));
      if (shared === undefined) return fate;
      changed = true;
      const user = kept.get(shared.volume);
      if (!wayNamed(fate.way).restsOnVolumes) {
        return { ...fate, frees: fate.frees.filter(({ volume }) => !kept.has(volume)) };
      }
      const message = `pod ${user} of the same node uses volume ${shared.volume} and stays`;
      const { pod, way } = fate;
      const against = refused.get(pod.uid) ?? new Map<WayName, Objection>();
      refused.set(pod.uid, against.set(way, objection('VolumeInUseHere', message)));
      return judgePod(nodeCase, pod, against);
    });
    if (!changed) return fates;
  }
}

/** Volumes by name, each with a pod that goes on using it. */
function usedByStaying(nodeCase: NodeCase, fates: readonly Fate[]): Map<string, string> {
  const kept = new Map<string, string>();
  for (const { goes, pod } of fates) {
    if (goes || isOver(pod)) continue;
    for (const volume of volumesOf(nodeCase, pod)) {
      if (volume.known) kept.set(volume.volume, `${pod.namespace}/${pod.name}`);
    }
  }
  return kept;
}
