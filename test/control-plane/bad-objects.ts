/**
 * Mistakes that users make, each one change away from an object that is accepted: whatever refuses the bad one refuses
 * it for that change. `rule`: refused in our words, by the API server and by the parser alike. `schema`: refused in the
 * words of the API server; the parser blames the same field in its own.
 */
import { BAD_POLICY_LISTS } from './bad-policy-lists.ts';
import { rule, schema, within, type BadObject } from './bad-objects-base.ts';

const DURATION = 'write a number with its unit, h, m, s or ms, such as 90s, 5m, 1h30m or 1.5h';
const POSITIVE = 'must be longer than nothing: write for instance 5s';
const SHARE = 'write a percentage from 0% to 100%, such as 40%, or a whole number of nodes, such as 2';
const LABEL_KEY = 'write label keys such as type or topology.kubernetes.io/zone';
const LABEL_VALUE = 'write a label value: at most 63 letters, digits';
const EMPTY = 'an empty selector is refused: write labels under matchLabels';
const RENAMED = 'the field is called selector now: write selector: {matchLabels';
const SUPPORTED = (...values: string[]): string =>
  `supported values: ${values.map((value) => `"${value}"`).join(', ')}`;

const policies: BadObject[] = within('policy', [
  schema('spec', undefined, 'Required value'),
  rule(
    'spec.selector',
    undefined,
    'write selector: {matchLabels: {type: compute}} for the nodes with a label, or allN',
  ),
  rule('spec.selector', {}, EMPTY),
  rule('spec.selector', { matchLabels: {}, matchExpressions: [] }, EMPTY),
  // Labels directly below are pruned: what is left must not select every node.
  rule('spec.selector', { type: 'compute' }, EMPTY),
  schema('spec.selector', 'type=compute', 'must be of type object'),
  rule('spec.nodeSelector', { matchLabels: { type: 'compute' } }, RENAMED),
  rule('spec.nodeSelector', {}, RENAMED),
  rule('spec.allNodes', true, 'contradict each other: remove one of them'),
  schema('spec.allNodes', 'yes', 'must be of type boolean'),
  schema('spec.priority', '10', 'must be of type integer'),
  schema('spec.priority', 1_000_001, 'should be less than or equal to 1000000'),
  schema('spec.selector.matchLabels.type', 5, 'must be of type string'),
  rule('spec.selector.matchLabels', { 'node type': 'compute' }, LABEL_KEY),
  rule('spec.selector.matchLabels', { type: '-compute-' }, LABEL_VALUE, 'spec.selector.matchLabels'),
  schema('spec.selector.matchExpressions[0].operator', 'Equals', SUPPORTED('In', 'NotIn', 'Exists', 'DoesNotExist')),
  rule(
    'spec.selector.matchExpressions[0].values',
    [],
    'write at least one, such as values: [compute]',
    'spec.selector.matchExpressions[0]',
  ),
  rule(
    'spec.selector.matchExpressions[0].operator',
    'Exists',
    'remove values, or write operator: In',
    'spec.selector.matchExpressions[0]',
  ),
  rule('spec.selector.matchExpressions[0].key', 'rack number', LABEL_KEY),
  rule('metadata.name', 'a'.repeat(64), 'write at most 63 characters'),
  schema('spec.mode', 'enforce', SUPPORTED('Enforce', 'DryRun', 'Paused', 'Approve')),
  schema('spec.mode', 'Off', SUPPORTED('Enforce', 'DryRun', 'Paused', 'Approve')),

  schema('spec.fence.isolateAfter', 30, 'must be of type string'),
  rule('spec.fence.isolateAfter', '30', DURATION),
  rule('spec.fence.isolateAfter', '30 s', DURATION),
  rule('spec.fence.isolateAfter', '30sec', DURATION),
  rule('spec.fence.isolateAfter', '-30s', DURATION),
  rule('spec.fence.powerManagementAfter', '0', DURATION),
  rule('spec.fence.powerManagementAfter', '1.5.2m', DURATION),
  rule('spec.fence.powerManagementAfter', '1h30', DURATION),
  rule('spec.fence.powerManagementAfter', '.h', DURATION),
  rule('spec.fence.powerManagementAfter', 'PT5M', DURATION),
  rule('spec.fence.powerManagementAfter', '', DURATION),
  rule('spec.fence.powerManagementAfter', '1d', DURATION),
  rule('spec.fence.bootTimeout', '5M', DURATION),
  rule('spec.fence.bootTimeout', '0h0m0.000s', POSITIVE),
  rule('spec.fence.bootTimeout', '0s', POSITIVE),
  rule('spec.fence.bootTimeout', '9999999h', DURATION),
  schema('spec.fence.bootTimeout', '1h'.padStart(30, '0'), 'Too long: may not be more than 24'),
  schema('spec.fence.retries', -1, 'should be greater than or equal to 0'),
  schema('spec.fence.retries', '3', 'must be of type integer'),
  schema('spec.fence.restarts', 1000, 'should be less than or equal to 100'),
  schema('spec.fence.kdump', true, 'must be of type object'),
  schema('spec.fence.kdump.enabled', 'yes', 'must be of type boolean'),
  rule('spec.fence.kdump.timeout', '0m', POSITIVE),
  schema('spec.fence.powerWatch', true, 'must be of type object'),
  rule('spec.fence.powerWatch.every', '500ms', 'must be at least 1s'),

  schema('spec.release.podDeletion', 'delete-all', '"do-nothing", "delete-statefulset-pod", "delete-deployment-pod"'),
  schema('spec.release.podDeletion', 'DeleteStatefulSetPod', '"delete-both-statefulset-and-deployment-pod"'),
  schema('spec.release.provisioners', 'driver.longhorn.io', 'must be of type array'),
  rule('spec.release.provisioners[0]', '', 'such as driver.longhorn.io'),
  rule('spec.release.provisioners[0]', 'driver longhorn', 'such as driver.longhorn.io'),
  schema('spec.release.provisioners', ['a.example', 'a.example'], 'Duplicate value', 'spec.release.provisioners'),
  rule('spec.release.owners[0].group', 'postgresql.cnpg.io/v1', 'write the API group without a version'),
  rule('spec.release.owners[0].kind', 'clusters', 'write the kind as in its manifests, such as Cluster'),
  rule(
    'spec.release.owners[0]',
    { group: 'apps', kind: 'ReplicaSet' },
    'remove it: StatefulSets and ReplicaSets of apps',
  ),
  rule(
    'spec.release.owners[0]',
    { group: 'batch', kind: 'Job' },
    'pods of Jobs and DaemonSets are never force-deleted',
  ),
  rule('spec.release.owners[0]', { group: 'apps.kruise.io', kind: 'DaemonSet' }, 'are never force-deleted'),
  schema('spec.release.owners[0].group', undefined, 'Required value'),
  schema('spec.release.volumeAttachmentRecovery', 'always', SUPPORTED('never', 'wait', 'immediate')),
  rule('spec.release.safeDetach[0]', 'csi driver', 'write the name of a CSI driver'),
  schema('spec.release.safeDetach', ['a.example', 'a.example'], 'Duplicate value', 'spec.release.safeDetach'),
  schema('spec.release.assertions[0]', 'Shutdown', SUPPORTED('OutOfService', 'CloudShutdown')),
  schema('spec.release.assertions', ['OutOfService', 'OutOfService'], 'Duplicate value', 'spec.release.assertions'),
  schema('spec.release.budgets', 'Ignore', SUPPORTED('Respect', 'ReleaseAfterFence')),
  schema('spec.release.riskAfterFailedFence', 'true', 'must be of type boolean'),

  rule('spec.storm.maxUnresponsive', '101%', SHARE),
  rule('spec.storm.maxUnresponsive', '-5%', SHARE),
  rule('spec.storm.maxUnresponsive', '40', SHARE),
  rule('spec.storm.maxUnresponsive', '40.5%', SHARE),
  rule('spec.storm.maxUnresponsive', -1, SHARE),
  schema('spec.storm.maxUnresponsive', 0.4, 'must be of type integer,string'),
  schema('spec.storm.maxConcurrent', 0, 'should be greater than or equal to 1'),
  schema('spec.storm.maxConcurrent', '10%', 'must be of type integer'),
  schema('spec.storm.podsPerMinute', 0, 'should be greater than or equal to 1'),
  rule('spec.storm.cooldown', 'five minutes', DURATION),
  rule(
    'spec.storm.skipWhen[0]',
    { type: 'Ready', status: 'NotTrue' },
    'name a condition that tells of its storage, such as {type: StorageUnreachable, status: "True"}',
  ),
  schema('spec.storm.skipWhen[0].status', undefined, 'Required value'),
  schema('spec.storm.skipWhen[0].status', true, 'must be of type string'),

  rule('spec.return.soak', '30', DURATION),
  schema('spec.return.backoff', 0.5, 'should be greater than or equal to 1'),
  rule('spec.return.maxSoak', '0s', POSITIVE),
  schema('spec.alarms[0].condition', undefined, 'Required value'),
  rule('spec.alarms[0].condition', 'not ready', 'such as Ready or KernelDeadlock'),
  schema('spec.alarms[0].count', 0, 'should be greater than or equal to 1'),
  rule('spec.alarms[0].within', '0h', POSITIVE),
]);

