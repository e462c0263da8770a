/** What lets a pod of a node in trouble go that is still there, and what a person can do about it. */
import type { Advice, AdviceFor, Command } from './advice.ts';
import { COMMANDS as c } from './advice.ts';
import type { RELEASED, STUCK } from './reasons.ts';

const pod: Command = { to: 'look at the pod', command: 'kubectl describe pod {{pod}} -n {{podNamespace}}' };
const claims: Command = { to: 'look at its claims', command: 'kubectl get persistentvolumeclaims -n {{podNamespace}}' };
const risk: Command = { ...c.policy, to: 'let such pods go by policy: release.podDeletion and release.provisioners' };
const fence: Command = { ...c.fence, to: 'fence the node: what is proven off may go' };

/** Nobody lets it go unless a fence proves that it has stopped, or somebody accepts the risk. */
const byProof = (ends: string): Advice => ({ ends, can: [fence, risk, pod] });
const byItself = (ends: string): Advice => ({ ends, can: [pod] });

export const STUCK_ADVICE: AdviceFor<typeof STUCK> = {
  NoPolicy: { ends: 'a policy selects the node', can: [c.policies, c.fenceAnyway] },
  DoNothing: byProof('a fence proves the machine off, or the policy lets such pods go'),
  OwnerNotCovered: byProof('a fence proves the machine off, or the policy covers the owner'),
  NodeNotDown: byItself('the node is down, or its kubelet stops the pod'),
  NodeReady: byItself('its kubelet stops the pod'),
  NodeGone: byItself('PodGC of Kubernetes has looked after it'),
  NotTerminating: byItself('somebody asks it to go, as Kubernetes does after five minutes'),
  TimeNotUp: byItself('its time to terminate is up'),
  Maintenance: { ends: 'the maintenance is over', can: [c.maintenanceOver] },
  NoPersistentVolume: byProof('a fence proves the machine off'),
  NoListedVolume: byProof('a fence proves the machine off, or the policy lists the provisioner of its volume'),
  VolumeUnknown: { ends: 'its claims and volumes can be read', can: [claims, pod] },
  VolumeNotProtected: byProof('a fence proves the machine off'),
  VolumeShared: byProof('a fence proves the machine off'),
  VolumeInUseHere: { ends: 'the other pod of the node is gone', can: [c.pods] },
  AttachedElsewhere: { ends: 'its volume is attached to one node only', can: [c.attachments] },
  GateOff: byProof('a fence proves the machine off, or the operator runs with that feature gate'),
  NoAssertion: { ends: 'somebody asserts that nothing runs there any more', can: [fence, c.assertDead] },
  TaintEffect: { ends: 'the taint has the effect that the message names', can: [c.describe] },
  Tolerated: byItself('its toleration has run out'),
  MirrorPod: byItself('its kubelet is back'),
  DaemonSetPod: byItself('its kubelet is back'),
  KubeletAlive: { ends: 'its kubelet stops it, or falls silent', can: [c.describe, fence] },
  RecoveryNever: byProof('a fence proves the machine off, or volumeAttachmentRecovery is another one'),
  NoReplacement: byItself('another pod waits for its volumes'),
  FenceUnsettled: { ends: 'the fence has succeeded', can: [c.check, c.fenceAgain, c.assertDead] },
  NoFence: byProof('a fence proves the machine off'),
  NotPoweredOff: { ends: 'a device confirms that the machine is off', can: [c.check, pod] },
  NotWanted: { ends: 'its remedy has cleanResources', can: [risk] },
  OthersUnheard: { ends: 'every node with such a device has been heard of since the cut', can: [c.status, c.devices] },
  ReleaseRate: {
    ends: 'it is its turn: so many go each minute, by itself',
    can: [{ ...c.policy, to: 'let more pods go in a minute: storm.podsPerMinute' }],
  },
  PortUnproven: {
    ends: 'its power is cut, or somebody shows that the port is that of the node',
    can: [c.shown, fence, risk, pod],
  },
  StorageNotFenced: byProof('a device cuts the node off from its storage, or proves the machine off'),
  NoCrash: byProof('a fence proves the machine off'),
  BudgetExhausted: {
    ends: 'its disruption budget allows one more, which it may never do while what it misses is this very pod; or the node is back',
    can: [
      { to: 'see which budget it is', command: 'kubectl get poddisruptionbudgets -n {{podNamespace}}' },
      {
        ...c.policy,
        to: 'let the pods of dead nodes go whatever their budgets, of every node that this policy selects and until it is changed back: release.budgets: ReleaseAfterFence',
      },
    ],
  },
  Latecomer: { ends: 'the node is back; nothing waits for it', can: [pod] },
  NotRemedied: { ends: 'its remedy has succeeded', can: [c.history, fence] },
};

export const RELEASED_ADVICE: AdviceFor<typeof RELEASED> = {
  Releasing: { ends: 'they are gone', can: [c.pods, c.attachments] },
  Complete: { ends: 'it has trouble again', can: [c.history] },
  DetachRefused: {
    ends: 'the driver detaches it; nothing is forced',
    can: [{ ...c.attachments, to: 'see what the driver says, and ask it' }],
  },
};
