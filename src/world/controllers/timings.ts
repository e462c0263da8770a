/** The times and rates of kube-controller-manager, with its defaults; tests and scenarios scale them. */
export interface ControllerTimings {
  nodeMonitorPeriodMs: number;
  /** Silence after which a node is Unknown. 50 s in the flags of current versions, 40 s in older ones. */
  nodeMonitorGraceMs: number;
  /** The same for a node that never posted a status. */
  nodeStartupGraceMs: number;
  /** Nodes per second and zone that get a NoExecute taint. */
  nodeEvictionRate: number;
  /** The same in a partly disrupted zone, if it is a large one; in a small one it is 0. */
  secondaryNodeEvictionRate: number;
  unhealthyZoneThreshold: number;
  /** Zones of up to so many nodes are small. */
  largeClusterSize: number;
  podGcPeriodMs: number;
  /** How long a node has to be missing before its pods count as orphans. */
  podGcQuarantineMs: number;
  /** How long attach-detach waits for a volume that a node calls in use. */
  maxWaitForUnmountMs: number;
  /** False: it waits for ever (--disable-force-detach-on-timeout). */
  forceDetachOnTimeout: boolean;
  /** How long an attach or detach waits for the driver; then nobody knows how far it got. */
  attachTimeoutMs: number;
  /** How often attach-detach compares what it believes with the VolumeAttachments. */
  attachSyncPeriodMs: number;
  /** Entries of disruptedPods that are older did not happen. */
  disruptionTimeoutMs: number;
  jobBackoffFirstMs: number;
  jobBackoffMaxMs: number;
  /** What a simulated provisioner needs for a volume. */
  provisionMs: number;
}

export const defaultControllerTimings: ControllerTimings = {
  nodeMonitorPeriodMs: 5000,
  nodeMonitorGraceMs: 50_000,
  nodeStartupGraceMs: 60_000,
  nodeEvictionRate: 0.1,
  secondaryNodeEvictionRate: 0.01,
  unhealthyZoneThreshold: 0.55,
  largeClusterSize: 50,
  podGcPeriodMs: 20_000,
  podGcQuarantineMs: 40_000,
  maxWaitForUnmountMs: 360_000,
  forceDetachOnTimeout: true,
  attachTimeoutMs: 120_000,
  attachSyncPeriodMs: 60_000,
  disruptionTimeoutMs: 120_000,
  jobBackoffFirstMs: 10_000,
  jobBackoffMaxMs: 600_000,
  provisionMs: 500,
};
