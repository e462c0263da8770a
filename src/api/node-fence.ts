/**
 * NodeFence: all that must survive a crash about one node in trouble. A decision is made from what is observed and
 * from this object alone, so whatever is missing here is forgotten with the process. Users write only `node`,
 * `policy` and `stop`; the status is the operator's.
 *
 * Every list is bounded. Without that, a node that fails for weeks would grow its object past what etcd takes, and the
 * write that is refused would be the one that records why something was released.
 */
import { z } from 'zod';
import { VERDICTS } from './view.ts';
import {
  FENCE_PHASES,
  MAX_DEEDS,
  MAX_EVIDENCE,
  MAX_HISTORY,
  MAX_JOBS,
  MAX_LATE,
  MAX_PROBLEMS,
  MAX_RELEASED_PODS,
  MAX_RELEASES,
  MAX_SILENT_BESIDE,
  MAX_STUCK,
  NODE_FENCE_PREFIX,
  nodeFenceName,
} from './fence-names.ts';
import { API_VERSION, conditions, metadata, objectName } from './common.ts';
import {
  applied,
  at,
  bootId,
  requested,
  requestAnswer,
  lostFeeds,
  missedMethods,
  offAgain,
  plannedLevels,
  toldDevices,
  wasCut,
  count,
  deed,
  evidence,
  flag,
  foundOff,
  historyEntry,
  hold,
  job,
  next,
  nodeUid,
  problem,
  quarantine,
  releasedPod,
  shutDown,
  signs,
  silence,
  silentBeside,
  storm,
  stuckPod,
  text,
  unseenPods,
  others,
} from './node-fence-parts.ts';
import { rehearsalOf } from './rehearsal.ts';
import { asMap, withRules, withTransitionRules } from './rules.ts';

export const FENCE_STEPS = ['isolation', 'power-management', 'recovery'] as const;
export const FENCE_STATUSES = ['new', 'running', 'done', 'final', 'error'] as const;
export const RETURN_STAGES = ['seen', 'clean', 'soaked'] as const;
export const BASES = [
  'StorageSafeDetach',
  'StorageFenced',
  'PowerOff',
  'KernelCrashed',
  'Asserted',
  'AcceptedRisk',
] as const;
export const LADDER_PHASES = ['running', 'waiting', 'recovering', 'exhausted'] as const;

const incident = z.object({
  id: text(64, 'What ties together everything done about it: Jobs, events, the audit record.'),
  startedAt: at('When the trouble was first seen.'),
  trouble: text(512, 'What was seen, such as Ready=Unknown.'),
  nodeUid: nodeUid(),
  bootId: bootId().optional(),
  sharedBootId: bootId()
    .optional()
    .meta({ description: 'A boot ID of its own that another node had as well, while there was one: it says nothing.' }),
  flaps: count('How often the trouble went away and came back within the period: one incident all the same.'),
  clearedAt: at('When the trouble went away. The incident ends only when it has stayed away.').optional(),
  late: z.array(text(64, 'The UID of a controller; empty for pods without one.')).max(MAX_LATE).prefault([]).meta({
    description: 'Controllers of which a pod was released that came after the quarantine: no other one of theirs is.',
  }),
  acts: count('How much was done to the node, its pods and volumes since the trouble was last gone. There is a limit.'),
  poweredOff: z
    .object({
      at: at('When.'),
      bootId: bootId(),
      signs: signs(),
      devices: z.array(text(64, 'A hash of its configuration, as its FenceDevice has it.')).max(64).optional().meta({
        description: 'The devices that have confirmed it.',
      }),
      isFound: flag('It was found so: nobody had told them to.').optional(),
      wasAlive: flag('Its kubelet went on renewing all the same: nobody knows whether it ever was off.').optional(),
    })
    .optional()
    .meta({ description: 'A device has confirmed that the power was off, and in which boot of the machine that was.' }),
  unseen: unseenPods.optional(),
  shutDown: shutDown.optional(),
  silence: silence.optional(),
  foundOff: foundOff.optional(),
});

