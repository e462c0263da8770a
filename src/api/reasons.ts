/**
 * The words by which programs tell states apart: conditions, their reasons, the reasons of holds and events. They are
 * API: a dashboard or an alert built on one must not break because a sentence was improved. Hence constants, each with
 * the one line that the reference prints.
 */
export interface ReasonGroup<Name extends string = string> {
  /** The condition these belong to, or what else carries them. */
  readonly of: string;
  readonly kind: 'RemedyPolicy' | 'NodeFence' | 'DrainPolicy' | 'FenceDevice' | 'Event';
  /** What it means that the condition is True. */
  readonly meaning: string;
  readonly reason: { readonly [N in Name]: N };
  readonly explanation: { readonly [N in Name]: string };
}

function group<Name extends string>(
  kind: ReasonGroup['kind'],
  of: string,
  meaning: string,
  explanation: { readonly [N in Name]: string },
): ReasonGroup<Name> {
  const names = Object.keys(explanation) as Name[];
  const reason = Object.fromEntries(names.map((name) => [name, name])) as { [N in Name]: N };
  return { kind, of, meaning, reason, explanation };
}

export const VALID = group('RemedyPolicy', 'Valid', 'The policy can be carried out as written.', {
  Accepted: 'Everything the policy refers to exists and makes sense.',
  Conflict: 'A policy of the same priority selects the named nodes just as specifically, is older, and applies there.',
  FenceConfigInvalid: 'A fence configuration of a selected node cannot be carried out; the message names file and key.',
  FenceConfigMissing: 'A selected node has no fence configuration, so a fence of it would fail.',
  RemedyUnsupported: 'A ladder needs a remedy that this version cannot run; that ladder is not in force.',
  Forbidden: 'It uses what the operator was started to forbid (`--forbid`), and does nothing; the message says where.',
  SecretsUnreadable: 'Whether the Secrets of the fence configurations exist could not be found out.',
  NodesMissing:
    'It does not say which nodes it is about, as one that was written before `selector`; in force for none.',
  DefaultsMissing: 'The object lacks fields that the CRD fills in: the installed CRD is older than the operator.',
});

/** What GitOps tools and `kubectl wait` look at. */
export const READY = group(
  'RemedyPolicy',
  'Ready',
  'The policy was looked at as it is now, and can be carried out; whether it is Risky or every node Fenceable is apart.',
  VALID.explanation,
);

export const FENCEABLE = group('RemedyPolicy', 'Fenceable', 'Every selected node could be fenced right now.', {
  AllFenceable: 'The devices of all selected nodes answered the last time they were asked.',
  NotFenceable: 'Some nodes could not be fenced; the message names them with the reasons.',
  NotChecked: 'Not all devices have been asked yet.',
});

export const UNFENCEABLE = group('RemedyPolicy', 'not fenceable', 'Why a node could not be fenced today.', {
  NoConfiguration: 'There is no fence configuration for the node, and no provider that knows its machine.',
  ConfigurationInvalid: 'Its fence configuration cannot be carried out.',
  NoDevice: 'A device cannot be used: its agent, driver or Secret is missing, or a parameter is wrong.',
  DeviceRefused: 'A device answered, and refused: mostly its user or password is wrong.',
  DeviceSilent: 'A device did not answer, or not in a way that means anything.',
  WrongMachine: 'A device answered for another machine, says off while the node is alive, or is known to be wrong.',
  NotProven:
    'A device cannot say whose power it is, and was never seen on while the node was alive; or it is one of several outlets that no drill has shown.',
  CutOff: 'A node in service is cut off from its storage, and no fence that anybody remembers has done it.',
});

export const WRONG = group(
  'FenceDevice',
  'wrong',
  'Why a device is no evidence, and not used until a check has cleared it.',
  {
    AnotherMachine: 'It answers for another machine.',
    OffWhileAlive:
      'The kubelet of its node renewed its Lease more than two seconds after it had said off, in the same boot.',
    SharedWithAnotherNode: 'Another node that exists is configured with the same address and plug.',
    OutletsSwapped: 'Another node fell silent when it was cut. A person has to look, and to say so.',
    NeverOff:
      'The kubelet of its node has reported from the very boot in which it had confirmed that the machine was off. A person has to look, and to say so.',
  },
);

