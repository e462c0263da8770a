/** RemedyPolicy: for a set of nodes, what counts as trouble, what is done about it, and how much at a time. */
import { z } from 'zod';
import {
  API_VERSION,
  choiceRules,
  CONDITION_STATUSES,
  conditionType,
  metadata,
  nodeChoice,
  observedGeneration,
  policyConditions,
  share,
} from './common.ts';
import { duration, interval, positiveDuration } from './duration-schema.ts';
import { MAX_PROBLEM_TIMES } from './fence-names.ts';
import { remedy, threshold, type Remedy, type Threshold } from './ladder.ts';
import {
  ASSERTIONS,
  BUDGET_POLICIES,
  ATTACHMENT_RECOVERY_POLICIES,
  MODES,
  POD_DELETION_POLICIES,
  REMEDY_DEFAULTS,
} from './policy-defaults.ts';
import { thresholdKey } from './threshold-key.ts';
import { asMap, asSet, matching, withRules, type Rule } from './rules.ts';

const { fence: FENCE, release: RELEASE, storm: STORM, return: RETURN, alarm: ALARM } = REMEDY_DEFAULTS;

const MARK_OUT_OF_SERVICE =
  'Once its machine is confirmed off, have the Node say Ready=Unknown, mark pods that stay there not ready, and keep the ' +
  'taint `node.kubernetes.io/out-of-service:NoSchedule` on it until all has gone, so that endpoints and storage follow at ' +
  'once. No taint where Kubernetes would take a pod by it that stays, nor where `release.budgets` is `Respect`.';

const kdump = z.object({
  enabled: z
    .boolean()
    .prefault(FENCE.kdump.enabled)
    .meta({
      description:
        'Take a kdump message from a node that is not Ready as proof that its kernel has crashed. The message is not ' +
        'signed: enable it only where nobody else can send from the addresses of the nodes.',
    }),
  timeout: positiveDuration().prefault(FENCE.kdump.timeout).meta({
    description: 'How long power management waits for the dump. Too short, and the fence destroys the evidence.',
  }),
});

const fence = z.object({
  isolateAfter: duration().prefault(FENCE.isolateAfter).meta({
    description: 'How long a fence waits before it isolates the node; a node that comes back meanwhile is left alone.',
  }),
  powerManagementAfter: duration()
    .prefault(FENCE.powerManagementAfter)
    .meta({
      description:
        'How long after the beginning of the fence a node that is still not Ready has its power cut. Counted from the ' +
        'same moment as `isolateAfter`; if it is the shorter of the two, the power goes without isolation before it. A ' +
        'machine that says off has nothing to wait for: its pods go as soon as it was asked.',
    }),
  bootTimeout: positiveDuration()
    .prefault(FENCE.bootTimeout)
    .meta({
      description:
        'How long the machine may take to be Ready again after power-on. Shorter than a real boot with its memory test ' +
        'and disk checks, the fence fails every time and cuts the power again.',
    }),
  retries: z.int().min(0).max(100).prefault(FENCE.retries).meta({
    description: 'How often a failed step is tried again before the fence is in error.',
  }),
  restarts: z.int().min(0).max(100).prefault(FENCE.restarts).meta({
    description: 'How often a fence in error begins anew. Then it stays in error until somebody acts.',
  }),
  kdump: kdump.prefault({}).meta({ description: 'Crash dumps of the kernel.' }),
  powerWatch: z
    .object({
      every: interval().prefault(FENCE.powerWatch.every).meta({
        description:
          'How often. A device that is slow to answer is asked less often, and one that does not answer less and less.',
      }),
    })
    .optional()
    .meta({
      description:
        'Have the devices of the nodes asked all the time, so that a lost power is known before a Lease is overdue. For ' +
        'devices that say whose power it is and cost little to ask: Redfish, of which everything that is written is ' +
        'understood without its fence agent, and instances of AWS, Azure, Google and OpenStack by their provider IDs, many ' +
        'by one call. Others are not watched, and their FenceDevice says so. Absent: nobody is asked before a node is ' +
        'suspect.',
    }),
  machineRemoved: z
    .boolean()
    .prefault(FENCE.machineRemoved)
    .meta({
      description:
        'The provider removes the machine when it is powered off, so its Node object may go after a fence. Where that is ' +
        'not so, Kubernetes would forget a machine that can come back and write.',
    }),
  powerOnFoundOff: z
    .boolean()
    .prefault(FENCE.powerOnFoundOff)
    .meta({
      description:
        'Switch on what a fence has found off, once all that may go has gone. Never while others have the node cordoned, ' +
        'under maintenance or paused by name, nor after its kubelet has reported a shutdown: then somebody wants it off.',
    }),
  markOutOfService: z.boolean().prefault(FENCE.markOutOfService).meta({ description: MARK_OUT_OF_SERVICE }),
});

