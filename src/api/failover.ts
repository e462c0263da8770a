/** Why a pod would not fail over today: the words of `fenceline check --workloads` (EXP-4). */

/** What each reason means. `never`: it would not run elsewhere; `limited`: it would, and something else would not work. */
export const FAILOVER_REASONS = {
  NoPolicy: { limits: 'never', means: 'no RemedyPolicy selects its node' },
  NotEnforced: { limits: 'never', means: 'the policy of its node decides and does nothing' },
  NoBasis: { limits: 'never', means: 'nothing would prove that it has stopped, and nobody accepts the risk' },
  EndlessToleration: { limits: 'never', means: 'Kubernetes would never ask it to go, and its policy waits for that' },
  NoController: { limits: 'never', means: 'nobody makes it again' },
  LocalVolume: { limits: 'never', means: 'its data is on its node' },
  SoleReplica: { limits: 'never', means: 'the only whole copy of its data is on its node' },
  VolumeUnknown: { limits: 'never', means: 'a claim of it has no volume that could be attached elsewhere' },
  Pinned: { limits: 'never', means: 'it may run on no other node' },
  NodeBound: { limits: 'never', means: 'its volume can be reached from no other node on which it may run' },
  TaintedElsewhere: { limits: 'never', means: 'it does not tolerate the taints of the nodes on which it could run' },
  PredecessorNotReady: { limits: 'never', means: 'its ordered set would first wait for another pod' },
  BudgetSpent: { limits: 'never', means: 'a budget allows no disruption, and its policy respects budgets' },
  ZonalVolume: { limits: 'limited', means: 'it survives the loss of its node, but not of its zone' },
  HostPath: { limits: 'limited', means: 'what it keeps on the disk of its node stays there' },
  RollingUpdate: { limits: 'limited', means: 'its replacement is made while it still has the volume' },
  DriverNotTolerating: { limits: 'limited', means: 'the driver of its volume is not placed on a node in quarantine' },
} as const;

export type FailoverReason = keyof typeof FAILOVER_REASONS;

export interface FailoverFinding {
  namespace: string;
  pod: string;
  node: string;
  reason: FailoverReason;
  /** `never`, `limited`. */
  failsOver: 'never' | 'limited';
  message: string;
  /** What to do about it. */
  advice: string;
}
