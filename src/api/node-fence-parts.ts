/** What a NodeFence is made of, apart from what is decided by it: what was seen, done, counted and told. */
import { z } from 'zod';
import { objectName, time, writtenTime } from './common.ts';
import { DEED_RESULTS, DEEDS } from './deed-names.ts';
import {
  MAX_PROBLEM_TIMES,
  MAX_QUARANTINED_PODS,
  MAX_RELEASED_PODS,
  MAX_SILENT_BESIDE,
  MAX_YOUNG_OTHERS,
} from './fence-names.ts';

export const EVIDENCE_SOURCES = [
  'Condition',
  'Lease',
  'Kdump',
  'CloudShutdownTaint',
  'Power',
  'OutOfServiceTaint',
  'ForceEvictionTaint',
  'NodeDeletion',
] as const;
export const JOB_OUTCOMES = ['Succeeded', 'Failed', 'Unknown'] as const;
export const APPLIED_KINDS = ['Taint'] as const;

export const text = (max: number, description: string) => z.string().max(max).meta({ description });
export const at = (description: string) => time().meta({ description });
const writtenAt = (description: string) => writtenTime().meta({ description });
export const count = (description: string) => z.int().min(0).prefault(0).meta({ description });
export const flag = (description: string) => z.boolean().meta({ description });
export const nodeUid = () => text(64, 'The UID of the Node; a newcomer of the same name is another machine.');
export const bootId = () => text(64, 'The boot this is about. After a reboot it says nothing any more.');

export const signs = () =>
  z
    .object({
      renewTime: text(64, 'renewTime of its Lease, as written.'),
      heartbeatTime: text(64, 'lastHeartbeatTime of Ready, as written.'),
    })
    .optional()
    .meta({
      description:
        'What the kubelet had written last when this was heard. If one of them says something else now, it has lived ' +
        'since, and this says nothing any more.',
    });

export const job = z.object({
  namespace: text(63, 'The namespace of the Job.'),
  name: text(63, 'The name of the Job, fixed before it is made, so that it is made once.'),
  uid: text(64, 'The UID of the Job.').optional(),
  purpose: text(128, 'The remedy, or the method of the fence.'),
  template: text(64, 'A hash of the template it was made from. Its success says nothing of any other.').optional(),
  startedAt: at('When it was recorded, before it was made.'),
  endedAt: at('When it ended.').optional(),
  outcome: z
    .enum(JOB_OUTCOMES)
    .optional()
    .meta({ description: 'How it ended. Unknown is not a failure, and not a success.' }),
  signs: signs(),
});

export const evidence = z.object({
  source: z.enum(EVIDENCE_SOURCES).meta({ description: 'Where it comes from.' }),
  says: z
    .enum(['Alive', 'Dead', 'Unknown'])
    .meta({ description: 'Silence says Unknown: a machine cut off is not dead.' }),
  detail: text(512, 'What exactly was seen.'),
  observedAt: at('When.'),
  by: text(253, 'The device, or the person, that said so.').optional(),
  bootId: bootId().optional(),
  signs: signs(),
});

export const stuckPod = z.object({
  namespace: text(63, 'The namespace of the pod.'),
  name: text(253, 'The name of the pod.'),
  reason: text(64, 'One word for programs; see the list of reasons.'),
  message: text(512, 'Why it is still there, for each way it could go.'),
  until: at('When it may go, if nothing else happens.').optional(),
});

export const releasedPod = z.object({
  namespace: text(63, 'The namespace of the pod.'),
  name: text(253, 'The name of the pod.'),
  uid: text(64, 'Its UID: a successor of the same name is never touched.'),
  unseen: text(
    512,
    'A volume of it that no kubelet reports in `volumesInUse`: only another boot of the machine shows that the pod has ended.',
  ).optional(),
  graceSeconds: z
    .int()
    .min(0)
    .optional()
    .meta({
      description:
        'How long its kubelet lets it take to end, where no volume of its own shows that it has: unless it is rebooted, the node comes back ' +
        'no earlier.',
    }),
});

export const unseenPods = z
  .object({
    bootId: bootId(),
    pods: z
      .array(text(64, 'The UID of a pod.'))
      .max(MAX_RELEASED_PODS)
      .meta({
        description:
          'Pods with such a volume. If one of them is let go, by whomever, the node stays cut off until it is rebooted. ' +
          '`unread`: its pods were not read for a while, as in a storm, so that nobody knows who was there.',
      }),
  })
  .meta({ description: 'What was there in this boot and uses volumes that no kubelet reports in `volumesInUse`.' });

export const shutDown = z
  .object({ at: at('When it was first seen.'), bootId: bootId() })
  .meta({ description: 'Its kubelet has reported that the machine is shutting down: somebody wants that.' });

