/** What the kinds have in common. Limits on length and number keep the API server's estimate of CEL cost low. */
import { z } from 'zod';
import { PRIORITY_DEFAULT } from './policy-defaults.ts';
import { asMap, celString, matching, withRules, type Rule } from './rules.ts';

export const GROUP = 'fenceline.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** A name that ends up in the names and labels of Jobs, so it obeys the strictest of their rules. */
export function label(description: string, example = 'repair-disk') {
  return withRules(z.string().max(63), [
    matching(
      /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
      `write a name of lower-case letters, digits and "-" that begins and ends with a letter or digit, such as ${example}`,
    ),
  ]).meta({ description });
}

/** The name of a cluster-scoped object. */
export function objectName(maxLength: number, example: string) {
  return withRules(z.string().max(maxLength), [
    matching(
      /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
      `write the name of the object: lower-case letters, digits, "-" and ".", such as ${example}`,
    ),
  ]);
}

export function conditionType() {
  return withRules(z.string().max(316), [
    matching(
      /^([-A-Za-z0-9_.]+\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
      'write the type of a condition as in the status of the Node, such as Ready or KernelDeadlock',
    ),
  ]);
}

/**
 * `NotTrue` is False or Unknown. Kubernetes reports a dead kubelet as Unknown and a sick one as False; who asks for one
 * of them alone misses half of the failures.
 */
export const CONDITION_STATUSES = ['True', 'False', 'Unknown', 'NotTrue'] as const;
export type WantedStatus = (typeof CONDITION_STATUSES)[number];

export function time() {
  return z.iso.datetime({ offset: true });
}

/** As people write it. The API server takes a list for a time, unless a rule has to compare it with one. */
export function writtenTime() {
  return withRules(time(), [
    {
      cel: `self >= timestamp('1970-01-01T00:00:00Z')`,
      message: 'write a time such as 2026-01-01T00:00:00Z',
      holds: (text) => Date.parse(text) >= 0,
    },
  ]);
}

const PERCENT = /^(100|[0-9]{1,2})%$/;

export function share() {
  return withRules(
    z
      .union([z.int(), z.string().max(8)], { error: 'write a percentage such as 40%, or a whole number of nodes' })
      .meta({ 'x-kubernetes-int-or-string': true, maxLength: 8 }),
    [
      {
        cel: `type(self) == string ? string(self).matches(${celString(PERCENT.source)}) : int(self) >= 0`,
        message: 'write a percentage from 0% to 100%, such as 40%, or a whole number of nodes, such as 2',
        holds: (value) => (typeof value === 'string' ? PERCENT.test(value) : value >= 0),
      },
    ],
  );
}

const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const KEY_HINT = 'write label keys such as type or topology.kubernetes.io/zone';
const VALUE_HINT = 'write a label value: at most 63 letters, digits, "-", "_" and ".", such as compute';

function labelValue() {
  return withRules(z.string().max(63), [matching(LABEL_VALUE, VALUE_HINT)]);
}

interface Requirement {
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[] | undefined;
}

const requirementRules: Rule<Requirement>[] = [
  {
    cel: `!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)`,
    message: 'In and NotIn compare with values: write at least one, such as values: [compute]',
    holds: (it) => !['In', 'NotIn'].includes(it.operator) || (it.values ?? []).length > 0,
  },
  {
    cel: `!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0`,
    message: 'Exists and DoesNotExist look at the key alone: remove values, or write operator: In',
    holds: (it) => !['Exists', 'DoesNotExist'].includes(it.operator) || (it.values ?? []).length === 0,
  },
];

const requirement = withRules(
  z.object({
    key: withRules(z.string().max(317), [matching(LABEL_KEY, KEY_HINT)]).meta({ description: 'The label to look at.' }),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).meta({
      description: 'NotIn and DoesNotExist also match nodes that never had the label, including those added next year.',
    }),
    values: z
      .array(labelValue())
      .max(64)
      .optional()
      .meta({ description: 'The values that In and NotIn compare with.' }),
  }),
  requirementRules,
);

const EVERY_NODE_HINT = 'allNodes: true for every node';
const SELECTOR_HINT = 'selector: {matchLabels: {type: compute}} for the nodes with a label';

interface NodeChoice {
  selector?: unknown;
  allNodes?: boolean | undefined;
  nodeSelector?: unknown;
}