const ladder = z.object({
  threshold: text(
    512,
    'Which ladder: `Ready=NotTrue`, or `lease`. Not its position, which an edit of the policy would change.',
  ),
  position: count('Which rung, from 0.'),
  remedy: text(63, 'The remedy on that rung.'),
  phase: z.enum(LADDER_PHASES).meta({
    description:
      'Whether the remedy runs or is due, its period passes, recovery runs, or the ladder has come to its end in vain. ' +
      'Of several that are due one runs at a time, the harshest first.',
  }),
  startedAt: at('When the rung was reached.'),
  until: at('When the next rung is due.').optional(),
  begunAt: at('When its remedy began, if that cannot be taken back; absent while it is held back.').optional(),
  isFoundOff: z.boolean().optional().meta({
    description:
      'Its fence is due before its time, because the machine was found off; void when its devices do not say so any more.',
  }),
});

const switched = z.object({
  step: z.enum(['isolation', 'power-management']).meta({ description: 'The step that it belongs to.' }),
  method: text(253, 'The method, as the fence configuration calls it.'),
  device: text(
    64,
    'A hash of its device: how it is reached, not what it is called. Absent: it has none, such as a cordon.',
  ).optional(),
  storage: z.array(z.string().max(128)).max(64).prefault([]).meta({
    description: 'The CSI drivers whose storage it cuts the node off from.',
  }),
  commandSentAt: at('Written before the command: it may have been sent. Absent: none was.').optional(),
  silentBeside: silentBeside.optional(),
  confirmedAt: at('When the device was asked and said off. Without that nothing rests on it.').optional(),
});

const fence = z.object({
  step: z.enum(FENCE_STEPS).meta({ description: 'The step of the fence.' }),
  status: z.enum(FENCE_STATUSES).meta({
    description: 'Where in it. `error` stays until somebody acts, or the node is Ready with a new boot ID.',
  }),
  phase: z
    .enum(FENCE_PHASES)
    .prefault('waiting')
    .meta({ description: 'The same in finer steps, which is what the operator goes by.' }),
  method: text(512, 'The method that runs, or those that made it so.').optional(),
  level: count('The level of methods, from 0; the next is tried when one of them fails.'),
  levelId: text(
    64,
    'A hash of what the level switches off: by it the level is found again where an edit has moved it.',
  ).optional(),
  index: count('Which method of the level.'),
  nodeUid: text(64, 'The UID of the Node object that it was begun for; absent: told by times.').optional(),
  recordUid: text(64, 'The UID of the NodeFence it was begun in; absent: told by times.').optional(),
  bootId: bootId().optional(),
  switched: z
    .array(switched)
    .max(64)
    .prefault([])
    .meta({
      description:
        'What was switched off and has not been switched on again: the facts on which releases rest, whatever is written in ' +
        'the configuration since.',
    }),
  planned: plannedLevels.optional(),
  told: toldDevices.optional(),
  lost: lostFeeds.optional(),
  wasCut: wasCut.optional(),
  offAgain: offAgain.optional(),
  missed: missedMethods.optional(),
  onId: text(64, 'A hash of what switches it on: where that is edited meanwhile, it begins with the first.').optional(),
  others: others.optional(),
  cleanResources: z.boolean().prefault(false).meta({
    description: 'Whether the pods and volumes go while the machine is off: as the remedy says.',
  }),
  retries: count('How often this step was tried again.'),
  restarts: count('How often the whole fence began anew.'),
  isUnconfirmed: flag(
    'What has cut it off from its storage does not say so any more, asked again right before something goes: nothing does until it says so.',
  ).optional(),
  isForGood: flag(
    'It has failed and does not begin anew. It is still told to go on, or asked whether it is off again, where that is what it waits for.',
  ).optional(),
  startedAt: at('When the fence began; `isolateAfter` and `powerManagementAfter` count from here.'),
  stepStartedAt: at('When this step began.'),
  until: at('Before this a method that failed is not tried again.').optional(),
  releasedAt: at(
    'When all that may go on the strength of this step had gone. From here on it takes no slot.',
  ).optional(),
  waitsFor: text(1024, 'Why it can do nothing until a person acts. Meanwhile it takes no slot.').optional(),
  swapped: z.array(objectName(253, 'node-2')).max(MAX_SILENT_BESIDE).optional().meta({
    description:
      'Nodes that fell silent when this one was cut: its outlet may be theirs. Nothing is released, and it is switched on again.',
  }),
  neverOff: text(
    1024,
    'Its devices had confirmed that it was off, and its kubelet has reported from the same boot since: what that means, in a sentence.',
  ).optional(),
  message: text(1024, 'What went wrong. Never carries a credential.').optional(),
});

