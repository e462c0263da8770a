/** What the three kinds have in common. Limits on length and number keep the API server's estimate of CEL cost low. */
import { z } from 'zod';
import { asMap, celString, matching, REQUIRED_BY_RULE, withRules, type Rule } from './rules.ts';

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

const SELECTOR_HINT =
  'write nodeSelector: {} for every node, or nodeSelector: {matchLabels: {type: compute}} for those with a label';

/** Why the schema does not simply require the selector: the bare "Required value" would not say that `{}` will do. */
export const selectorIsWritten: Rule<{ nodeSelector: unknown }> = {
  cel: 'has(self.nodeSelector)',
  message: SELECTOR_HINT,
  reason: 'FieldValueRequired',
  fieldPath: '.nodeSelector',
  holds: (it) => it.nodeSelector !== undefined,
};

/** A label selector as everywhere in Kubernetes. The empty one selects every node. Goes with `selectorIsWritten`. */
export function nodeSelector() {
  return z
    .object(
      {
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
      },
      { error: (issue) => (issue.input === undefined ? SELECTOR_HINT : undefined) },
    )
    .meta({
      [REQUIRED_BY_RULE]: true,
      description:
        'Which nodes this is about. `{}` is every node, control plane included. Has to be written: a forgotten ' +
        'selector must not put the whole cluster under a policy. Beware of labels written directly below ' +
        '(`nodeSelector: {type: compute}`): without strict field validation the API server drops them, and what is ' +
        'left selects every node; they belong under `matchLabels`.',
    });
}

export type NodeSelector = z.output<ReturnType<typeof nodeSelector>>;

const condition = z.object({
  type: z.string().min(1).max(316).meta({ description: 'What is true or not; see the list of conditions.' }),
  status: z.enum(['True', 'False', 'Unknown']).meta({
    description: 'Unknown is an answer of its own and is never to be read as False.',
  }),
  observedGeneration: z.int().min(0).optional().meta({
    description:
      'The generation this was said about; if it is behind `metadata.generation`, the condition is of an older text.',
  }),
  lastTransitionTime: time().meta({ description: 'When the status last changed.' }),
  reason: z.string().min(1).max(128).meta({ description: 'One word for programs; see the list of reasons.' }),
  message: z.string().max(8192).meta({ description: 'A sentence for people.' }),
});

export type Condition = z.output<typeof condition>;

export function conditions() {
  return asMap(z.array(condition).max(32), 'type').prefault([]).meta({
    description: 'The state in the form that `kubectl wait --for=condition=…` understands.',
  });
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
