/**
 * What a decision wants done. What can be taken back at any time is free; everything else carries the grounds on which it
 * rests, and `act` finds them unchanged by live reads before it does anything (S15). An act without grounds does not compile.
 */
import type { BudgetedPod } from './budgets.ts';
import type { SlotKind } from './facts.ts';
import type { Method } from './fence-config.ts';
import type { SeenPause } from './seen-pause.ts';
import type { OtherActor } from './others.ts';
import type { Plans } from './plans.ts';
import type { PodFacts, Remediation } from './release-view.ts';

/** What grounds of every kind name, to be found unchanged right before the act. */
interface CommonGrounds {
  node: string;
  /** Absent: the Node object is gone, and has to be gone still. */
  nodeUid?: string;
  bootId?: string;
  /** Taints that must be on the node: the quarantine, and an assertion that the release rests on. */
  taints: readonly { key: string; effect: string }[];
  /** The Lease must not have been renewed since, or made, if it is empty; absent where a living kubelet is no objection. */
  leaseRenewTime?: string;
  /** Nor must it have written its status: `lastHeartbeatTime` of Ready, as written. */
  heartbeatTime?: string;
  policy?: { name: string; uid: string; generation: number };
  /**
   * The pause for all has to be as it was seen: nobody has paused or gone on since. `any`: it holds nothing of this back, and does not
   * have to be known.
   */
  pause: SeenPause | 'any';
  /** Entries of volumesInUse that were taken out: one that is back proves a living kubelet. */
  freed: readonly string[];
  /** Of the record, which must not have been taken over by another instance. */
  epoch: number;
  /** Of a cut that somebody may have other plans with, or that may free nothing; absent where that does not matter. */
  worth?: Worth;
  /** Fewer other nodes than this have a slot, by the records as they are read then; absent where none is needed. */
  slot?: { kind: SlotKind; max: number };
  /** Pods that go only while every budget over them allows a disruption; absent: whatever budgets say. */
  budgeted?: readonly BudgetedPod[];
  /** All that may be on the node; absent where it does not matter who is there. */
  pods?: readonly SeenPod[];
}

/** A pod of the node as it was when that was weighed: none more may be there, and one in service has to be so still. */
export interface SeenPod {
  uid: string;
  /** Neither over nor sent away by anybody. */
  isInService: boolean;
}

/** Why something that is on may be cut (SAF-18). */
export interface Worth {
  /** What others have in mind with the node, still as it was when that was weighed. */
  plans: Plans;
  /** Who else is at it by objects beside the Node, and by what those are found; absent: nobody knows. */
  elsewhere?: AskedElsewhere & { found: readonly OtherActor[] };
  /** What there is to gain by it, which has to be there still; absent: it has had its time. */
  gain?: Gain | undefined;
  /** Where a kubelet that is only away would refuse, and must not; absent: it has had its time. */
  door?: { address: string; port: number } | undefined;
}

/** By what the objects of others name a node. */
export interface AskedElsewhere {
  name: string;
  machine?: string | undefined;
  providerId?: string | undefined;
}

/** One thing that a release would free. */
export type Gain =
  | { kind: 'pod'; namespace: string; name: string; uid: string }
  | { kind: 'attachment'; name: string; uid: string };

/** Asked of the devices right before the act: does every one of them say off, now? */
export interface DeviceQuestion {
  what: 'power' | 'storage';
  /** None: nobody can confirm it, so that nothing happens. */
  methods: readonly Method[];
  /** How long it has been off, as they have confirmed before. */
  offForMs?: number | undefined;
  /** Its Lease is not overdue: who answers at the port of its kubelet is not off (EVD-4). */
  door?: { address: string; port: number } | undefined;
}