const driverName = withRules(z.string().max(128), [
  matching(
    /^[A-Za-z0-9]([-A-Za-z0-9._/]*[A-Za-z0-9])?$/,
    'write the name of a CSI driver, or of an in-tree provisioner, such as driver.longhorn.io',
  ),
]);

const owner = withRules(
  z.object({
    group: withRules(z.string().min(1).max(253), [
      matching(
        /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
        'write the API group without a version, as before the slash of its apiVersion, such as postgresql.cnpg.io',
      ),
    ]).meta({ description: 'The API group of the controller, without a version.' }),
    kind: withRules(z.string().max(63), [
      matching(/^[A-Z][A-Za-z0-9]*$/, 'write the kind as in its manifests, such as Cluster'),
    ]).meta({ description: 'The kind of the controller.' }),
  }),
  [
    {
      cel: `!(self.group in ['apps', 'batch']) && self.kind != 'DaemonSet'`,
      message:
        'remove it: StatefulSets and ReplicaSets of apps are what podDeletion is about, and pods of Jobs and DaemonSets are never force-deleted',
      holds: (it) => !['apps', 'batch'].includes(it.group) && it.kind !== 'DaemonSet',
    },
  ],
);

const release = z.object({
  podDeletion: z
    .enum(POD_DELETION_POLICIES)
    .prefault(RELEASE.podDeletion)
    .meta({
      description:
        'Which terminating pods on a node that is down are force-deleted without any proof that they have stopped. All ' +
        'but `do-nothing` accept the risk of two writers on one volume if the node is merely cut off; every such release ' +
        'is recorded as AcceptedRisk. The controller of the pod decides, by API group and kind: StatefulSet and ReplicaSet ' +
        'are those of `apps`. Pods of any other controller, and of none, are never touched; see `owners`.',
    }),
  provisioners: asSet(z.array(driverName).max(64))
    .prefault([])
    .meta({
      description:
        'The storage whose pods `podDeletion` and `volumeAttachmentRecovery` are about. With none listed they have no ' +
        'effect. List only storage that refuses a second writer by itself.',
    }),
  owners: z
    .array(owner)
    .max(16)
    .prefault([])
    .meta({
      description:
        'Further controllers whose pods go where those of a StatefulSet would, such as ' +
        '`{group: postgresql.cnpg.io, kind: Cluster}`: list only those that make a pod of the same name or data again.',
    }),
  volumeAttachmentRecovery: z
    .enum(ATTACHMENT_RECOVERY_POLICIES)
    .prefault(RELEASE.volumeAttachmentRecovery)
    .meta({
      description:
        'For pods that `podDeletion` leaves alone: free their volumes for the replacement `never`, once the time of the ' +
        'old pod to terminate is up (`wait`), or as soon as it is terminating and its replacement is pending ' +
        '(`immediate`). The latter two accept the same risk.',
    }),
  safeDetach: asSet(z.array(driverName).max(64))
    .prefault([])
    .meta({
      description:
        'CSI drivers whose detach takes the access of the node away, or waits until nothing writes any more. Says the same ' +
        'as the annotation `fenceline.dev/safe-detach: "true"` on the CSIDriver, which belongs to the chart of the driver; ' +
        'where that says `"false"`, it stays false. List a driver only if you know this of it: of one that merely detaches ' +
        'it makes two writers. Needs the feature gate NonGracefulFailover.',
    }),
  assertions: asSet(z.array(z.enum(ASSERTIONS)).max(2))
    .prefault([])
    .meta({
      description:
        'Whose word is taken that nothing runs on a node any more: an administrator with the out-of-service taint ' +
        '(`OutOfService`), the cloud provider with its shutdown taint (`CloudShutdown`). Whoever may taint nodes can then ' +
        'have pods force-deleted.',
    }),
  budgets: z
    .enum(BUDGET_POLICIES)
    .prefault(RELEASE.budgets)
    .meta({
      description:
        'Whether a pod of a dead node goes although its PodDisruptionBudget allows no disruption (`ReleaseAfterFence`; the ' +
        'record names the budget), or stays until it does (`Respect`). It runs no more and counts as disrupted already, so ' +
        'a budget that waits for it can wait for ever; the machine is switched on meanwhile. Pods that can still be ' +
        'evicted are always evicted within their budget.',
    }),
  riskAfterFailedFence: z
    .boolean()
    .prefault(RELEASE.riskAfterFailedFence)
    .meta({
      description:
        'Let `podDeletion` apply also to a node whose fence has failed. A fence fails just when nobody knows what the ' +
        'machine is doing, so this is where two writers are most likely.',
    }),
});