export const silence = z
  .object({
    since: at('Its last renewal was no later than this, by the clock of the API server.'),
    renewTime: text(
      64,
      'renewTime of its Lease, as written. If it says something else now, this says nothing any more.',
    ),
  })
  .meta({
    description: 'Its kubelet is silent, and since when: what has the time of a boot to be back has it from here on.',
  });

export const foundOff = z
  .object({
    at: at('When they first said so.'),
    onAt: at('When one of them said on after that: somebody has switched it on.').optional(),
    bootId: bootId(),
  })
  .meta({
    description:
      'Its devices have said off when they were asked, with nothing told by us. Whoever switches it on then has plans with it.',
  });

export const quarantine = z.object({
  since: at('When it was recorded, before the taint was put there.'),
  pods: z.array(text(64, 'The UID of a pod.')).max(MAX_QUARANTINED_PODS).prefault([]).meta({
    description:
      'The pods that were on the node then. One that is not among them has come since; where there are as many as fit, nobody knows.',
  }),
});

export const applied = z.object({
  kind: z.enum(APPLIED_KINDS).meta({ description: 'What it is.' }),
  key: text(317, 'The key of the taint.'),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .optional()
    .meta({ description: 'The effect of a taint.' }),
  recordedAt: at('When it was recorded, before it was put there.'),
});

export const hold = z
  .object({
    reason: text(128, 'One word for programs; see the list of reasons.'),
    message: text(1024, 'What it waits for.'),
    since: at('Since when.'),
    until: at('When it ends by itself at the latest, where that is known.').optional(),
    ends: text(512, 'What ends it.').optional(),
    to: text(512, 'What the command does, or under what condition it is to be typed.').optional(),
    command: text(512, 'What somebody can type about it.').optional(),
  })
  .meta({ description: 'Why nothing happens just now. Goes away by itself when its cause does.' });

export const next = z
  .object({
    what: text(512, 'What it is. Of a node that is held: once that is over.'),
    at: at('When, if nothing changes; absent: as soon as what it waits for is so.').optional(),
  })
  .meta({ description: 'What happens next. `fenceline explain` tells it, and the rest of this, in plain words.' });

export const storm = z
  .object({
    since: at('When the storm began: too many nodes were in trouble for anything to be done about one of them.'),
    nodes: z
      .int()
      .min(1)
      .optional()
      .meta({ description: 'How many nodes there were then. Who joins or is deleted later does not end it.' }),
    zone: z.string().max(63).optional().meta({ description: 'The zone of this one then.' }),
    zoneNodes: z.int().min(1).optional().meta({ description: 'How many nodes there were then in that zone.' }),
    troubled: z
      .int()
      .min(0)
      .optional()
      .meta({
        description:
          'How many nodes were silent or under fence when that was worst. Where the policy of another node calls that too many, ' +
          'it is a storm for that node as well.',
      }),
    zoneTroubled: z.int().min(0).optional().meta({ description: 'How many of them in that zone.' }),
    endedAt: at('When that was over; `storm.cooldown` counts from here.').optional(),
  })
  .meta({ description: 'The last storm that this node was in.' });

export const problem = z.object({
  condition: text(316, 'The type of the condition.'),
  count: count('How often, ever.'),
  times: z
    .array(time())
    .max(MAX_PROBLEM_TIMES)
    .prefault([])
    .meta({ description: 'The latest times; alarms count these.' }),
  pods: z
    .array(
      z.object({
        pod: text(317, 'Namespace and name of the pod, or of its owner where pods are named anew each time.'),
        count: count('How often it was there.'),
      }),
    )
    .max(64)
    .prefault([])
    .meta({ description: 'Which pods were on the node: one that is there every time may be what kills it.' }),
});

export const historyEntry = z.object({
  at: at('When.'),
  reason: text(128, 'One word for programs; see the list of reasons.'),
  message: text(1024, 'What happened.').optional(),
  epoch: count('In which epoch.'),
});

export const deed = z.object({
  at: at('When it was recorded, before it was done.'),
  deed: z.enum(DEEDS).meta({ description: 'What.' }),
  on: text(1024, 'To what: pods, volumes, a taint, a Job, a method. The first ones, if there are more.').optional(),
  count: z.int().min(1).optional().meta({ description: 'To how many.' }),
  by: text(253, 'By whose will: a policy, a person. Absent: nobody says.').optional(),
  why: text(512, 'The trouble, and the remedy for it.').optional(),
  evidence: text(1024, 'What spoke for it.').optional(),
  basis: text(64, 'On what basis; see `releases` for those of pods.').optional(),
  result: z.enum(DEED_RESULTS).meta({ description: 'What came of it, as far as it is known.' }),
  message: text(512, 'What was said about that.').optional(),
  endedAt: at('When that was known.').optional(),
  times: z.int().min(2).optional().meta({ description: 'How often, if more than once.' }),
  try: text(64, 'Tells tries apart.').optional(),
  incident: text(64, 'In which incident.'),
  epoch: count('In which epoch.'),
});

