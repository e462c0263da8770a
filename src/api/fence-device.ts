/**
 * FenceDevice: a device that cuts nodes off, as people write it, and what is known of it. Those that are written in ConfigMaps
 * have one as well, which the operator makes. Its status is the memory by which its word is weighed: it
 * has to survive a change of leaders in the middle of an outage, and is written when something changes and not with every
 * answer.
 */
import { z } from 'zod';
import { API_VERSION, metadata, nodeSelector, objectName, time, writtenTime } from './common.ts';
import type { Rule } from './rules.ts';
import { asMap, withRules } from './rules.ts';

/** Since when and why a device is not to be believed. */
export const WRONG_REASONS = [
  'AnotherMachine',
  'OffWhileAlive',
  'SharedWithAnotherNode',
  'OutletsSwapped',
  'NeverOff',
] as const;
export const ASKED_BY = ['check', 'fence', 'watch'] as const;
export const WATCH_STATES = ['Watched', 'PortSilent', 'Blind', 'TooCostly'] as const;

const text = (max: number, description: string) => z.string().max(max).meta({ description });
const at = (description: string) => time().meta({ description });
const writtenAt = (description: string) => writtenTime().meta({ description });

/** What a device cuts a node off from. */
export const CUTS = ['Power', 'Storage'] as const;
const maxParameters = 64;

function parameters(description: string) {
  return z
    .record(z.string(), z.string().max(1024))
    .refine((all) => Object.keys(all).length <= maxParameters, `at most ${maxParameters} of them`)
    .meta({ maxProperties: maxParameters, description });
}

interface WrittenSpec {
  node?: string | undefined;
  selector?: object | undefined;
  agent?: string | undefined;
  driver?: string | undefined;
  parameters?: object | undefined;
  values?: readonly unknown[] | undefined;
  secrets?: readonly unknown[] | undefined;
  level?: number | undefined;
  cuts?: string | undefined;
  storage?: readonly string[] | undefined;
  identity?: string | undefined;
}

const ofDevices = ['parameters', 'values', 'secrets', 'level', 'cuts', 'storage', 'identity'] as const;

const deviceRules: readonly Rule<WrittenSpec>[] = [
  {
    cel: 'has(self.node) != has(self.selector)',
    message: 'write node: for one node, or selector: for all that have certain labels, and not both',
    fieldPath: '.node',
    holds: (it) => (it.node === undefined) !== (it.selector === undefined),
  },
  {
    cel: '!has(self.agent) || !has(self.driver)',
    message: 'agent and driver are two ways to reach it: remove one of them',
    fieldPath: '.driver',
    holds: (it) => it.agent === undefined || it.driver === undefined,
  },
  {
    cel: `has(self.agent) || has(self.driver) || !(has(self.selector) || ${ofDevices.map((field) => `has(self.${field})`).join(' || ')})`,
    message: 'write agent: or driver:, such as agent: fence_ipmilan, or nobody knows how to reach it',
    reason: 'FieldValueRequired',
    fieldPath: '.agent',
    holds: (it) =>
      it.agent !== undefined ||
      it.driver !== undefined ||
      (it.selector === undefined && ofDevices.every((field) => it[field] === undefined)),
  },
  {
    cel: "(has(self.cuts) && self.cuts == 'Storage') == (has(self.storage) && size(self.storage) > 0)",
    message: 'cuts: Storage and storage: belong together: name the CSI drivers, such as storage: [driver.longhorn.io]',
    fieldPath: '.storage',
    holds: (it) => (it.cuts === 'Storage') === (it.storage ?? []).length > 0,
  },
];

const spec = withRules(
  z.object({
    node: objectName(253, 'node-1').optional().meta({ description: 'The node that it cuts off.' }),
    selector: nodeSelector()
      .optional()
      .meta({ description: 'Instead of `node`: it is written once for all nodes that meet all of it.' }),
    agent: text(
      64,
      'The fence agent that speaks to it, such as `fence_ipmilan`. Neither this nor a driver: the operator has made the ' +
        'object, to keep what is known of a device that is written elsewhere.',
    ).optional(),
    driver: text(64, 'Instead of an agent: the cloud that its machine is in, such as `aws`.').optional(),
    parameters: parameters(
      'What the agent or driver is given, such as `ip` and `plug`. `{{node}}` stands for the name of the node, and any other ' +
        'name in such brackets for what `values` says of it.',
    ).optional(),
    values: asMap(
      z
        .array(
          z.object({
            node: objectName(253, 'node-1').meta({ description: 'The node.' }),
            values: parameters('Its values, by the name that stands in the brackets.'),
          }),
        )
        .max(1024),
      'node',
    )
      .optional()
      .meta({ description: 'What differs from node to node.' }),
    secrets: z
      .array(z.string().max(253))
      .max(8)
      .optional()
      .meta({
        description:
          'Secrets in the namespace of the operator whose keys are parameters too: one for all, or with `{{node}}` in the ' +
          'name one for each.',
      }),
    level: z.int().min(1).max(8).optional().meta({
      description:
        'Those of one level all have to succeed; where one fails, the next level is tried. Absent: the first.',
    }),
    cuts: z.enum(CUTS).optional().meta({
      description: 'What it cuts the node off from: its power, or its storage. Absent: its power.',
    }),
    storage: z.array(z.string().max(128)).max(64).optional().meta({
      description: 'With `cuts: Storage`: the CSI drivers whose volumes the node cannot reach then.',
    }),
    identity: text(
      256,
      'What the device answers when it is asked whose machine it is, where that is not what the node knows of itself. ' +
        '`unchecked`: nobody looks.',
    ).optional(),
    shown: z
      .object({
        by: text(253, 'Who.'),
        configuration: text(32, '`configuration` of its status: of any other one this says nothing.'),
        machine: text(32, '`machine` of its status: nor does it of another machine. Absent: of none.').optional(),
        place: text(32, '`place` of its status, where it has one: nor does it of another place.').optional(),
      })
      .optional()
      .meta({
        description:
          'Of what cuts a node off from its storage and cannot say whose it is: somebody has closed it while the node was at rest, and ' +
          'seen that node lose its storage. Written by `fenceline check --shown`; until then nothing is let go by its word.',
      }),
    cleared: z
      .object({
        by: text(253, 'Who.'),
        wrongSince: writtenAt('`since` of what was found wrong: this one, and nothing that is found later.'),
      })
      .optional()
      .meta({
        description:
          'Somebody has looked, and says that what was found wrong of it is mended. Written by `fenceline check --clear`; it ' +
          'counts when a check of the operator finds the device on while its node is alive.',
      }),
  }),
  deviceRules,
);