export const WAYS = [
  'power',
  'storage fence',
  'kernel crash',
  'remedy',
  'assertion',
  'safe detach',
  'policy',
  'attachment recovery',
] as const;
export type WayName = (typeof WAYS)[number];

const releaseRecord = z.object({
  way: z.enum(WAYS).optional().meta({
    description: 'The way of release in whose name it goes. Absent: it was recorded by an earlier version.',
  }),
  basis: z.enum(BASES).meta({
    description:
      'Why it was safe, or for `AcceptedRisk`, who accepted that it might not be. Without a basis nothing goes.',
  }),
  by: text(253, 'Who asserted it, or which policy accepted the risk.').optional(),
  nodeUid: nodeUid(),
  bootId: bootId().optional(),
  epoch: count('The epoch in which it was decided.'),
  recordedAt: at('When it was recorded, before the first pod went.'),
  joinedAt: at('When the last of the pods joined it, if that was later.').optional(),
  podsStay: z.boolean().prefault(false).meta({
    description: 'Only the volumes go; the objects of the pods stay until their kubelet is back.',
  }),
  freedAt: at('When the volumes were seen to be out of `volumesInUse`.').optional(),
  podsGoneAt: at('When the last of the pods, or of others that used these volumes, was seen to be gone.').optional(),
  endedAt: at('When the last of it was gone, or the node was back.').optional(),
  pods: z.array(releasedPod).max(MAX_RELEASED_PODS).prefault([]).meta({ description: 'The pods it covers.' }),
  attachments: z.array(z.string().max(253)).max(MAX_RELEASED_PODS).prefault([]).meta({
    description: 'The VolumeAttachments it covers.',
  }),
  volumes: z.array(z.string().max(253)).max(MAX_RELEASED_PODS).prefault([]).meta({
    description: 'The PersistentVolumes it covers; the node is clean only when it reports none of them.',
  }),
  budgets: z.array(z.string().max(317)).max(MAX_RELEASED_PODS).optional().meta({
    description: 'Disruption budgets that allowed none of this, and were overruled because the pods are dead already.',
  }),
  freed: z.array(z.string().max(4096)).max(MAX_RELEASED_PODS).prefault([]).meta({
    description: 'What of `volumesInUse` goes with them. An entry that comes back was written by a kubelet that lives.',
  }),
});

const returning = z.object({
  stage: z
    .enum(RETURN_STAGES)
    .meta({ description: 'How far the node has come back. After `soaked` it takes pods again, and this goes.' }),
  since: at('Since when.'),
  waitsFor: text(512, 'What the next stage waits for.').optional(),
  soakUntil: at('When the soak ends, if nothing happens.').optional(),
  failures: count('How often it failed lately. Each lengthens the soak.'),
});

/** As much of a fence as one needs that switches nothing. */
const rehearsedFence = fence.pick({
  phase: true,
  level: true,
  bootId: true,
  switched: true,
  cleanResources: true,
  restarts: true,
  isForGood: true,
  startedAt: true,
  stepStartedAt: true,
});