export const RISKY = group('RemedyPolicy', 'Risky', 'The policy is legal, and can lose data or availability.', {
  NothingRisky: 'No dangerous value was found.',
  NobodySelected: 'The policy is in force for no node, so that nothing is protected by it.',
  NoStormLimit: 'maxUnresponsive lets every node be unresponsive: a broken switch can have all of them fenced.',
  NoConcurrencyLimit: 'maxConcurrent is as large as the set of nodes.',
  RiskAccepted: 'podDeletion or volumeAttachmentRecovery lets pods go without proof that they have stopped.',
  RiskAfterFailedFence: 'Pods go without proof even where a fence has just failed.',
  NoProvisioner: 'podDeletion or volumeAttachmentRecovery is set, but no provisioner is listed: it has no effect.',
  PeriodTooShort: 'A period ends before the device, or a boot, can have done its work.',
  LeaseTooEager: 'staleFor is shorter than the silence between two renewals of a Lease, and counts as that.',
  PowerBeforeIsolation: 'powerManagementAfter is shorter than isolateAfter: isolation is never tried.',
  RemedyUnused: 'A remedy is on no ladder.',
  OutletUnproven:
    'Nodes are let go by the word of an outlet that cannot say whose power it is, and no drill has shown it: another machine may be plugged in there.',
  PortUnproven:
    'Nodes are cut off from their storage by a port that cannot say whose it is, and nobody has shown it: another node may be cut off, and nothing goes by it.',
  IdentityUnchecked: 'A fence configuration says identity=unchecked: another machine may be switched off.',
  OthersAct:
    'Somebody else is set up to act on its nodes, or on their pods and machines, whether they are fenced or not; the message says who, and what to do.',
  KubernetesDetaches: 'kube-controller-manager may detach volumes by force after 6 minutes, fenced or not.',
});

export const FENCED = group('NodeFence', 'Fenced', 'The node is proven harmless.', {
  WaitingToIsolate: 'isolateAfter has not passed; a node that comes back is left alone.',
  Isolating: 'The methods of isolation run.',
  Isolated: 'The node was cut off from its storage, as a later query confirmed.',
  IsolationUnconfirmed:
    'What has cut the node off from its storage does not say so any more, asked again right before something goes. Nothing does until it says so.',
  WaitingToPowerOff: 'powerManagementAfter has not passed.',
  PoweringOff: 'The methods of power management run.',
  PoweredOff: 'It is off: its device was asked, and says so.',
  PoweringOn: 'What had to go has gone, and the methods that switch it on run.',
  Booting: 'It was switched on, and has not been Ready since.',
  NodeDeleted: 'The Node object is gone, and its machine with it.',
  Recovering: 'The methods of recovery run.',
  Recovered: 'The node is back, and what the fence did is undone.',
  Cancelled:
    'Before the point of no return the node came back, or nobody wants the fence just now; the message says which.',
  FenceFailed: 'All tries and restarts are used up. What waits for it is not released; somebody has to act.',
  OutletsSwapped:
    'Another node fell silent when this one was cut, and no device says whose power it is. The machine of this node is switched on again, and nothing is released.',
});

export const RELEASED = group('NodeFence', 'Released', 'All pods and volumes that may go have gone.', {
  Releasing: 'Pods and volumes are being released; the message names the basis.',
  Complete: 'They are gone.',
  DetachRefused: 'The driver refuses to detach a volume; tried again with growing pauses.',
});

