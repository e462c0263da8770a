/**
 * A way of release: everything about one reason for which pods may go, from the first check to the end of what was begun.
 * A new way is a file that exports such a value, and a line in release-node.ts.
 */
import type { ReleaseRecord, WayName } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { Grounds } from '../api/steps.ts';
import type { Check, KnownVolume, Objection, StuckReason } from './checks.ts';

type OnlyBasis<G> = G extends Grounds ? Omit<G, keyof CommonPart> : never;
type CommonPart = Pick<
  Grounds,
  'node' | 'nodeUid' | 'bootId' | 'taints' | 'leaseRenewTime' | 'heartbeatTime' | 'policy' | 'pause' | 'freed' | 'epoch'
>;
/** What grounds of a basis say beyond what all of them do, and a taint that has to stand beside the quarantine. */
export type BasisGrounds = OnlyBasis<Grounds> & { taint?: { key: string; effect: string } };

/** What a release is about to let go: the drivers of its volumes. */
export interface Freed {
  drivers: readonly string[];
}

export interface Way {
  readonly name: WayName;
  readonly basis: ReleaseRecord['basis'];
  /** In this order; the first objection is the answer. */
  readonly checks: readonly Check[];
  /** Who answers for it. */
  readonly by: (nodeCase: NodeCase) => string | undefined;
  /** Which volumes of the pod are freed with it. */
  readonly frees: (nodeCase: NodeCase, pod: PodFacts) => KnownVolume[];
  /** The object of the pod stays, and only its volumes are freed. */
  readonly podStays: boolean;
  /** It rests on what is known of each volume: with one that another pod goes on using, the pod stays. */
  readonly restsOnVolumes: boolean;
  /**
   * Nothing runs on the node at all: what no pod that stays uses goes as well, also where its pod is long gone. Absent:
   * never.
   */
  readonly clearsNode?: (nodeCase: NodeCase) => boolean;
  /** A kubelet that lives is no objection. */
  readonly toleratesLife: (nodeCase: NodeCase) => boolean;
  /** What its acts rest on, to be read live before each. */
  readonly grounds: (nodeCase: NodeCase, freed: Freed) => BasisGrounds;
  /** Whether what was begun in its name may still be brought to its end by us. */
  readonly stillStands: (nodeCase: NodeCase, record: ReleaseRecord) => boolean;
  /** Objections by which it says that nobody has opened it: they explain nothing to whoever waits for a pod. */
  readonly unopened: readonly StuckReason[];
}

/** What becomes of a pod: it goes by one of the ways, or each of them objects. */
export type Fate =
  | { pod: PodFacts; goes: true; way: WayName; frees: readonly KnownVolume[] }
  | { pod: PodFacts; goes: false; objections: readonly { way: WayName; objection: Objection }[] };

export type Going = Extract<Fate, { goes: true }>;

export function never(): boolean {
  return false;
}