const skipCondition = withRules(
  z.object({
    type: conditionType().meta({ description: 'The type of a Node condition.' }),
    status: z.enum(CONDITION_STATUSES).meta({ description: 'The status at which the node is left alone.' }),
  }),
  [
    {
      cel: `self.type != 'Ready' || self.status == 'True'`,
      message:
        'a node that is not Ready is what fencing is for: name a condition that tells of its storage, such as {type: StorageUnreachable, status: "True"}',
      holds: (it) => it.type !== 'Ready' || it.status === 'True',
    },
  ],
);

const storm = z.object({
  maxUnresponsive: share()
    .prefault(STORM.maxUnresponsive)
    .meta({
      description:
        'Fence nothing while more nodes than this are unresponsive, as a share or a number, in the cluster or in a zone of ' +
        'three or more: so many at once is a broken switch, not broken machines. `100%` is no limit; `0` stops all fencing ' +
        'at the first silent node.',
    }),
  maxConcurrent: z.int().min(1).max(1000).prefault(STORM.maxConcurrent).meta({
    description: 'How many nodes are fenced at the same time. To fence none, write `mode: Paused`.',
  }),
  podsPerMinute: z.int().min(1).max(100_000).prefault(STORM.podsPerMinute).meta({
    description: 'How many pods are released per minute. They all start elsewhere at once; the rest must carry them.',
  }),
  cooldown: duration()
    .prefault(STORM.cooldown)
    .meta({
      description:
        'For how long after a storm nothing is begun that cannot be taken back: what caused it may not be over. A machine ' +
        'that is found off does not wait for it. `0s` is no pause.',
    }),
  skipWhen: z
    .array(skipCondition)
    .max(16)
    .prefault([])
    .meta({
      description:
        'Conditions under which a node is left alone, such as that it cannot reach its storage: fencing it would not help, ' +
        'and the others are likely to follow.',
    }),
});

const returning = z.object({
  soak: duration().prefault(RETURN.soak).meta({
    description: 'How long a node must stay Ready and clean before pods may come back to it.',
  }),
  backoff: z.number().min(1).max(10).prefault(RETURN.backoff).meta({
    description: 'By what factor the soak grows with each failure that follows within a day; 1 keeps it as it is.',
  }),
  maxSoak: positiveDuration().prefault(RETURN.maxSoak).meta({
    description: 'How far `backoff` may lengthen the soak. A `soak` that is longer to begin with stays as it is.',
  }),
});

const alarm = z.object({
  condition: conditionType().meta({ description: 'The type of the condition whose incidents are counted.' }),
  count: z
    .int()
    .min(1)
    .max(MAX_PROBLEM_TIMES)
    .prefault(ALARM.count)
    .meta({ description: 'This many incidents on one node raise the alarm.' }),
  within: positiveDuration().prefault(ALARM.within).meta({ description: 'The time within which they are counted.' }),
});

interface SpecForRules {
  thresholds: Threshold[];
  remedies: Remedy[];
}

/** Every name in a ladder must be that of a remedy; found out now, not when the ladder gets there. */
function namesExist(list: 'remedies' | 'recovery'): Rule<SpecForRules> {
  const missing = '!self.remedies.exists(d, d.name == r.name)';
  const before = `a threshold names in its ${list} a remedy that spec.remedies does not have`;
  const after = ': add it there, or correct the name';
  const firstMissing = (spec: SpecForRules): string | undefined =>
    spec.thresholds
      .flatMap((t): { name: string }[] => t[list])
      .find((r) => !spec.remedies.some((d) => d.name === r.name))?.name;
  return {
    cel: `self.thresholds.all(t, !t.${list}.exists(r, ${missing}))`,
    message: `${before}${after}`,
    // By format() and in one pass: the API server takes joined texts and indexed lists for far too expensive.
    messageExpression: `'${before}, %s${after}'.format([self.thresholds.map(t, t.${list}.exists(r, ${missing}), t.${list}.map(r, ${missing}, r.name))])`,
    fieldPath: '.thresholds',
    holds: (spec) => firstMissing(spec) === undefined,
    explain: (spec) => `${before}, "${firstMissing(spec)}"${after}`,
  };
}

