/**
 * FenceDevice: what is known of the device that cuts one node off. Its status is the memory by which its word is weighed: it
 * has to survive a change of leaders in the middle of an outage, and is written when something changes and not with every
 * answer.
 */
import { z } from 'zod';
import { API_VERSION, metadata, objectName, time } from './common.ts';

/** Since when and why a device is not to be believed. */
export const WRONG_REASONS = ['AnotherMachine', 'OffWhileAlive', 'SharedWithAnotherNode', 'OutletsSwapped'] as const;
export const ASKED_BY = ['check', 'fence'] as const;

const text = (max: number, description: string) => z.string().max(max).meta({ description });
const at = (description: string) => time().meta({ description });

const spec = z.object({
  node: objectName(253, 'node-1').meta({ description: 'The node that it cuts off.' }),
});

const status = z.object({
  device: text(128, 'The fence agent or driver, such as `agent:fence_ipmilan`.').optional(),
  configuration: text(
    32,
    'A hash of the configuration that all of this is about; of another one it says nothing.',
  ).optional(),
  power: z.enum(['on', 'off', 'unknown']).optional().meta({ description: 'What it said when it was last asked.' }),
  since: at('Since when it has said so.').optional(),
  askedBy: z.enum(ASKED_BY).optional().meta({ description: 'In what it was asked when it first said so.' }),
  identity: text(
    256,
    'Whose machine it says that it is; absent: it cannot say, or nobody can compare it with the node.',
  ).optional(),
  seenOn: at(
    'When it was first seen on while its node was alive. A device that cannot say whose power it is is believed from then on.',
  ).optional(),
  cut: z
    .object({
      at: at('When it was told to switch off while its node was alive.'),
      bootId: text(64, 'In which boot the machine was then.'),
      isSilent: z.boolean().optional().meta({ description: 'It said off, and its node had fallen silent.' }),
    })
    .optional()
    .meta({ description: 'A power cut that shows whether it is the right device, once its node is back.' }),
  drilled: at(
    'When its node was last seen to fall silent by a cut of it, and to boot again. Nobody is waited for after a power cut then.',
  ).optional(),
  wrong: z
    .object({
      since: at('Since when.'),
      reason: z.enum(WRONG_REASONS).meta({ description: 'One word for programs; see the list of reasons.' }),
      message: text(512, 'What was seen.'),
    })
    .optional()
    .meta({ description: 'It is known to be wrong: no evidence, and not used until a check has cleared it.' }),
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
