import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { DrainPolicySchema } from './drain-policy.ts';
import { EXAMPLES } from './examples.ts';
import { KINDS } from './kinds.ts';
import { EMPTY_STATUS } from './empty-status.ts';
import { nodeFenceName } from './fence-names.ts';
import { BASES, FENCE_STATUSES, FENCE_STEPS, NodeFenceSchema, RETURN_STAGES } from './node-fence.ts';
import { parseObject } from './parse.ts';
import { ATTACHMENT_RECOVERY_POLICIES, DRAIN_POLICIES, POD_DELETION_POLICIES } from './policy-defaults.ts';
import { actionOf } from './policy-facts.ts';
import { RemedyPolicySchema, type RemedyPolicy } from './remedy-policy.ts';
import { thresholdKey } from './threshold-key.ts';

const apiVersion = 'fenceline.dev/v1alpha1';

function policyWith(spec: object): RemedyPolicy {
  return RemedyPolicySchema.parse({
    apiVersion,
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: { allNodes: true, ...spec },
  });
}

test('[POD-1] the four pod deletion policies have the names of the source, and do-nothing is the default', () => {
  assert.deepEqual(POD_DELETION_POLICIES, [
    'do-nothing',
    'delete-statefulset-pod',
    'delete-deployment-pod',
    'delete-both-statefulset-and-deployment-pod',
  ]);
  assert.equal(policyWith({}).spec.release.podDeletion, 'do-nothing');
});

test('the three recovery policies have the names of the source, and never is the default', () => {
  assert.deepEqual(ATTACHMENT_RECOVERY_POLICIES, ['never', 'wait', 'immediate']);
  assert.equal(policyWith({}).spec.release.volumeAttachmentRecovery, 'never');
});

test('[DRN-1] the five drain policies have the names of the source, and the first is the default', () => {
  assert.deepEqual(DRAIN_POLICIES, [
    'block-if-contains-last-replica',
    'allow-if-replica-is-stopped',
    'always-allow',
    'block-for-eviction',
    'block-for-eviction-if-contains-last-replica',
  ]);
  const policy = { apiVersion, kind: 'DrainPolicy', metadata: { name: 'default' }, spec: { allNodes: true } };
  assert.deepEqual(DrainPolicySchema.parse(policy).spec, {
    allNodes: true,
    priority: 0,
    policy: 'block-if-contains-last-replica',
    storage: 'longhorn',
    namespace: 'longhorn-system',
    enforcement: 'Auto',
  });
});

test('steps and states of a fence have the names of the source', () => {
  assert.deepEqual(FENCE_STEPS, ['isolation', 'power-management', 'recovery']);
  assert.deepEqual(FENCE_STATUSES, ['new', 'running', 'done', 'final', 'error']);
});

test('these and no others are a basis', () => {
  assert.deepEqual(BASES, [
    'StorageSafeDetach',
    'StorageFenced',
    'PowerOff',
    'KernelCrashed',
    'Asserted',
    'AcceptedRisk',
  ]);
});

test('a node comes back through three stages, and is then in service', () => {
  assert.deepEqual(RETURN_STAGES, ['seen', 'clean', 'soaked']);
});

test('a policy that says nothing is careful', () => {
  assert.deepEqual(policyWith({}).spec, {
    allNodes: true,
    priority: 0,
    mode: 'Enforce',
    thresholds: [],
    remedies: [],
    fence: {
      isolateAfter: '30s',
      powerManagementAfter: '5m',
      bootTimeout: '10m',
      retries: 3,
      restarts: 2,
      kdump: { enabled: false, timeout: '5m' },
      machineRemoved: false,
      powerOnFoundOff: true,
      markOutOfService: true,
    },
    release: {
      podDeletion: 'do-nothing',
      provisioners: [],
      owners: [],
      volumeAttachmentRecovery: 'never',
      safeDetach: [],
      assertions: [],
      budgets: 'ReleaseAfterFence',
      riskAfterFailedFence: false,
    },
    storm: { maxUnresponsive: '40%', maxConcurrent: 1, podsPerMinute: 300, cooldown: '5m', skipWhen: [] },
    return: { soak: '30s', backoff: 2, maxSoak: '1h' },
    alarms: [],
  });
});

test('a threshold that says little has the periods of the documentation', () => {
  const { thresholds, alarms } = policyWith({
    thresholds: [
      { condition: { type: 'Ready', status: 'NotTrue' }, remedies: [{ name: 'fence' }] },
      { lease: {}, remedies: [{ name: 'fence' }] },
    ],
    remedies: [{ name: 'fence', fence: {} }],
    alarms: [{ condition: 'Ready' }],
  }).spec;
  assert.equal(thresholds[0]?.condition?.for, '5s');
  assert.equal(thresholds[1]?.lease?.staleFor, '12s');
  assert.deepEqual(thresholds[0]?.remedies, [{ name: 'fence', period: '3m' }]);
  assert.deepEqual(thresholds[0]?.recovery, []);
  assert.deepEqual(alarms, [{ condition: 'Ready', count: 3, within: '24h' }]);
});

test('a threshold is known by what it watches, not by its place', () => {
  const { thresholds } = policyWith({
    thresholds: [
      { lease: {}, remedies: [{ name: 'fence' }] },
      { condition: { type: 'Ready', status: 'NotTrue' }, remedies: [{ name: 'fence' }] },
    ],
    remedies: [{ name: 'fence', fence: {} }],
  }).spec;
  assert.deepEqual(thresholds.map(thresholdKey), ['lease', 'Ready=NotTrue']);
});

test('a remedy does one thing', () => {
  const remedies = [
    { name: 'a', podTemplate: { spec: { containers: [{ name: 'a', image: 'b' }] } } },
    { name: 'b', fence: {} },
    { name: 'c', cordon: {} },
    { name: 'd', uncordon: {} },
    { name: 'e', drain: {} },
    { name: 'f', deleteMachine: {} },
  ];
  assert.deepEqual(policyWith({ remedies }).spec.remedies.map(actionOf), [
    'podTemplate',
    'fence',
    'cordon',
    'uncordon',
    'drain',
    'deleteMachine',
  ]);
  assert.equal(actionOf({ name: 'nothing' }), undefined);
});

test('a NodeFence is named after its node, and begins with nothing on record', () => {
  const metadata = { name: nodeFenceName('worker-1') };
  const fence = NodeFenceSchema.parse({ apiVersion, kind: 'NodeFence', metadata, spec: { node: 'worker-1' } });
  assert.equal(fence.metadata.name, 'node-fence-worker-1');
  assert.equal(fence.spec.stop, false);
  assert.deepEqual(fence.status, EMPTY_STATUS);
});

test('what was parsed once is parsed again to the same', () => {
  for (const example of EXAMPLES) {
    const kind = KINDS.find((it) => it.kind === example.kind);
    assert.ok(kind);
    const first = parseObject(kind.schema, parseYaml(example.yaml));
    assert.ok(first.ok, first.ok ? '' : first.problems.join('; '));
    assert.deepEqual(parseObject(kind.schema, structuredClone(first.value)), first);
  }
});

test('no default is shared between two objects', () => {
  const one = policyWith({});
  one.spec.release.provisioners.push('a.example');
  one.spec.fence.retries = 99;
  assert.deepEqual(policyWith({}).spec.release.provisioners, []);
  assert.equal(policyWith({}).spec.fence.retries, 3);
});