const ladderRules: Rule<SpecForRules>[] = [
  namesExist('remedies'),
  namesExist('recovery'),
  {
    cel: 'self.thresholds.all(t, t.recovery.all(r, !self.remedies.exists(d, d.name == r.name && (has(d.fence) || has(d.deleteMachine)))))',
    message:
      'recovery runs when the node is well again and must not fence it or delete its machine: name a remedy such as uncordon there',
    fieldPath: '.thresholds',
    holds: (spec) =>
      !spec.thresholds
        .flatMap((t) => t.recovery)
        .some((r) => spec.remedies.some((d) => d.name === r.name && (d.fence ?? d.deleteMachine) !== undefined)),
  },
  {
    cel: `self.thresholds.all(t, !has(t.condition) || self.thresholds.exists_one(u, has(u.condition) && u.condition.type == t.condition.type && u.condition.status == t.condition.status)) && self.thresholds.filter(t, has(t.lease) && !has(t.condition)).size() <= 1`,
    message:
      'two thresholds watch the same condition with the same status, or both the lease: make one ladder of their remedies',
    fieldPath: '.thresholds',
    holds: (spec) => new Set(spec.thresholds.map(thresholdKey)).size === spec.thresholds.length,
  },
];

const spec = withRules(
  z.object({
    ...nodeChoice(),
    mode: z
      .enum(MODES)
      .prefault(REMEDY_DEFAULTS.mode)
      .meta({
        description:
          '`Enforce` acts. `DryRun` decides everything, records in `status.rehearsal` of the NodeFence what would have been done ' +
          'when, and writes nothing to nodes, pods or devices; nothing of that counts once the policy acts. `Paused` does not ' +
          'even decide. `Approve` prepares everything and waits for a person before the point of no return, however long ' +
          'that takes; meanwhile the pods stay where they are.',
      }),
    thresholds: z.array(threshold).max(16).prefault([]).meta({
      description: 'What counts as trouble, and the ladder of remedies for it. Without any, only `release` works.',
    }),
    remedies: asMap(z.array(remedy).max(32), 'name').prefault([]).meta({
      description: 'The remedies that the ladders name.',
    }),
    fence: fence.prefault({}).meta({ description: 'How patient a fence is, and how persistent.' }),
    release: release.prefault({}).meta({
      description: 'Which pods and volumes of a dead node may go, and on whose word. Works without thresholds.',
    }),
    storm: storm.prefault({}).meta({
      description: 'The brakes. Without them one broken switch can have every node behind it powered off.',
    }),
    return: returning.prefault({}).meta({ description: 'How a node comes back into service.' }),
    alarms: z.array(alarm).max(32).prefault([]).meta({
      description: 'When repeated trouble of one node is worth the attention of a person.',
    }),
  }),
  [...choiceRules, ...ladderRules],
);

const status = z.object({
  observedGeneration: observedGeneration(),
  nodes: z.int().min(0).optional().meta({ description: 'How many nodes this policy is in force for.' }),
  unresponsive: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'How many of them do not respond, or are being fenced.' }),
  fencing: z.int().min(0).optional().meta({ description: 'How many of them are being fenced.' }),
  conditions: policyConditions(),
});

export const RemedyPolicySchema = withRules(
  z.object({
    apiVersion: z.literal(API_VERSION),
    kind: z.literal('RemedyPolicy'),
    metadata,
    spec: spec.meta({ description: 'What is wanted.' }),
    status: status.prefault({}).meta({ description: 'What is.' }),
  }),
  [
    {
      cel: 'size(self.metadata.name) <= 63',
      message: 'the name of a policy labels what it makes: write at most 63 characters',
      fieldPath: '.metadata.name',
      holds: (it) => it.metadata.name.length <= 63,
    },
  ],
);

/** As the operator reads it, with every default filled in. */
export type RemedyPolicy = z.output<typeof RemedyPolicySchema>;
/** As a user may write it. */
export type RemedyPolicyInput = z.input<typeof RemedyPolicySchema>;
export type RemedyPolicySpec = RemedyPolicy['spec'];
