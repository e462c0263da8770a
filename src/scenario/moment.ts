/** What expectations are compared with at one moment, and what comes of that. */
import type { StorageReport } from '../world/longhorn/truth.ts';
import type { VolumeReport } from '../world/storage/ledger.ts';
import type { Baseline } from './baseline.ts';
import type { ClusterState } from './cluster-state.ts';
import type { FenceCount } from './fence-count.ts';

export interface Moment {
  state: ClusterState;
  baseline: Baseline;
  fences: FenceCount;
  /** Undefined: no drain of this node was begun. */
  drainOf: (node: string) => 'running' | 'done' | 'failed' | undefined;
  ledgerOf: (volume: string) => VolumeReport | undefined;
  /** A volume with replicas, as it really is. */
  replicatedOf: (volume: string) => StorageReport | undefined;
}

export interface Finding {
  holds: boolean;
  detail: string;
}
