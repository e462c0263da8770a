/** Thresholds, ladders and remedies: what counts as trouble, and what is done about it, in which order. */
import { z } from 'zod';
import { CONDITION_STATUSES, conditionType, label } from './common.ts';
import { duration, positiveDuration } from './duration-schema.ts';
import { REMEDY_ACTIONS, REMEDY_DEFAULTS } from './policy-defaults.ts';
import { withRules, type Rule } from './rules.ts';

const conditionTrigger = withRules(
  z.object({
    type: conditionType().meta({
      description: 'The type of a Node condition, of Kubernetes or of node-problem-detector.',
    }),
    status: z.enum(CONDITION_STATUSES).meta({
      description:
        'The status that means trouble. `NotTrue` is False or Unknown: a node whose kubelet fell silent is Unknown, ' +
        'not False, so that `status: "False"` on Ready overlooks every power cut. There is no default, since for ' +
        'Ready it is NotTrue that is bad, and for DiskPressure True.',
    }),
    for: positiveDuration()
      .prefault(REMEDY_DEFAULTS.condition.for)
      .meta({
        description:
          'How long the condition must have had that status. Kubernetes has already waited its own grace period ' +
          '(50 s by default) before it reports a silent node; this comes on top.',
      }),
  }),
  [
    {
      cel: `self.type != 'Ready' || self.status != 'True'`,
      message: 'Ready with status True is a healthy node: write status: NotTrue',
      fieldPath: '.status',
      holds: (it) => it.type !== 'Ready' || it.status !== 'True',
    },
  ],
);

const leaseTrigger = z.object({
  staleFor: positiveDuration()
    .prefault(REMEDY_DEFAULTS.lease.staleFor)
    .meta({
      description:
        'How long ago the kubelet last renewed its Lease. It renews every quarter of the duration that stands in the ' +
        'Lease, every 10 s by default; a value below 1.2 of these intervals counts as that. Where there is no Lease, ' +
        'because somebody deleted it or the kubelet has none, it counts from when Kubernetes has not heard of the node ' +
        'either and calls Ready Unknown. A stale Lease is suspicion, ' +
        'never proof: the node may be running and writing behind a broken switch.',
    }),
});

const step = z.object({
  name: label('The entry of `spec.remedies` to run.'),
  period: duration()
    .prefault(REMEDY_DEFAULTS.rung.period)
    .meta({
      description:
        'How long the trouble may go on after this remedy before the next one is tried, or after the last one before ' +
        'the ladder is reported as exhausted. `0s`: as soon as the remedy has ended. Shorter than the machine needs to ' +
        'come back, the next remedy hits a node that was about to recover.',
    }),
  cleanResources: z
    .boolean()
    .optional()
    .meta({
      description:
        'Release the pods and volumes of the node once this remedy has succeeded. Left out: true for a fence, because a ' +
        'power cut that frees nothing helps nobody, and false for anything else. Beside a Job it is your word that after ' +
        'its success nothing runs on the node any more, and is recorded as such.',
    }),
});

const recoveryStep = z.object({ name: label('The entry of `spec.remedies` to run.') });

const triggers: Rule<{ condition?: unknown; lease?: unknown }>[] = [
  {
    cel: '[has(self.condition), has(self.lease)].exists_one(x, x)',
    message:
      'write exactly one of condition and lease, such as condition: {type: Ready, status: NotTrue, for: 5s} or lease: {staleFor: 12s}',
    holds: (it) => (it.condition === undefined) !== (it.lease === undefined),
  },
];

export const threshold = withRules(
  z.object({
    condition: conditionTrigger.optional().meta({ description: 'Trouble as a Node condition tells it.' }),
    lease: leaseTrigger.optional().meta({
      description: 'Trouble as a Lease that is no longer renewed tells it: known half a minute before the condition.',
    }),
    remedies: z
      .array(step)
      .min(1)
      .max(16)
      .meta({
        description:
          'The ladder: the first remedy, then, while the trouble lasts, the second, and so on. Put what destroys least ' +
          'first.',
      }),
    recovery: z.array(recoveryStep).max(8).prefault([]).meta({
      description: 'Remedies to run when the trouble is over, such as the one that uncordons.',
    }),
  }),
  triggers,
);

export type Threshold = z.output<typeof threshold>;

const podSpec = withRules(
  z.looseObject({
    restartPolicy: z.enum(['Never', 'OnFailure']).prefault('Never').meta({
      description: 'Jobs refuse Always, and would do so only at the moment a node is in trouble.',
    }),
    nodeName: z.string().optional().meta({
      description: 'Refused: it could pin the remedy to the very node that is being remedied.',
    }),
    containers: z
      .array(
        z.looseObject({
          name: label('The name of the container.'),
          image: z.string().min(1).max(1024).meta({
            description: 'The image. Its registry must be reachable while a node, or the rack it stands in, is down.',
          }),
        }),
      )
      .min(1)
      .max(16)
      .meta({ description: 'As in any pod. Secrets and ConfigMaps come in by reference.' }),
  }),
  [
    {
      cel: '!has(self.nodeName)',
      message: 'remove it: where a remedy runs is chosen when a node is in trouble, and is never that node',
      fieldPath: '.nodeName',
      holds: (it) => it.nodeName === undefined,
    },
  ],
);

const podTemplate = z.looseObject({
  metadata: z.looseObject({}).optional().meta({ description: 'Labels and annotations of the pod.' }),
  spec: podSpec.meta({ description: 'The pod. The API server checks the rest of it when the Job is made.' }),
});

export const remedy = withRules(
  z.object({
    name: label('What ladders call it. It becomes part of the names of Jobs.'),
    podTemplate: podTemplate.optional().meta({
      description:
        'Run a Job made from this template, never on the node in trouble. The name and UID of the node, the condition ' +
        'and the incident are in its environment. Only the success or failure of the Job counts.',
    }),
    fence: z
      .object({})
      .optional()
      .meta({
        description:
          'Cut the node off by its own fence configuration: isolation, then power management. Whatever runs there stops ' +
          'without a shutdown.',
      }),
    cordon: z.object({}).optional().meta({ description: 'Let no new pods in. Those that run there stay.' }),
    uncordon: z.object({}).optional().meta({
      description: 'Take our own cordon away. One that somebody else set stays.',
    }),
    drain: z
      .object({})
      .optional()
      .meta({
        description:
          'Cordon the node, and evict its pods, budgets respected; of those that come all the same, one of each controller. A node whose kubelet is silent cannot be drained: its pods stay ' +
          'terminating, and the ladder goes on after the period.',
      }),
    deleteMachine: z
      .object({})
      .optional()
      .meta({
        description:
          'Have the provider remove the machine for good, after a fence. Local disks go with it, and with them the last ' +
          'copy of whatever was only there.',
      }),
  }),
  [
    {
      cel: `[${REMEDY_ACTIONS.map((name) => `has(self.${name})`).join(', ')}].exists_one(x, x)`,
      message: `write exactly one of ${REMEDY_ACTIONS.join(', ')}, such as fence: {}`,
      holds: (it) => REMEDY_ACTIONS.filter((name) => it[name] !== undefined).length === 1,
    },
  ],
);

export type Remedy = z.output<typeof remedy>;
