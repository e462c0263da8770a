/**
 * What somebody else has in mind with a node, as it is written on its object: one reading, for the case that is decided and for
 * the look right before an act (SAF-18).
 */
import type { OtherActor } from './others.ts';
import { othersAt } from './others.ts';

/** On a Node: we cordoned it, and may take that back. Who uncordons it leaves this behind: see `isOurCordon`. */
export const CORDONED_ANNOTATION = 'fenceline.dev/cordoned';

/** What that says while a drain of ours empties the node, and only then. */
export const DRAIN_NOTE = 'drain';

export interface Plans {
  /** By others: a cordon of ours says nothing of what they mean to do. */
  isCordoned: boolean;
  /** Its kubelet reports that the machine goes down in good order. */
  isShuttingDown: boolean;
  /** Who else is at it; absent: nobody. */
  others?: readonly OtherActor[];
  /** Until when who wants it left alone, as it is written, by name. */
  pauses: Readonly<Record<string, string>>;
}

/** On a Node: it is left alone until then, an RFC 3339 time; the name behind it says on whose behalf. */
export const PAUSE_PREFIX = 'fenceline.dev/pause.';

/** Who has set which fields, as the API server notes it. */
interface FieldOwner {
  manager?: string;
  fieldsV1?: { 'f:spec'?: Record<string, unknown> };
}

/** By this name our writes are noted. */
const ourManager = 'fenceline';

/**
 * We cordoned it, and nobody has taken that away since. Where somebody did and has cordoned it again, our annotation is still
 * there, and the API server notes the cordon as theirs (S8).
 */
export function isOurCordon(node: Omit<PlannedNode, 'status'>): boolean {
  const { metadata, spec } = node;
  if (spec?.unschedulable !== true || metadata.annotations?.[CORDONED_ANNOTATION] === undefined) return false;
  const owners = cordonOwners(node);
  return owners.length === 0 || owners.includes(ourManager);
}

/**
 * Somebody empties it: whoever has cordoned it, or a drain of ours. That a fence or a remedy lets no pods onto a node is no reason to
 * have its replicas leave: its disks are whole, and it may be back in a minute (DRN-4). Beside a cordon of ours it is a drain where
 * others hold to the cordon as well, or mark the node as one that they remove or reboot; `kubectl drain` writes nothing to a node
 * that is cordoned already, and waits.
 */
export function isBeingDrained(node: Omit<PlannedNode, 'status'>): boolean {
  if (node.spec?.unschedulable !== true) return false;
  const note = node.metadata.annotations?.[CORDONED_ANNOTATION];
  if (!isOurCordon(node) || note === DRAIN_NOTE) return true;
  const isShared = cordonOwners(node).some((manager) => manager !== ourManager);
  return isShared || othersAt(node).some(({ does }) => does !== 'remedies');
}

function cordonOwners({ metadata }: Omit<PlannedNode, 'status'>): (string | undefined)[] {
  return (metadata.managedFields ?? [])
    .filter(({ fieldsV1 }) => 'f:unschedulable' in (fieldsV1?.['f:spec'] ?? {}))
    .map(({ manager }) => manager);
}

export interface PlannedNode {
  metadata: {
    annotations?: Record<string, string> | undefined;
    managedFields?: readonly FieldOwner[] | undefined;
    deletionTimestamp?: string | undefined;
  };
  spec?: { unschedulable?: boolean | undefined; taints?: readonly { key: string }[] | undefined } | undefined;
  status?:
    | {
        conditions?:
          | readonly { type?: string | undefined; status?: string; reason?: string; message?: string }[]
          | undefined;
      }
    | undefined;
}

/** What a kubelet says while it holds up the shutdown of its machine. */
const goingDown = /\bnode is shutting down\b/i;

export function plansOf(node: PlannedNode): Plans {
  const { metadata, spec, status } = node;
  const annotations = metadata.annotations ?? {};
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const others = othersAt(node);
  return {
    ...(others.length === 0 ? {} : { others }),
    isCordoned: spec?.unschedulable === true && !isOurCordon(node),
    isShuttingDown: ready?.status === 'False' && goingDown.test(ready.message ?? ''),
    pauses: Object.fromEntries(
      Object.entries(annotations)
        .filter(([key]) => key.startsWith(PAUSE_PREFIX))
        .map(([key, until]) => [key.slice(PAUSE_PREFIX.length), until])
        .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ),
  };
}
