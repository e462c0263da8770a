/** DrainPolicy: what a drain of a node must wait for, so that nobody's last copy goes with it. */
import { z } from 'zod';
import {
  API_VERSION,
  choiceRules,
  label,
  metadata,
  nodeChoice,
  observedGeneration,
  policyConditions,
  time,
} from './common.ts';
import { DRAIN_DEFAULTS, DRAIN_POLICIES, ENFORCEMENTS, STORAGE_SYSTEMS } from './policy-defaults.ts';
import { asMap, withRules } from './rules.ts';

const fields = z.object({
  ...nodeChoice(),
  policy: z
    .enum(DRAIN_POLICIES)
    .prefault(DRAIN_DEFAULTS.policy)
    .meta({
      description:
        'What blocks a drain. `block-if-contains-last-replica`: the last healthy replica of a volume. ' +
        '`allow-if-replica-is-stopped`: only the last running one; if the node never comes back, the data of a stopped ' +
        'volume is lost. `always-allow`: nothing, and nothing is protected. `block-for-eviction`: any replica; from cordon ' +
        'on all of them are rebuilt elsewhere, which moves every byte, also when the node was only cordoned. ' +
        '`block-for-eviction-if-contains-last-replica`: the last healthy replica, which alone is rebuilt elsewhere; other ' +
        'volumes run with a replica less.',
    }),
  storage: z.enum(STORAGE_SYSTEMS).prefault(DRAIN_DEFAULTS.storage).meta({
    description: 'The storage system whose replicas are guarded. Volumes of any other are not looked at.',
  }),
  namespace: label(
    'Where the storage system runs. In the wrong one nothing is found, and so nothing is guarded.',
    'longhorn-system',
  ).prefault(DRAIN_DEFAULTS.namespace),
  enforcement: z
    .enum(ENFORCEMENTS)
    .prefault(DRAIN_DEFAULTS.enforcement)
    .meta({
      description:
        '`Auto` watches where the storage system keeps its own budgets, and enforces elsewhere. `Enforce` always keeps ' +
        'budgets: two on one pod make every eviction fail, so ours is withheld from a pod that has one. `Observe` only ' +
        'reports, and blocks no drain.',
    }),
});

const spec = withRules(fields, choiceRules);

const guardedNode = z.object({
  node: z.string().min(1).max(253).meta({ description: 'The name of the node.' }),
  blocked: z.boolean().meta({ description: 'Whether a drain would wait.' }),
  autoEvicting: z
    .boolean()
    .prefault(false)
    .meta({ description: 'Whether replicas are leaving because of the policy.' }),
  reason: z.string().max(128).optional().meta({ description: 'One word for programs; see the list of reasons.' }),
  message: z.string().max(1024).optional().meta({ description: 'Which volume it waits for, and what for.' }),
  since: time().optional().meta({ description: 'Since when.' }),
});

const status = z.object({
  observedGeneration: observedGeneration(),
  nodes: z.int().min(0).optional().meta({ description: 'How many nodes are guarded by this policy.' }),
  blocking: z.int().min(0).optional().meta({ description: 'How many of them could not be drained now.' }),
  withdrawn: z.string().max(253).optional().meta({
    description:
      'The node whose budget is being withdrawn. One at a time: two nodes must not each count on the replica of the other.',
  }),
  draining: asMap(z.array(guardedNode).max(256), 'node').prefault([]).meta({
    description: 'The cordoned nodes, and what their drains wait for.',
  }),
  conditions: policyConditions(),
});

export const DrainPolicySchema = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('DrainPolicy'),
  metadata,
  spec: spec.meta({ description: 'What is wanted.' }),
  status: status.prefault({}).meta({ description: 'What is.' }),
});

/** As the operator reads it, with every default filled in. */
export type DrainPolicy = z.output<typeof DrainPolicySchema>;
/** As a user may write it. */
export type DrainPolicyInput = z.input<typeof DrainPolicySchema>;
export type DrainPolicySpec = DrainPolicy['spec'];