const fences: BadObject[] = within('fence', [
  schema('spec.node', undefined, 'Required value'),
  rule('metadata.name', 'worker-7', 'write node-fence-worker-7, or another spec.node'),
  rule('spec.node', 'worker-2', 'write node-fence-worker-2, or another spec.node', 'metadata.name'),
  rule('spec.node', 'Worker_1', 'lower-case letters, digits, "-" and ".", such as worker-1.example.com'),
  rule('spec.policy', 'my policy', 'lower-case letters, digits, "-" and "."'),
  schema('spec.stop', 'yes', 'must be of type boolean'),
]);

const tooMuchHistory = Array.from({ length: 101 }, () => ({ at: '2026-01-01T00:00:00Z', reason: 'X' }));

const fenceStatuses: BadObject[] = within('fenceStatus', [
  schema('status.epoch', -1, 'should be greater than or equal to 0'),
  schema('status.verdict', 'Dead', SUPPORTED('healthy', 'suspect', 'down', 'unknown')),
  schema('status.fence.step', 'power_management', SUPPORTED('isolation', 'power-management', 'recovery')),
  schema('status.fence.status', 'Done', SUPPORTED('new', 'running', 'done', 'final', 'error')),
  schema('status.return.stage', 'ready', SUPPORTED('seen', 'clean', 'soaked')),
  schema('status.releases[0].basis', undefined, 'Required value'),
  schema('status.releases[0].basis', 'Rebooted', '"PowerOff", "KernelCrashed", "Asserted"'),
  schema('status.releases[0].recordedAt', 'yesterday', 'must be of type date-time'),
  schema('status.evidence[0].says', 'No', SUPPORTED('Alive', 'Dead', 'Unknown')),
  schema('status.conditions[0].status', 'NotTrue', SUPPORTED('True', 'False', 'Unknown')),
  schema('status.history', tooMuchHistory, 'must have at most 100 items'),
]);

