/** Mistakes in thresholds, ladders and remedies. */
import { rule, schema, within, type BadObject } from './bad-objects-base.ts';

const NAME = 'write a name of lower-case letters, digits and "-"';
const ONE_TRIGGER =
  'write exactly one of condition and lease, such as condition: {type: Ready, status: NotTrue, for: 5s}';
const ONE_ACTION = 'write exactly one of podTemplate, fence, cordon, uncordon, drain, deleteMachine, such as fence: {}';
const MISSING = ': add it there, or correct the name';
const TWICE = 'make one ladder of their remedies';
const step = [{ name: 'fence' }];

export const BAD_POLICY_LISTS: readonly BadObject[] = within('policy', [
  schema('spec.thresholds', { lease: {} }, 'must be of type array'),
  rule('spec.thresholds[0].lease', { staleFor: '12s' }, ONE_TRIGGER, 'spec.thresholds[0]'),
  rule('spec.thresholds[1].lease', undefined, ONE_TRIGGER, 'spec.thresholds[1]'),
  schema('spec.thresholds[0].condition.type', undefined, 'Required value'),
  rule('spec.thresholds[0].condition.type', '', 'such as Ready or KernelDeadlock'),
  schema('spec.thresholds[0].condition.status', undefined, 'Required value'),
  schema('spec.thresholds[0].condition.status', false, 'must be of type string'),
  schema('spec.thresholds[0].condition.status', 'NotReady', 'supported values: "True", "False", "Unknown", "NotTrue"'),
  rule('spec.thresholds[0].condition.status', 'True', 'is a healthy node: write status: NotTrue'),
  rule('spec.thresholds[0].condition.for', '0s', 'must be longer than nothing: write for instance 5s'),
  rule('spec.thresholds[1].lease.staleFor', '12', 'such as 90s, 5m, 1h30m or 1.5h'),
  schema('spec.thresholds[0].remedies', undefined, 'Required value'),
  schema('spec.thresholds[0].remedies', [], 'should have at least 1 items'),
  schema('spec.thresholds[0].remedies', 'repair', 'must be of type array'),
  schema('spec.thresholds[0].remedies', Array(17).fill(step[0]), 'must have at most 16 items'),
  schema('spec.thresholds[0].remedies[0].name', undefined, 'Required value'),
  rule('spec.thresholds[0].remedies[0].period', '3 minutes', 'such as 90s, 5m, 1h30m or 1.5h'),
  schema('spec.thresholds[0].remedies[1].cleanResources', 'yes', 'must be of type boolean'),
  rule('spec.thresholds[0].remedies[0].name', 'reapir', `"reapir"`, 'spec.thresholds'),
  rule('spec.thresholds[0].remedies[0].name', 'nowhere', MISSING, 'spec.thresholds'),
  rule('spec.thresholds[0].recovery[0].name', 'recover', `"recover"`, 'spec.thresholds'),
  rule('spec.remedies[0].name', 'mend', MISSING, 'spec.thresholds'),
  rule('spec.thresholds[0].recovery[0].name', 'fence', 'name a remedy such as uncordon there', 'spec.thresholds'),
  rule('spec.thresholds[0].recovery[0].name', 'scrap', 'must not fence it or delete its machine', 'spec.thresholds'),
  rule('spec.thresholds[2].condition.type', 'Ready', TWICE, 'spec.thresholds'),
  rule('spec.thresholds[2]', { lease: { staleFor: '20s' }, remedies: step }, TWICE, 'spec.thresholds'),

  schema('spec.remedies[0].name', undefined, 'Required value'),
  rule('spec.remedies[3].name', 'Scrap_It', NAME),
  rule('spec.remedies[3].name', 'scrap-', NAME),
  schema('spec.remedies[3].name', 's'.repeat(64), 'Too long: may not be more than 63'),
  schema('spec.remedies[3].name', 'fence', 'Duplicate value: {"name":"fence"}', 'spec.remedies'),
  rule('spec.remedies[1].fence', undefined, ONE_ACTION, 'spec.remedies[1]'),
  rule('spec.remedies[1].cordon', {}, ONE_ACTION, 'spec.remedies[1]'),
  schema('spec.remedies[1].fence', true, 'must be of type object'),
  schema('spec.remedies[0].podTemplate.spec', undefined, 'Required value'),
  schema('spec.remedies[0].podTemplate.spec.containers', undefined, 'Required value'),
  schema('spec.remedies[0].podTemplate.spec.containers', [], 'should have at least 1 items'),
  schema('spec.remedies[0].podTemplate.spec.containers[0].image', undefined, 'Required value'),
  schema('spec.remedies[0].podTemplate.spec.restartPolicy', 'Always', 'supported values: "Never", "OnFailure"'),
  rule('spec.remedies[0].podTemplate.spec.nodeName', 'worker-1', 'remove it: where a remedy runs is chosen'),
]);
