/** What an installation begins with. */

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
