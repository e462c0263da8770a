/**
 * What somebody else has in mind with a node, as it is written on its object: one reading, for the case that is decided and for
 * the look right before an act (SAF-18).
 */

/** On a Node: we cordoned it, and may take that back. */
export const CORDONED_ANNOTATION = 'fenceline.dev/cordoned';

export interface Plans {
  /** By others: a cordon of ours says nothing of what they mean to do. */
  isCordoned: boolean;
  /** Its kubelet reports that the machine goes down in good order. */
  isShuttingDown: boolean;
  /** Until when who wants it left alone, as it is written, by name. */
  pauses: Readonly<Record<string, string>>;
}

/** On a Node: it is left alone until then, an RFC 3339 time; the name behind it says on whose behalf. */
export const PAUSE_PREFIX = 'fenceline.dev/pause.';

export interface PlannedNode {
  metadata: { annotations?: Record<string, string> | undefined };
  spec?: { unschedulable?: boolean | undefined } | undefined;
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

export function plansOf({ metadata, spec, status }: PlannedNode): Plans {
  const annotations = metadata.annotations ?? {};
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    isCordoned: spec?.unschedulable === true && annotations[CORDONED_ANNOTATION] === undefined,
    isShuttingDown: ready?.status === 'False' && goingDown.test(ready.message ?? ''),
    pauses: Object.fromEntries(
      Object.entries(annotations)
        .filter(([key]) => key.startsWith(PAUSE_PREFIX))
        .map(([key, until]) => [key.slice(PAUSE_PREFIX.length), until])
        .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ),
  };
}