const drains: BadObject[] = within('drain', [
  rule('spec.allNodes', undefined, 'write selector: {matchLabels: {type: compute}} for the nodes', 'spec.selector'),
  rule('spec.allNodes', false, 'write selector: {matchLabels: {type: compute}} for the nodes', 'spec.selector'),
  rule('spec.selector', { matchLabels: { type: 'compute' } }, 'contradict each other: remove one', 'spec.allNodes'),
  rule('spec.selector', {}, EMPTY),
  rule('spec.nodeSelector', {}, RENAMED),
  schema('spec.policy', 'block', '"block-if-contains-last-replica", "allow-if-replica-is-stopped", "always-allow"'),
  schema('spec.policy', 'BlockForEviction', '"block-for-eviction", "block-for-eviction-if-contains-last-replica"'),
  schema('spec.storage', 'rook', SUPPORTED('longhorn')),
  schema('spec.enforcement', 'auto', SUPPORTED('Auto', 'Enforce', 'Observe')),
  rule('spec.namespace', 'Longhorn System', 'write a name of lower-case letters, digits and "-"'),
]);

const REACHED = 'write agent: or driver:, such as agent: fence_ipmilan';
const ONE_OF = 'write node: for one node, or selector: for all that have certain labels';

const devices: BadObject[] = [
  ...within('device', [
    rule('spec.node', undefined, ONE_OF),
    rule('spec.selector', { matchLabels: { type: 'compute' } }, ONE_OF, 'spec.node'),
    rule('spec.node', 'Worker_1', 'lower-case letters, digits, "-" and "."'),
    rule('spec.agent', undefined, REACHED),
    rule('spec.driver', 'aws', 'agent and driver are two ways to reach it: remove one of them'),
    rule('spec.cuts', 'Storage', 'cuts: Storage and storage: belong together', 'spec.storage'),
    rule('spec.storage', ['driver.longhorn.io'], 'cuts: Storage and storage: belong together'),
    schema('spec.cuts', 'Network', SUPPORTED('Power', 'Storage')),
    schema('spec.level', 0, 'should be greater than or equal to 1'),
    schema('spec.parameters.ip', 5, 'must be of type string'),
    schema('spec.secrets', 'bmc', 'must be of type array'),
    schema('spec.values[0].node', undefined, 'Required value'),
  ]),
  ...within('madeDevice', [
    rule('spec.node', undefined, ONE_OF),
    rule('spec.parameters', { ip: '10.0.0.1' }, REACHED, 'spec.agent'),
    rule('spec.level', 2, REACHED, 'spec.agent'),
  ]),
];

export const BAD_OBJECTS: readonly BadObject[] = [
  ...policies,
  ...BAD_POLICY_LISTS,
  ...fences,
  ...fenceStatuses,
  ...drains,
  ...devices,
];
