/** What `fenceline status` says of one node, as programs read it. */
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { Judgement } from '../api/view.ts';
import type { DrainState } from '../report/drain-status.ts';
import type { Quiet } from './status-quiet.ts';

export interface NodeStatus extends Quiet {
  node: string;
  verdict: Judgement['verdict'];
  reason: Judgement['reason'];
  explanation: string;
  zone: string;
  unschedulable: boolean;
  /** By us: it takes no pods until it is back and clean. */
  quarantined: boolean;
  /** By a taint of an administrator, which nobody else takes away. */
  outOfService?: string;
  evidence: Judgement['evidence'];
  /** What is being done about it; absent where there is nothing to do. */
  recovery?: Recovery;
  /** By which of its devices it could not be fenced when they were last asked, and why. */
  unfenceable?: readonly Unfenceable[];
  /** Why a person should look, also at a node that is well by now. */
  alarm?: { reason: string; message: string; since: string };
  /** What a policy under `mode: DryRun` would have done about it, also after it has come back by itself. */
  rehearsal?: Pick<NonNullable<NodeFenceStatus['rehearsal']>, 'steps' | 'waitsFor'>;
  /** Of a cordoned node under a DrainPolicy: what its drain waits for, from the status that the operator keeps. */
  drain?: DrainState;
}

export interface Unfenceable {
  device: string;
  reason: string;
  message: string;
}

/** From the NodeFence of the node, which the operator keeps. */
export interface Recovery {
  trouble: string;
  hold?: string;
  /** What somebody can type about the hold, and when or what for. */
  command?: string;
  /** How far its fence is, and by what; absent: there is none, or it is over. */
  fence?: { reason: string; message: string; since: string };
  /** What comes next, and when, as far as that is known. */
  next?: NodeFenceStatus['next'];
  waitsFor?: string;
  releases: { basis: string; by?: string; pods: number; ended: boolean }[];
  stuck: NodeFenceStatus['stuck'];
}