export const STUCK = group('NodeFence', 'stuck', 'Why a pod of a node in trouble is still there.', {
  NoPolicy: 'No policy selects the node, so that nobody accepts a risk for it.',
  DoNothing: 'podDeletion is do-nothing, which covers no pod.',
  OwnerNotCovered: 'podDeletion does not cover the kind of owner that the pod has.',
  NodeNotDown: 'The node is not down.',
  NodeReady: 'A live read says that the node is Ready.',
  NodeGone: 'There is no Node object; PodGC of Kubernetes looks after its pods.',
  NotTerminating: 'Nobody has asked the pod to go.',
  TimeNotUp: 'Its time to terminate is not up.',
  Maintenance: 'The annotation fenceline.dev/maintenance-until of the node lies in the future.',
  NoPersistentVolume: 'It has no persistent volume.',
  NoListedVolume: 'None of its volumes is of a listed provisioner.',
  VolumeUnknown: 'One of its claims or volumes is missing or cannot be read. Unknown is not no.',
  VolumeNotProtected: 'One of its volumes is not of a driver that detaches safely.',
  VolumeShared: 'One of its volumes may be written by several nodes.',
  VolumeInUseHere: 'Another pod of the node, which stays, uses one of its volumes.',
  AttachedElsewhere: 'One of its volumes, for one node, is attached to another one as well.',
  GateOff: 'The feature gate of this way is off.',
  NoAssertion: 'Nobody has asserted that nothing runs on the node any more.',
  TaintEffect: 'The taint has an effect that says nothing of this kind.',
  Tolerated: 'It tolerates the taint.',
  MirrorPod: 'A kubelet runs it from a file; the object is a copy.',
  DaemonSetPod: 'It belongs to the node, and would be made again there.',
  KubeletAlive: 'The kubelet of the node shows signs of life: it stops the pod itself.',
  RecoveryNever: 'volumeAttachmentRecovery is never.',
  NoReplacement: 'No other pod waits for its volumes.',
  FenceUnsettled: 'A fence of the node has failed, or its outcome is not known.',
  NoFence: 'No remedy of its policy fences the node just now.',
  NotPoweredOff: 'No device has confirmed that the machine is off, for this boot of it.',
  NotWanted: 'The remedy does not ask for the pods to go.',
  OthersUnheard: 'The device cannot say whose power it is, and another node has not been heard of since the cut.',
  ReleaseRate: 'As many pods as podsPerMinute allows were released in the last minute.',
  PortUnproven:
    'The port that cuts the node off from its storage cannot say whose it is, and nobody has shown it: its power has to be cut first.',
  StorageNotFenced: 'No device has cut the node off from the storage of the pod.',
  NoCrash: 'No crashed kernel has reported itself, or the policy does not listen to it.',
  BudgetExhausted: 'A disruption budget of its allows no disruption, and the policy respects that.',
  Latecomer: 'It came after the quarantine, and would come again: it stays, and nothing waits for it.',
  NotRemedied: 'No remedy whose success lets the pods go has succeeded, for this boot of the machine.',
});

export const HELD = group('NodeFence', 'Held', 'Something other than the node itself keeps us from acting.', {
  StormLimit: 'More nodes of the cluster are in trouble than maxUnresponsive allows.',
  ZoneStormLimit: 'More nodes of one zone are in trouble than maxUnresponsive allows.',
  ControlPlaneQuorum:
    'The node is of the control plane, or of etcd, and fewer than a majority of it would be left, or another one of it is being fenced.',
  OwnNode:
    'The operator that decides runs on the node itself: it is the last to be cut, and by another instance, to which the lead is handed over first.',
  OwnNodeSilent:
    'The node that the operator runs on is silent too, and it lives: what keeps that one from renewing may keep this one. Another instance, to which the lead is handed over, looks from elsewhere; where there is none, this one has bootTimeout to come back.',
  OwnZoneAlone:
    'Nobody outside of the zone that the operator runs in is heard of, and there are at least two other zones: the one that is cut off may be its own.',
  ConcurrencyLimit: 'As many nodes as maxConcurrent allows are being fenced, or are under another remedy.',
  LookingAround:
    'Whether other nodes are silent too, whether the machine answers although its kubelet does not, and whether somebody else is at work on it, is found out first.',
  ComingBack: 'The node was silent, and its kubelet renews its Lease again: it has a minute to be Ready.',
  PlannedWork:
    'The node is cordoned by others, or has reported that its machine is shutting down: it has bootTimeout to be back.',
  NothingToFree: 'A cut would free no pod and no volume: the machine has bootTimeout to come back by itself.',
  KubeletDown: 'The machine answers, and the port of its kubelet is closed: it has five minutes to be back.',
  ReleaseRefused:
    'The API server lets nothing go from the node, so that a cut would free nothing: a right is missing, or a webhook says no, is down or does not answer.',
  NamedPause: 'An annotation fenceline.dev/pause.<name> of the node lies in the future, or is no time.',
  LeftToOthers:
    'Somebody else removes or remedies the node, or has its machine: the cluster autoscaler, Karpenter, Cluster API, Metal3, another remediation operator, or who deletes its Node object.',
  Cooldown: 'A storm has ended less than storm.cooldown ago.',
  SkipCondition: 'The node has a condition of skipWhen.',
  Maintenance: 'The annotation fenceline.dev/maintenance-until lies in the future.',
  AwaitingApproval: 'mode: Approve waits for a person.',
  DryRun: 'mode: DryRun decides and does nothing.',
  Paused: 'mode: Paused.',
  PausedForAll: 'The ConfigMap fenceline-pause in the namespace of the operator pauses everything.',
  Stopped: 'spec.stop is true.',
  Forbidden: 'The policy of the node uses what the operator was started to forbid (`--forbid`): it does nothing.',
  TooManyActs: 'More was done about the node in this incident than any honest one needs; nothing more is released.',
});