const status = z.object({
  nodes: z.int().min(0).optional().meta({
    description: 'How many nodes a `selector` selects. What is known of each is in a FenceDevice of its own.',
  }),
  goneSince: at(
    'Since when there is no Node of this name. After seven days, with nothing open, what the operator has made is deleted.',
  ).optional(),
  unnamedSince: at(
    'Since when no configuration of its node names it any more. After an hour, with nothing open, what the operator has made is ' +
      'deleted, unless it is known to be wrong or somebody has written in it.',
  ).optional(),
  device: text(128, 'The fence agent or driver, such as `agent:fence_ipmilan`.').optional(),
  configuration: text(
    32,
    'A hash of the configuration that all of this is about; of another one it says nothing.',
  ).optional(),
  machine: text(
    32,
    'With which machine of the node all of this was learnt: a hash of its system UUID, else of its machine ID, else of the UID of its ' +
      'Node. With another one it was never seen on, and no drill counts.',
  ).optional(),
  place: text(
    32,
    'Where its Secrets say where it is, or which of its outlets is meant: a hash of that. What was learnt in another place is about ' +
      'another device. Absent: its configuration says so.',
  ).optional(),
  cuts: z.enum(CUTS).optional().meta({ description: 'What it cuts the node off from. Absent: its power.' }),
  power: z.enum(['on', 'off', 'unknown']).optional().meta({ description: 'What it said when it was last asked.' }),
  since: at('Since when it has said so.').optional(),
  askedBy: z.enum(ASKED_BY).optional().meta({ description: 'In what it was asked when it first said so.' }),
  watch: z
    .enum(WATCH_STATES)
    .optional()
    .meta({
      description:
        'Whether it is asked all the time, where the policy of its node wants that: `Watched`; `PortSilent`, because the port of ' +
        'the kubelet does not answer the operator, so that a lost power is believed only when the Lease is overdue; `Blind`, because it does not ' +
        'answer, which says nothing of its machine; `TooCostly`, because each question would start a program. Absent: ' +
        'nobody wants it.',
    }),
  identity: text(
    256,
    'Whose machine it says that it is; absent: it cannot say, or nobody can compare it with the node.',
  ).optional(),
  seenOn: at(
    'When it was first seen on while its node was alive. A device that cannot say whose power it is is believed from then on; one of several outlets, when they were drilled.',
  ).optional(),
  cut: z
    .object({
      at: at('When it was told to switch off while its node was alive.'),
      bootId: text(64, 'In which boot the machine was then.'),
      isSilent: z.boolean().optional().meta({ description: 'It said off, and its node had fallen silent.' }),
      level: text(32, 'Together with which others, as a hash of their configurations; absent: alone.').optional(),
    })
    .optional()
    .meta({ description: 'A power cut that shows whether it is the right device, once its node is back.' }),
  drilled: at(
    'When its node was last seen to fall silent by a cut of it, and to boot again. Nobody is waited for after a power cut then.',
  ).optional(),
  drilledLevel: text(
    32,
    'Together with which others it was drilled, as a hash of their configurations; absent: alone. With any others, or without them, nothing was shown.',
  ).optional(),
  wrong: z
    .object({
      since: at('Since when.'),
      reason: z.enum(WRONG_REASONS).meta({ description: 'One word for programs; see the list of reasons.' }),
      message: text(512, 'What was seen.'),
    })
    .optional()
    .meta({ description: 'It is known to be wrong: no evidence, and not used until a check has cleared it.' }),
  cleared: z
    .object({
      by: text(253, 'Who has said so; `check`: a check has found it right.'),
      at: at('When.'),
      reason: z.enum(WRONG_REASONS).meta({ description: 'What had been wrong.' }),
    })
    .optional()
    .meta({ description: 'What was wrong of it last, and was cleared.' }),
  fenceable: z
    .boolean()
    .optional()
    .meta({ description: 'Whether its node could be fenced by it, when it was last checked.' }),
  reason: text(128, 'Why not, in one word for programs; see the list of reasons.').optional(),
  message: text(1024, 'Why not, in a sentence.').optional(),
});

export const FenceDeviceSchema = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('FenceDevice'),
  metadata,
  spec: spec.meta({ description: 'Which device, and of which node.' }),
  status: status.prefault({}).meta({ description: 'What is known of it.' }),
});

export type FenceDevice = z.output<typeof FenceDeviceSchema>;
export type FenceDeviceSpec = FenceDevice['spec'];
export type FenceDeviceStatus = FenceDevice['status'];