/** Who may have been cut instead. */
export const others = z
  .object({
    count: count('How many.'),
    at: at('When they were counted.'),
    young: z
      .array(text(64, 'The UID of a Node.'))
      .max(MAX_YOUNG_OTHERS)
      .optional()
      .meta({
        description:
          'Those whose Node had just been made, or later than that by the clock of another API server: times do not tell whether it was there. ' +
          'What does not fit is missed as if it were gone.',
      }),
  })
  .meta({
    description:
      'Where its devices cannot say whose power it is: the other nodes that there were before anything was cut. One whose Node ' +
      'is deleted later may be the one that was cut.',
  });

export const silentBeside = z
  .array(objectName(253, 'node-2'))
  .max(MAX_SILENT_BESIDE)
  .meta({
    description:
      'Where the device cannot say whose power it is: other nodes that were silent by then, and that Kubernetes had not ' +
      'missed yet. One that falls silent later may be the one that was cut. When the list is full, nobody knows who did.',
  });

export const requested = z
  .object({
    by: text(253, 'Who.'),
    at: writtenAt(
      'When. Something has to be begun for it within ten minutes, or it lapses. One that is dated more than a minute ahead, or from before this object ' +
        'was made, does nothing.',
    ),
    about: z
      .object({
        nodeUid: nodeUid(),
        bootId: bootId(),
        readySince: text(64, 'lastTransitionTime of Ready, as written, if the node was Ready.').optional(),
      })
      .optional()
      .meta({
        description:
          'The node as it was when somebody asked. If it is another one by now, has booted, or has become Ready since, nothing is begun. ' +
          'Absent: told by times, so that it is also refused where the node has hardly been Ready for longer than the request stands.',
      }),
    withoutPolicy: z
      .boolean()
      .optional()
      .meta({ description: 'Also where no policy selects the node, so that nobody has set limits for it.' }),
  })
  .meta({
    description:
      'Somebody asks for a fence of the node now, whatever is known of it: its power is cut while it runs. Written by ' +
      '`fenceline fence` and `fenceline drill`; it is answered once, in `status.request`. Under a policy that does not act it ' +
      'is refused, and is not taken up when the policy does.',
  });

export const requestAnswer = z
  .object({
    by: text(253, 'Who asked.'),
    at: at('When they asked, as they wrote it.'),
    answeredAt: at('When it was answered.'),
    reason: text(64, 'One word for programs: `TakenUp`, or why it was refused.'),
    message: text(512, 'The same in a sentence.').optional(),
    bootId: text(64, 'The boot that the node was in when it was taken up; another one ends it.').optional(),
    trouble: text(512, 'What was wrong with the node by then, whose end ends it; absent: nothing.').optional(),
    endedAt: at('When the fence that was asked for was over. It stands for no other.').optional(),
  })
  .meta({
    description:
      'What came of the fence that somebody asked for, last. One that was taken up is over when nothing was begun for it within ' +
      'ten minutes, or when the node is not as it was any more.',
  });

export const wasCut = z
  .object({
    devices: z.array(text(64, 'A hash of a device.')).max(64).meta({ description: 'By which devices.' }),
    until: at('So long what they were told may still strike it, in whatever boot it is then.'),
  })
  .meta({
    description:
      'It has cut the power before, and has seen it on since. What is found off and has not been heard of since then is its own ' +
      'cut: it is switched on although others have cordoned the node, unless it was on for longer than that, or somebody has said ' +
      'that the machine is theirs.',
  });

export const offAgain = z.int().min(0).meta({
  description:
    'How often it was found off again before it was back, or its fence had failed for good, and was switched on once more. There is a limit.',
});

export const missedMethods = z.array(text(63, 'The name of a method.')).max(64).meta({
  description: 'Which methods have not switched on what they should, when all were told last: they are told again.',
});

const namedDevice = z.object({
  method: text(253, 'The method, as the fence configuration calls it.'),
  device: text(64, 'A hash of its device.'),
});

export const lostFeeds = z
  .array(namedDevice)
  .max(64)
  .meta({
    description:
      'Of several devices that feed the machine, those that it has told to switch off and that are not configured any more: they may be off, ' +
      'and nobody can tell them to go on. Where they are written as they were, they are told.',
  });

export const plannedLevels = z
  .array(
    z.object({
      step: z.enum(['isolation', 'power-management']).meta({ description: 'The step that it belongs to.' }),
      off: z.array(namedDevice).max(64).meta({ description: 'Everything that has to be off.' }),
    }),
  )
  .max(64)
  .meta({
    description:
      'The levels of several devices, as they were configured when the fence began: nothing rests on one of them from which a device was ' +
      'taken since.',
  });

export const toldDevices = z
  .array(text(64, 'A hash of a device.'))
  .max(64)
  .meta({
    description:
      'By which devices it may have cut the power before it began anew: what it finds off then is its own cut, and they are told ' +
      'to switch on as well.',
  });