export const REQUESTED = group('NodeFence', 'request', 'What came of a fence that somebody asked for.', {
  TakenUp: 'The node is fenced as soon as nothing holds it back, if that is within ten minutes.',
  TimeUnreadable: 'What it says for a time is none, so that nobody knows whether it is meant for today.',
  InTheFuture: 'It is dated more than a minute ahead.',
  Restored: 'It is older than the NodeFence that holds it, which was restored from a backup or copied.',
  TooOld: 'Nobody took it up within ten minutes, or it was held back for as long.',
  ModeDoesNotAct: 'The policy of the node is in a mode that does not act.',
  PausedForAll: 'Everything is paused.',
  Stopped: 'spec.stop is true.',
  Maintenance: 'Somebody works on the node.',
  Forbidden:
    'The operator was started to forbid it (`--forbid`): a request without a policy, or something that the policy of the node uses.',
  NoPolicy: 'No policy selects the node, and the request does not say `withoutPolicy`.',
  ConfigurationInvalid: 'The fence configuration of the node has a mistake.',
  OtherNode: 'There was no node of this name, or the one that it was about is gone.',
  NodeIsBack:
    'It stood unanswered or was held back, and the trouble that it may have been about has passed: the node has booted, or become Ready, since.',
});

export const REHEARSED = group(
  'NodeFence',
  'rehearsal',
  'What a policy under mode: DryRun would have done. Nothing of it was done.',
  {
    WouldCordon: 'The node would have been cordoned.',
    WouldUncordon: 'The cordon would have been taken away.',
    WouldDrain: 'The node would have been drained.',
    WouldRunJob: 'The Job of a remedy would have been made.',
    WouldDeleteMachine: 'The Machine of the node would have been deleted.',
    WouldCutStorage: 'The node would have been cut off from its storage.',
    WouldCutPower: 'The power of the machine would have been cut, or it would have been found off.',
    WouldConnect: 'What would have been cut off or switched off would have been connected or switched on again.',
    WouldQuarantine: 'The node would have been put in quarantine.',
    WouldRelease: 'Pods would have been released; the message names them and the basis.',
    WouldDeleteNode: 'The Node object would have been deleted, because its machine is removed.',
    WouldFail: 'The fence would have failed; the message says why.',
  },
);

export const ALARM = group('NodeFence', 'Alarm', 'A person should look.', {
  NoAlarm: 'Nothing has passed a limit.',
  RepeatedTrouble: 'As many incidents as an alarm of the policy allows, within its time.',
  LadderExhausted: 'The last remedy is done, and the trouble goes on.',
  FenceInError: 'The fence has failed for good.',
  OutletsSwapped:
    'Another node fell silent when this one was cut: somebody has to look which machine is plugged in where.',
  NeverOff:
    'Its devices confirmed that it was off, and its kubelet has reported from the same boot since: it never was, and two may have written to what was released.',
  TooManyActs: 'Somebody undoes what we do, again and again; nothing more is released until the node is back.',
});

