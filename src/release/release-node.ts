/**
 * For each pod of a node in trouble: may it go, on what basis, or exactly why not.
 *
 * There are eight ways, each an ordered list of checks in a file of its own; the first way to which nothing objects is
 * taken, so that the strongest basis comes first. Then what pods share is looked at together.
 */
import type { Basis } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { assertionChecks, assertionOf } from './by-assertion.ts';
import { crashChecks, crashedBy } from './by-kernel-crash.ts';
import { listedVolumes, policyChecks, recoveryChecks } from './by-policy.ts';
import { poweredOffBy, powerChecks } from './by-power.ts';
import { remediedBy, remedyChecks } from './by-remedy.ts';
import { declaredBy, protectedVolumes, safeDetachChecks } from './by-safe-detach.ts';
import { cutOffBy, storageFenceChecks } from './by-storage-fence.ts';
import type { Check, KnownVolume, Objection } from './checks.ts';
import { isOver } from '../api/facts.ts';
import { knownVolumes, objection, volumesOf } from './checks.ts';

export type WayName =
  | 'power'
  | 'storage fence'
  | 'kernel crash'
  | 'remedy'
  | 'assertion'
  | 'safe detach'
  | 'policy'
  | 'attachment recovery';

export interface Way {
  name: WayName;
  basis: Basis;
  checks: readonly Check[];
  /** Who answers for it. */
  by: (known: NodeCase) => string | undefined;
  /** Which volumes of the pod are freed with it. */
  frees: (known: NodeCase, pod: PodFacts) => KnownVolume[];
  podStays: boolean;
}

const byPolicy = ({ policy }: NodeCase): string | undefined =>
  policy.kind === 'one' ? `policy ${policy.policy.name}` : undefined;

export const powerWay: Way = {
  name: 'power',
  basis: 'PowerOff',
  checks: powerChecks,
  by: poweredOffBy,
  frees: knownVolumes,
  podStays: false,
};

export const assertionWay: Way = {
  name: 'assertion',
  basis: 'Asserted',
  checks: assertionChecks,
  by: (known) => assertionOf(known)?.by,
  frees: knownVolumes,
  podStays: false,
};

/** These rest on what is known of each volume: with one that another pod goes on using, the pod stays. */
const byVolume: ReadonlySet<WayName> = new Set(['safe detach', 'storage fence', 'attachment recovery']);

const ways: readonly Way[] = [
  powerWay,
  {
    name: 'storage fence',
    basis: 'StorageFenced',
    checks: storageFenceChecks,
    by: cutOffBy,
    frees: knownVolumes,
    podStays: false,
  },
  {
    name: 'kernel crash',
    basis: 'KernelCrashed',
    checks: crashChecks,
    by: crashedBy,
    frees: knownVolumes,
    podStays: false,
  },
  {
    name: 'remedy',
    basis: 'Asserted',
    checks: remedyChecks,
    by: remediedBy,
    frees: knownVolumes,
    podStays: false,
  },
  assertionWay,
  {
    name: 'safe detach',
    basis: 'StorageSafeDetach',
    checks: safeDetachChecks,
    by: declaredBy,
    frees: protectedVolumes,
    podStays: false,
  },
  {
    name: 'policy',
    basis: 'AcceptedRisk',
    checks: policyChecks,
    by: byPolicy,
    frees: listedVolumes,
    podStays: false,
  },
  {
    name: 'attachment recovery',
    basis: 'AcceptedRisk',
    checks: recoveryChecks,
    by: byPolicy,
    frees: listedVolumes,
    podStays: true,
  },
];

export type Outcome =
  | { pod: PodFacts; goes: true; way: Way; frees: readonly KnownVolume[] }
  | { pod: PodFacts; goes: false; objections: readonly { way: WayName; objection: Objection }[] };

export type Going = Extract<Outcome, { goes: true }>;

export function releaseNode(known: NodeCase): Outcome[] {
  const outcomes = known.pods.map((pod) => judgePod(known, pod));
  return withoutShared(known, outcomes);
}

/** `refused`: what speaks against a way beyond its own checks. */
function judgePod(known: NodeCase, pod: PodFacts, refused: ReadonlyMap<WayName, Objection> = new Map()): Outcome {
  const objections: { way: WayName; objection: Objection }[] = [];
  for (const way of ways) {
    const found = refused.get(way.name) ?? firstObjection(way.checks, known, pod);
    if (found === undefined) return { pod, goes: true, way, frees: way.frees(known, pod) };
    objections.push({ way: way.name, objection: found });
  }
  return { pod, goes: false, objections };
}

function firstObjection(checks: readonly Check[], known: NodeCase, pod: PodFacts): Objection | undefined {
  for (const check of checks) {
    const found = check(known, pod);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * A volume that a pod which stays uses as well is not freed. Where the release rests on the volumes being detached, the
 * pod needs another way or stays too, and with it perhaps the next: until nothing changes any more.
 */
function withoutShared(known: NodeCase, before: readonly Outcome[]): Outcome[] {
  const refused = new Map<string, Map<WayName, Objection>>();
  let outcomes = [...before];
  for (;;) {
    const kept = usedByStaying(known, outcomes);
    let changed = false;
    outcomes = outcomes.map((outcome) => {
      if (!outcome.goes) return outcome;
      const shared = outcome.frees.find(({ volume }) => kept.has(volume));
      if (shared === undefined) return outcome;
      changed = true;
      const user = kept.get(shared.volume);
      if (!byVolume.has(outcome.way.name)) {
        return { ...outcome, frees: outcome.frees.filter(({ volume }) => !kept.has(volume)) };
      }
      const message = `pod ${user} of the same node uses volume ${shared.volume} and stays`;
      const { pod, way } = outcome;
      const against = refused.get(pod.uid) ?? new Map<WayName, Objection>();
      refused.set(pod.uid, against.set(way.name, objection('VolumeInUseHere', message)));
      return judgePod(known, pod, against);
    });
    if (!changed) return outcomes;
  }
}

/** Volumes by name, each with a pod that goes on using it. */
function usedByStaying(known: NodeCase, outcomes: readonly Outcome[]): Map<string, string> {
  const kept = new Map<string, string>();
  for (const { goes, pod } of outcomes) {
    if (goes || isOver(pod)) continue;
    for (const volume of volumesOf(known, pod)) {
      if (volume.known) kept.set(volume.volume, `${pod.namespace}/${pod.name}`);
    }
  }
  return kept;
}
