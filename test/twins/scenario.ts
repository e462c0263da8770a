/**
 * A random scenario that runs on two clusters: what lives on four nodes of its own, and what befalls it when.
 *
 * Where pods go is determined, or two schedulers with equally good choices would make two histories: every pod has a
 * home, and at most one other node where it may go.
 */
export type NodeAt = 0 | 1 | 2 | 3;
export const poolSize = 4;

export interface Place {
  home: NodeAt;
  /** Open to it once it runs at home. */
  spare?: NodeAt;
}

export type WorkloadKind = 'StatefulSet' | 'Deployment' | 'DaemonSet' | 'Job' | 'Pod';

export interface Workload {
  kind: WorkloadKind;
  name: string;
  /** One for each replica; a DaemonSet is everywhere and has none. */
  places: Place[];
  volumes: boolean;
  parallel: boolean;
  /** `minAvailable` of its budget. */
  budget?: number;
}

export type MachineFault =
  | 'powerOff'
  | 'powerOn'
  | 'reboot'
  | 'hang'
  | 'resume'
  | 'partition'
  | 'heal'
  | 'kubeletStop'
  | 'kubeletStart';

export type Fault =
  | { do: MachineFault | 'cordon' | 'uncordon' | 'deleteNode'; node: NodeAt }
  | { do: 'taint' | 'untaint'; node: NodeAt; key: string; effect: string }
  /** `pod`: of a StatefulSet or by itself; `of`: the one of a workload that is not on its way out. */
  | { do: 'deletePod'; of: string; pod?: string; force: boolean }
  | { do: 'evict'; of: string; pod?: string }
  | { do: 'scale'; workload: string; replicas: number }
  /** More of the zone, so that most of it is silent. */
  | { do: 'zonePartition' | 'zoneHeal'; nodes: NodeAt[] }
  /** Nobody at all is left, also outside of the pool. */
  | { do: 'blackout' | 'lightsOn' }
  | { do: 'detach'; fault: 'none' | 'errors' | 'hangs' };

export interface Step {
  /** After the step before it. */
  afterMs: number;
  fault: Fault;
}

export interface Scenario {
  seed: number;
  /** Of its namespace, its zone, its driver, and of all its nodes and volumes the first part. */
  name: string;
  workloads: Workload[];
  steps: Step[];
  /** From the last step to the end. */
  restMs: number;
}

/** The times of both clusters, in milliseconds: what the stock controllers allow is scaled down, the rest is theirs. */
export const times = {
  graceMs: 12_000,
  monitorMs: 1000,
  tolerationMs: 15_000,
  evictionGapMs: 12_000,
  attachSyncMs: 5000,
  podGcMs: 20_000,
  quarantineMs: 40_000,
  forceDetachMs: 360_000,
  bootMs: 2000,
} as const;

export function nodeName(scenario: string, at: NodeAt): string {
  return `${scenario}-node-${at + 1}`;
}

export function driverOf(scenario: string): string {
  return `${scenario}.csi.test`;
}

/** Marks the nodes where one replica may be. */
export function placeLabel(workload: string, ordinal: number): string {
  return `place-${workload}-${ordinal}`;
}

export const poolLabel = 'twins';

export function describeFault(fault: Fault): string {
  const { do: what, ...rest } = fault;
  const details = Object.entries(rest).map(([key, value]) => {
    const shown =
      key === 'node' ? Number(value) + 1 : Array.isArray(value) ? value.map((at) => at + 1).join('+') : value;
    return `${key} ${String(shown)}`;
  });
  return [what, ...details].join(' ');
}