export const GUARDING = group('DrainPolicy', 'Guarding', 'Drains of the selected nodes wait where they have to.', {
  Guarding: 'The budgets stand.',
  StorageEnforces: 'The storage system keeps its own budgets; we watch.',
  StorageAllows:
    'The storage system keeps its own budgets and its setting lets more go than the policy: what the policy asks for is not guarded.',
  Observing: 'enforcement: Observe reports and blocks nothing.',
  StorageNotFound: 'The storage system does not run in that namespace: nothing is guarded.',
  ForeignBudget: 'A storage pod has a budget of somebody else; a second one would make every eviction fail.',
  Conflict:
    'A DrainPolicy of the same priority selects some of the nodes just as specifically, is older, and guards them.',
  NodesMissing:
    'It does not say which nodes it is about, as one that was written before `selector`: nothing is guarded.',
  NoNodes: 'No node is selected, or a more specific policy has them all: nothing is guarded.',
});

export const DRAIN_READY = group(
  'DrainPolicy',
  'Ready',
  'The policy was looked at as it is now, and nothing keeps it from being carried out as written.',
  GUARDING.explanation,
);

export const DRAINING = group('DrainPolicy', 'draining', 'Why the drain of one node waits, or does not.', {
  Allowed: 'Nothing holds the drain up.',
  LastReplica: 'The last healthy replica of a volume is here.',
  LastRunningReplica: 'The last running replica of a volume is here.',
  EvictingReplicas: 'Replicas are being rebuilt elsewhere.',
  NowhereToRebuild: 'No other node can take the replica: the drain will never end by itself.',
  VolumeInUse:
    'A volume is written through this node, and the storage system keeps its own budget until its user has left.',
  WaitsForTurn: 'Another node is being let go; two must not count on each other.',
  OwnCordon: 'The cordon is that of a fence or a remedy of ours, which is no drain: nothing is asked to leave.',
  StateUnknown: 'The state of a replica could not be read. Unknown blocks.',
});

export const EVENTS = group('Event', 'Events of drains', 'What is reported on the replica, once per change.', {
  EvictionAutomatic: 'The policy wants the replica to leave the node.',
  EvictionCanceled: 'Neither the policy nor a user wants it any more.',
});

export const RELEASE_EVENTS = group('Event', 'Events of releases', 'What is reported on the pod and on the node.', {
  Released: 'The pod was let go, on the basis that the note names.',
  VolumesFreed: 'The volumes of the pod were let go; its object stays.',
  NotReleased: 'The pod should be gone and is still there; the note says why.',
  Quarantined: 'The node takes no pods until it is back and clean.',
  OutOfService: 'The machine is confirmed off, and the Node says so; its pods that stay are not ready.',
  DetachRefused: 'The driver refuses to detach a released volume; it tries again by itself, and nothing is forced.',
  ReleaseStopped: 'What the release rested on is no longer so; nothing more goes.',
  BackInService: 'The node is back, and what was put on it is taken away.',
  Held: 'Something other than the node keeps us from acting; the note says what.',
  FenceRefused: 'Somebody asked for a fence, and it is not begun, now or later; the note says why.',
  Approved: 'A person has approved the incident, under `mode: Approve`; the note says who, and when.',
  Undecided:
    'A mistake of the operator: it cannot decide about this node, tries again, and goes on with the others; the note says more.',
});

export const REASON_GROUPS: readonly ReasonGroup[] = [
  READY,
  VALID,
  FENCEABLE,
  UNFENCEABLE,
  WRONG,
  RISKY,
  FENCED,
  RELEASED,
  STUCK,
  HELD,
  REQUESTED,
  REHEARSED,
  ALARM,
  DRAIN_READY,
  GUARDING,
  DRAINING,
  EVENTS,
  RELEASE_EVENTS,
];