/** Which nodes a policy is about. Nothing that is left out or mistyped may come to mean every node. */
export const choiceRules: readonly Rule<NodeChoice>[] = [
  {
    cel: '!has(self.nodeSelector)',
    message: `the field is called selector now: write ${SELECTOR_HINT}, or ${EVERY_NODE_HINT}`,
    fieldPath: '.nodeSelector',
    holds: (it) => it.nodeSelector === undefined,
  },
  {
    // Who still writes nodeSelector is told to rename it, and not that something is missing as well.
    cel: 'has(self.nodeSelector) || has(self.selector) || (has(self.allNodes) && self.allNodes)',
    message: `write ${SELECTOR_HINT}, or ${EVERY_NODE_HINT}`,
    reason: 'FieldValueRequired',
    fieldPath: '.selector',
    holds: (it) => it.nodeSelector !== undefined || it.selector !== undefined || it.allNodes === true,
  },
  {
    cel: '!has(self.selector) || !has(self.allNodes) || !self.allNodes',
    message: 'selector and allNodes: true contradict each other: remove one of them',
    fieldPath: '.allNodes',
    holds: (it) => it.selector === undefined || it.allNodes !== true,
  },
];

/** The fields that `choiceRules` is about. */
export function nodeChoice() {
  return {
    selector: nodeSelector()
      .optional()
      .meta({
        description:
          'Which nodes this is about: those that meet all of it. An empty one is refused, so that a slip does not put the ' +
          'whole cluster under a policy; write `allNodes: true` for that.',
      }),
    allNodes: z.boolean().optional().meta({
      description: 'Every node, the control plane included, instead of a `selector`.',
    }),
    nodeSelector: z.looseObject({}).optional().meta({
      description: 'Refused: it is called `selector`. Declared so that it is not dropped in silence.',
    }),
    priority: z
      .int()
      .min(-1_000_000)
      .max(1_000_000)
      .prefault(PRIORITY_DEFAULT)
      .meta({
        description:
          'Of several policies that select a node, the one with the highest priority applies; of equal ones the most ' +
          'specific, which is the one whose selector has the most requirements (each label and each expression counts ' +
          'one, `allNodes` none); of equally specific ones the oldest. The one that loses only by its age says ' +
          '`Conflict`.',
      }),
  };
}

/** A label selector as everywhere in Kubernetes, but for the empty one. */
export function nodeSelector() {
  return withRules(
    z.object({
      matchLabels: withRules(
        z
          .record(z.string(), labelValue())
          .refine((labels) => Object.keys(labels).length <= 32, 'at most 32 labels')
          .meta({ maxProperties: 32 }),
        [
          {
            cel: `self.all(key, size(key) <= 317 && key.matches(${celString(LABEL_KEY.source)}))`,
            message: KEY_HINT,
            holds: (labels) => Object.keys(labels).every((key) => key.length <= 317 && LABEL_KEY.test(key)),
          },
        ],
      )
        .optional()
        .meta({ description: 'Labels that a node must have, all of them.' }),
      matchExpressions: z
        .array(requirement)
        .max(32)
        .optional()
        .meta({ description: 'Further requirements, all of which must hold.' }),
    }),
    [
      {
        cel: '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)',
        message: `an empty selector is refused: write labels under matchLabels, such as ${SELECTOR_HINT}, or instead of it ${EVERY_NODE_HINT}`,
        holds: (it) => Object.keys(it.matchLabels ?? {}).length > 0 || (it.matchExpressions ?? []).length > 0,
      },
    ],
  );
}

export type NodeSelector = z.output<ReturnType<typeof nodeSelector>>;

const condition = z.object({
  type: z.string().min(1).max(316).meta({ description: 'What is true or not; see the list of conditions.' }),
  status: z.enum(['True', 'False', 'Unknown']).meta({
    description: 'Unknown is an answer of its own and is never to be read as False.',
  }),
  lastTransitionTime: time().meta({ description: 'When the status last changed.' }),
  reason: z.string().min(1).max(128).meta({ description: 'One word for programs; see the list of reasons.' }),
  message: z.string().max(8192).meta({ description: 'A sentence for people.' }),
});

/** Of a policy, which somebody applies and waits for. */
const policyCondition = condition.extend({
  observedGeneration: z.int().min(0).optional().meta({
    description:
      'The generation this was said about; if it is behind `metadata.generation`, the condition is of an older text.',
  }),
});

export type Condition = z.output<typeof policyCondition>;

const conditionsAbout = 'The state in the form that `kubectl wait --for=condition=…` understands.';

export function conditions() {
  return asMap(z.array(condition).max(32), 'type').prefault([]).meta({ description: conditionsAbout });
}

export function policyConditions() {
  return asMap(z.array(policyCondition).max(32), 'type').prefault([]).meta({ description: conditionsAbout });
}

export function observedGeneration() {
  return z.int().min(0).optional().meta({
    description: 'The generation that this status is about. Behind `metadata.generation`: a change is not seen yet.',
  });
}

/** The API server owns metadata and checks it; only what the rules and the operator read is spelled out. */
export const metadata = z.looseObject({
  name: z.string().min(1),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.int().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
});