const status = z.object({
  epoch: withTransitionRules(z.int().min(0), [
    {
      cel: 'self >= oldSelf',
      message: 'the epoch never goes back: read the object again, another instance has taken over',
    },
  ])
    .prefault(0)
    .meta({
      description:
        'Raised by whoever takes the fence over. A write with an older one comes from an instance that lost it.',
    }),
  holder: text(253, 'The instance that holds this epoch.').optional(),
  verdict: z.enum(VERDICTS).optional().meta({ description: 'What is thought of the node.' }),
  verdictReason: text(64, 'Why, in one word for programs; see the list of reasons.').optional(),
  goneSince: at(
    'Since when there is no Node of this name. After seven days, with nothing open, this object is deleted.',
  ).optional(),
  incident: incident.optional().meta({ description: 'The trouble that is being dealt with.' }),
  ladders: asMap(z.array(ladder).max(16), 'threshold').prefault([]).meta({
    description: 'How far the remedies have come: a ladder for each threshold that was met.',
  }),
  fence: fence.optional().meta({ description: 'How far the fence has come.' }),
  jobs: z
    .array(job)
    .max(MAX_JOBS)
    .prefault([])
    .meta({ description: 'The Jobs of this incident. A running one is found again after a crash.' }),
  evidence: z
    .array(evidence)
    .max(MAX_EVIDENCE)
    .prefault([])
    .meta({ description: 'What speaks for and against the verdict.' }),
  releases: z.array(releaseRecord).max(MAX_RELEASES).prefault([]).meta({
    description: 'What was let go, and on what basis; written before anything goes.',
  }),
  stuck: z.array(stuckPod).max(MAX_STUCK).prefault([]).meta({
    description:
      'Pods that should have gone and are still there, each with the reason. The first ones, if there are more.',
  }),
  applied: z.array(applied).max(64).prefault([]).meta({
    description: 'What we put on the node and have to take away. What is not listed here is not ours, and stays.',
  }),
  quarantine: quarantine.optional().meta({ description: 'Who was there when the node was taken out of service.' }),
  return: returning.optional().meta({ description: 'The way back into service.' }),
  hold: hold.optional(),
  next: next.optional(),
  rehearsal: rehearsalOf(ladder.omit({ begunAt: true }), rehearsedFence).optional(),
  storm: storm.optional(),
  request: requestAnswer.optional(),
  approval: z
    .object({ by: text(253, 'Who.'), at: at('When.'), incident: text(64, 'The incident it was given for; no other.') })
    .optional()
    .meta({ description: 'The approval of a person, under `mode: Approve`.' }),
  repeatedTroubleToldAt: at('When the alarm about repeated trouble was last told.').optional(),
  problems: asMap(z.array(problem).max(MAX_PROBLEMS), 'condition').prefault([]).meta({
    description: 'Problem counters of this node, kept across incidents.',
  }),
  deeds: z.array(deed).max(MAX_DEEDS).optional().meta({
    description: 'What was done, each with who, why, evidence, basis and result, oldest first; the oldest go.',
  }),
  history: z
    .array(historyEntry)
    .max(MAX_HISTORY)
    .prefault([])
    .meta({ description: 'What happened, oldest first; the oldest go.' }),
  conditions: conditions(),
});

const spec = z.object({
  node: objectName(242, 'worker-1.example.com').meta({
    description: 'The node. The object is named after it, so that there is one for each.',
  }),
  policy: objectName(63, 'workers').optional().meta({
    description: 'The RemedyPolicy in force when the trouble began. It also applies when the Node object is gone.',
  }),
  stop: z
    .boolean()
    .prefault(false)
    .meta({
      description:
        'Stop the fence, and keep it stopped across restarts until this is false again. A machine that was powered off ' +
        'stays off, and pods that were not released stay where they are.',
    }),
  stoppedBy: text(253, 'Who has stopped it; `fenceline stop` writes it.').optional(),
  requested: requested.optional(),
});

export const NodeFenceSchema = withRules(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('NodeFence'),
    metadata,
    spec: spec.meta({ description: 'What is wanted.' }),
    status: status.prefault({}).meta({ description: 'What is, and all that has to survive a crash.' }),
  }),
  [
    {
      cel: `self.metadata.name == '${NODE_FENCE_PREFIX}' + self.spec.node`,
      message: `the name must be ${NODE_FENCE_PREFIX} and the name of the node`,
      messageExpression: `'write ${NODE_FENCE_PREFIX}' + self.spec.node + ', or another spec.node: the name tells which node it is about, so that two can never be about one'`,
      fieldPath: '.metadata.name',
      holds: (it) => it.metadata.name === nodeFenceName(it.spec.node),
      explain: (it) =>
        `write ${nodeFenceName(it.spec.node)}, or another spec.node: the name tells which node it is about, so that two can never be about one`,
    },
  ],
);

/** As the operator reads it, with every default filled in. */
export type NodeFence = z.output<typeof NodeFenceSchema>;
/** As a user may write it. */
export type NodeFenceInput = z.input<typeof NodeFenceSchema>;
export type NodeFenceStatus = NodeFence['status'];
export type Basis = (typeof BASES)[number];
export type Evidence = NodeFenceStatus['evidence'][number];
export type StuckPod = NodeFenceStatus['stuck'][number];
export type ReleaseRecord = NodeFenceStatus['releases'][number];
