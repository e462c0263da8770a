/** What an installation begins with. */
import type { MachineEvent, Process } from '../machines/machine.ts';

export interface LonghornVolume {
  name: string;
  sizeGiB: number;
  /** The nodes of its replicas. */
  replicas: readonly string[];
  /** Absent: nobody uses it, and its replicas are stopped. */
  attachedTo?: string;
}

export interface LonghornSpec {
  diskGiB: number;
  rebuildMiBps: number;
  softAntiAffinity: boolean;
  volumes: readonly LonghornVolume[];
}

/** What it has to know of a machine: whether it lives, and what runs there. */
export interface StorageMachine {
  readonly name: string;
  readonly alive: boolean;
  readonly processes: ReadonlyMap<string, Process>;
  on(listener: (event: MachineEvent) => void): () => void;
}