/** One variant for each basis, with what that basis needs. */
export type Grounds = CommonGrounds &
  (
    | { basis: 'PowerOff' | 'StorageFenced'; question: DeviceQuestion }
    /** `safeDrivers` have to say so still; `declaredDrivers` a policy answers for, as long as they do not say otherwise. */
    | { basis: 'StorageSafeDetach'; safeDrivers: readonly string[]; declaredDrivers: readonly string[] }
    | { basis: 'KernelCrashed' | 'Asserted' | 'AcceptedRisk' }
    /**
     * A ladder or a person calls for it: a fence, a Job, a drain, a machine to be removed, and what undoes them. `trouble`: what
     * has to go on for it; absent where it is about more than that, such as the way back. What switches something off names that,
     * or the Lease, or that a person asks for it (`isAsked`): without any of them it is refused (S39).
     */
    | { basis: 'Remedy'; trouble?: { type: string; status: string }; isAsked?: boolean }
    /** The node is back in order, so that a taint of ours may go. `isReady`: it has to be Ready. */
    | { basis: 'Return'; isReady: boolean; pods: readonly SeenPod[] }
    /** Our mark says more of the node than is so: it goes from this node in this boot, whoever has stopped or paused what, by whatever policy. */
    | { basis: 'Unmark' }
  );

export type Basis = Grounds['basis'];

/** `key` tells tries of the same thing apart: one that is under way, or has ended, is not begun again. */
interface Try {
  key: string;
}

/** Can be taken back at any time, and harms nobody. */
export type FreeAct =
  /** `mark`: what the taint says by itself. */
  | { do: 'quarantine'; mark?: string }
  /** Our note that we cordoned the node, where somebody has taken the cordon away since. */
  | { do: 'forgetCordon' }
  /** Our cordon says so while a drain of ours empties the node, and not any more after it. */
  | { do: 'noteDrain'; isDraining: boolean }
  /** On the node, for as long as a remedy runs (REM-5). Absent: none does any more. */
  | { do: 'noteRemediation'; remediation?: Remediation };

/** As free, but somebody waits for its outcome. */
export type Cordon = { do: 'cordon' } & Try;

export type GroundedAct =
  /** `value`: only the taint that says so. */
  | { do: 'untaint'; key: string; effect: string; value?: string }
  /** Its machine is off, and the Node says so. `isTainted`: by the taint, too, under which Kubernetes takes whatever terminates there. */
  | { do: 'takeOutOfService'; isTainted: boolean }
  /** A pod that stays on it serves nobody. */
  | { do: 'markUnready'; pod: PodFacts }
  | { do: 'requestFence'; attachment: string; uid: string }
  | { do: 'freeVolumes'; volumes: readonly string[] }
  | { do: 'forceDelete'; pod: PodFacts; basis: string }
  | { do: 'failPod'; pod: PodFacts; basis: string }
  | { do: 'deleteAttachment'; attachment: string; uid: string }
  /** Of a machine that its provider has removed. */
  | { do: 'deleteNode' };

/** Takes its time: begun, and asked after in the next pass. */
export type LongAct = Try &
  /**
   * Its power, or its way to the storage. `isQuestion`: its device is only asked whether it is so. `sent`: of one that switches
   * off, since when its command may have been sent, and whether that is recorded by this very decision for the first time.
   */
  (
    | {
        do: 'switch';
        what: DeviceQuestion['what'];
        method: Method;
        isQuestion?: boolean;
        /** Of a question whether it is off, while its Lease is not overdue. */
        door?: DeviceQuestion['door'];
        sent?: { at: string; isFirst: boolean };
        /** Of one of several that switch its power: others are not off yet. */
        isPart?: boolean;
      }
    | { do: 'uncordon' }
    | { do: 'runJob'; job: JobOrder; wasMade: boolean }
    | { do: 'drain' }
    /** `wasOff`: its power was off in this incident, as a device has confirmed; otherwise it may still write (S13). */
    | { do: 'deleteMachine'; wasOff: boolean }
  );

export interface JobOrder {
  name: string;
  remedy: string;
  /** By which the template of the policy is found. */
  template: string;
  node: { name: string; uid: string };
  /** The threshold that was passed, such as `Ready=NotTrue`. */
  trouble: string;
  incident: string;
}

export type Act = FreeAct | Cordon | GroundedAct | LongAct;

/** Steps run one after the other, the acts of one side by side; a failure ends the rest. */
export type Step =
  | { free: readonly FreeAct[] }
  | { begins: Cordon }
  | { grounds: Grounds; acts: readonly GroundedAct[] }
  | { grounds: Grounds; begins: LongAct };

export function actsOf(step: Step): readonly Act[] {
  if ('begins' in step) return [step.begins];
  return 'free' in step ? step.free : step.acts;
}
