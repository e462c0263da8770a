/** What is kept of what was done about a node: the words for it; apart from the acts themselves, which know of records. */
/** Acts of ours, and what people did that bears on them. */
export const DEEDS = [
  'Quarantine',
  'Untaint',
  'MarkOutOfService',
  'MarkUnready',
  'DeletePod',
  'FreePod',
  'FreeVolumes',
  'FenceVolume',
  'Detach',
  'DeleteNode',
  'PowerOff',
  'PowerOn',
  'CutStorage',
  'ConnectStorage',
  'Cordon',
  'Uncordon',
  'Drain',
  'RunJob',
  'DeleteMachine',
  'Requested',
  'Approved',
  'HeldBack',
  'LetGoOn',
] as const;

/** `Begun`: whoever did it has not said yet what came of it. `Dropped`: what it rested on was not so any more. */
export const DEED_RESULTS = ['Begun', 'Done', 'Failed', 'Unknown', 'Dropped'] as const;

export type DeedName = (typeof DEEDS)[number];
export type DeedResult = (typeof DEED_RESULTS)[number];

export interface Deed {
  deed: DeedName;
  on: readonly string[];
}

/** What came of something that was done at once, in the pass before. */
export interface DeedOutcome extends Deed {
  /** `again`: it was so already. */
  result: 'Done' | 'Failed' | 'again';
  message?: string;
}
