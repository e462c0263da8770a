/** The kinds: names, schemas, and the columns that `kubectl get` shows. */
import type { z } from 'zod';
import { DrainPolicySchema } from './drain-policy.ts';
import { FenceDeviceSchema } from './fence-device.ts';
import { NodeFenceSchema } from './node-fence.ts';
import { RemedyPolicySchema } from './remedy-policy.ts';

export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
}

export interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** Default: it belongs to no namespace. */
  readonly namespaced?: true;
  /** What it is for, in a sentence or two; opens its page of the reference. */
  readonly about: string;
  readonly schema: z.ZodType;
  readonly columns: readonly PrinterColumn[];
}

const conditionStatus = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`;
const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

export const KINDS: readonly Kind[] = [
  {
    kind: 'RemedyPolicy',
    plural: 'remedypolicies',
    singular: 'remedypolicy',
    shortNames: ['rpol'],
    about: 'For a set of nodes: what counts as trouble, what is done about it, and how much of it at a time.',
    schema: RemedyPolicySchema,
    columns: [
      { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
      { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes' },
      { name: 'Unresponsive', type: 'integer', jsonPath: '.status.unresponsive' },
      { name: 'Fencing', type: 'integer', jsonPath: '.status.fencing' },
      { name: 'Ready', type: 'string', jsonPath: conditionStatus('Ready') },
      { name: 'Risky', type: 'string', jsonPath: conditionStatus('Risky') },
      { name: 'Fenceable', type: 'string', jsonPath: conditionStatus('Fenceable') },
      { name: 'Pod-Deletion', type: 'string', jsonPath: '.spec.release.podDeletion', priority: 1 },
      age,
    ],
  },
  {
    kind: 'NodeFence',
    plural: 'nodefences',
    singular: 'nodefence',
    shortNames: ['nf'],
    about:
      'All that has to survive a crash about one node in trouble; made and kept by the operator, one per node, named ' +
      '`node-fence-<node>`.',
    schema: NodeFenceSchema,
    columns: [
      { name: 'Node', type: 'string', jsonPath: '.spec.node' },
      { name: 'Verdict', type: 'string', jsonPath: '.status.verdict' },
      { name: 'Step', type: 'string', jsonPath: '.status.fence.step' },
      { name: 'Status', type: 'string', jsonPath: '.status.fence.status' },
      { name: 'Return', type: 'string', jsonPath: '.status.return.stage' },
      { name: 'Held', type: 'string', jsonPath: '.status.hold.reason' },
      { name: 'Stop', type: 'boolean', jsonPath: '.spec.stop' },
      { name: 'Policy', type: 'string', jsonPath: '.spec.policy', priority: 1 },
      { name: 'Trouble', type: 'string', jsonPath: '.status.incident.trouble', priority: 1 },
      { name: 'Epoch', type: 'integer', jsonPath: '.status.epoch', priority: 1 },
      age,
    ],
  },
  {
    kind: 'DrainPolicy',
    plural: 'drainpolicies',
    singular: 'drainpolicy',
    shortNames: ['dpol'],
    about: 'For a set of nodes: what a drain must wait for, so that no node takes the last copy of a volume with it.',
    schema: DrainPolicySchema,
    columns: [
      { name: 'Policy', type: 'string', jsonPath: '.spec.policy' },
      { name: 'Storage', type: 'string', jsonPath: '.spec.storage' },
      { name: 'Enforcement', type: 'string', jsonPath: '.spec.enforcement' },
      { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes' },
      { name: 'Blocking', type: 'integer', jsonPath: '.status.blocking' },
      { name: 'Ready', type: 'string', jsonPath: conditionStatus('Ready') },
      age,
    ],
  },
  {
    kind: 'FenceDevice',
    plural: 'fencedevices',
    singular: 'fencedevice',
    shortNames: ['fdev'],
    namespaced: true,
    about:
      'A device that cuts nodes off, in the namespace of the operator: how it is reached, what it says, whether it is believed, ' +
      'and whether its node could be fenced by it today. For devices that are written in ConfigMaps the operator makes one.',
    schema: FenceDeviceSchema,
    columns: [
      { name: 'Node', type: 'string', jsonPath: '.spec.node' },
      { name: 'Nodes', type: 'integer', jsonPath: '.status.nodes', priority: 1 },
      { name: 'Device', type: 'string', jsonPath: '.status.device' },
      { name: 'Fenceable', type: 'boolean', jsonPath: '.status.fenceable' },
      { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
      { name: 'Power', type: 'string', jsonPath: '.status.power' },
      { name: 'Wrong', type: 'string', jsonPath: '.status.wrong.reason' },
      { name: 'Seen-On', type: 'date', jsonPath: '.status.seenOn', priority: 1 },
      { name: 'Identity', type: 'string', jsonPath: '.status.identity', priority: 1 },
      { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
      age,
    ],
  },
];
