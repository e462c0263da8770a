/**
 * The pause for all, as it is written: a ConfigMap in the namespace of the operator. One reading of it, for the case that is
 * decided, for the look right before an act, and for whoever asks from outside. What it means is in pause.ts.
 */

export const PAUSE_NAME = 'fenceline-pause';

export const PAUSE_KEYS = ['by', 'reason', 'until'] as const;

/** As it is written, bounded: whoever may write there may write a lot. */
export interface WrittenPause {
  by?: string;
  reason?: string;
  /** An RFC 3339 time; absent: until somebody ends it. */
  until?: string;
  /** A key that means nothing. */
  unknown?: string;
  /** When the ConfigMap was made. */
  since?: string;
}

/** What was seen of it, and where it is looked for. `written` is absent where there is none. */
export interface SeenPause {
  namespace: string;
  written?: WrittenPause;
}

interface PauseObject {
  metadata: { creationTimestamp?: string | undefined };
  data?: Readonly<Record<string, string>> | undefined;
}

const maxName = 128;
const maxReason = 256;

export function writtenPause({ metadata, data = {} }: PauseObject): WrittenPause {
  const unknown = Object.keys(data).find((key) => !PAUSE_KEYS.some((known) => known === key));
  const { by, reason, until } = data;
  return {
    ...(by === undefined ? {} : { by: by.slice(0, maxName) }),
    ...(reason === undefined ? {} : { reason: reason.slice(0, maxReason) }),
    ...(until === undefined ? {} : { until: until.slice(0, maxName) }),
    ...(unknown === undefined ? {} : { unknown: unknown.slice(0, maxName) }),
    ...(metadata.creationTimestamp === undefined ? {} : { since: metadata.creationTimestamp }),
  };
}
