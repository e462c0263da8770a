import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../api/common.ts';
import type { PolicyFindings } from './policy-conditions.ts';
import { findingsOf, withFindings } from './policy-conditions.ts';
import type { WrittenPolicy } from '../api/written.ts';
import { risksOf } from './policy-risks.ts';

const fencing: WrittenPolicy = {
  allNodes: true,
  thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '3m' }], recovery: [] }],
  remedies: [{ name: 'fence', fence: {} }],
  fence: { isolateAfter: '30s', powerManagementAfter: '5m', bootTimeout: '10m' },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1 },
  release: { podDeletion: 'do-nothing', provisioners: [], volumeAttachmentRecovery: 'never' },
};

function found(change: Partial<PolicyFindings> = {}): PolicyFindings {
  return {
    name: 'workers',
    spec: fencing,
    lacksDefaults: false,
    nodes: ['node-1', 'node-2'],
    conflicts: [],
    configProblems: [],
    unchecked: [],
    unproven: [],
    unshown: [],
    unconfigured: [],
    unreadableSecrets: [],
    unsupported: [],
    checks: [{ node: 'node-1' }, { node: 'node-2' }],
    ...change,
  };
}

function said(change: Partial<PolicyFindings>, type: string): string | undefined {
  const finding = findingsOf(found(change)).find((one) => one.type === type);
  return finding && `${finding.status} ${finding.reason}: ${finding.message}`;
}

test('a policy of which all is well', () => {
  assert.equal(said({}, 'Valid'), 'True Accepted: in force for 2 nodes');
  assert.equal(said({}, 'Ready'), 'True Accepted: in force for 2 nodes');
  assert.equal(said({}, 'Risky'), 'False NothingRisky: no dangerous value was found');
  assert.equal(said({}, 'Fenceable'), 'True AllFenceable: the devices of 2 nodes answer');
});

test('[ADM-6] who else is set up to act on its nodes is a risk, and what nobody may look at is said', () => {
  const findings = ['NodeHealthCheck nhc is for node-1 as well', 'Longhorn deletes pods'];
  const unread = [{ what: 'nodehealthchecks.remediation.medik8s.io', why: 'the right to list them is missing' }];
  const blind = 'not looked at: nodehealthchecks.remediation.medik8s.io: the right to list them is missing';
  assert.equal(said({ others: { findings, unread: [] } }, 'Risky'), `True OthersAct: ${findings.join('; ')}`);
  assert.equal(said({ others: { findings, unread } }, 'Risky'), `True OthersAct: ${findings.join('; ')}; ${blind}`);
  assert.equal(
    said({ others: { findings: [], unread } }, 'Risky'),
    `False NothingRisky: no dangerous value was found; ${blind}`,
  );
  assert.equal(
    said({ others: { findings: [], unread: [] } }, 'Risky'),
    'False NothingRisky: no dangerous value was found',
  );
});

test('Ready is what Valid is: a risk that was accepted, or a device that is silent, keeps no tool waiting', () => {
  const risky = { spec: { ...fencing, storm: { maxUnresponsive: '100%' } }, checks: [] };
  assert.match(said(risky, 'Ready') ?? '', /^True Accepted/);
  assert.match(said({ lacksDefaults: true }, 'Ready') ?? '', /^False DefaultsMissing: .*install the CRDs/);
  const unread = { unreadableSecrets: [{ name: 'bmc', why: 'forbidden' }] };
  assert.match(said(unread, 'Ready') ?? '', /^Unknown SecretsUnreadable/);
});

test('[REM-8] who lost by its age alone names the winner and the nodes', () => {
  const conflicts = ['node-2', 'node-1'].map((node) => ({ node, winner: 'big' }));
  assert.equal(
    said({ conflicts }, 'Valid'),
    'False Conflict: big selects node-1, node-2 just as specifically, is older, and applies there: ' +
      'write another priority in one of the two',
  );
});

test('[FEN-7] every mistake in a configuration is told with file, key and reason, each once', () => {
  const one = { file: 'fence-config-node-1', key: 'config.properties', reason: 'there is no method ipmi' };
  const other = { file: 'fence-method-template-ipmi', key: 'template.properties: secret', reason: 'no Secret bmc' };
  assert.equal(
    said({ configProblems: [one, other, other] }, 'Valid'),
    'False FenceConfigInvalid: ConfigMap fence-config-node-1, config.properties: there is no method ipmi; ' +
      'ConfigMap fence-method-template-ipmi, template.properties: secret: no Secret bmc',
  );
});

test('[FEN-7] what is missing, what cannot be run, and what could not be found out', () => {
  assert.match(
    said({ unconfigured: [{ node: 'node-2', why: 'there is no driver' }] }, 'Valid') ?? '',
    /^False FenceConfigMissing: no fence configuration for node-2 \(there is no driver\): write a ConfigMap/,
  );
  assert.match(said({ unsupported: ['repair'] }, 'Valid') ?? '', /^False RemedyUnsupported: .*cannot run repair/);
  assert.equal(
    said({ unreadableSecrets: [{ name: 'bmc', why: 'forbidden' }] }, 'Valid'),
    'Unknown SecretsUnreadable: Secret bmc: forbidden',
  );
  const several = said({ unsupported: ['repair'], unreadableSecrets: [{ name: 'bmc', why: 'forbidden' }] }, 'Valid');
  assert.match(several ?? '', /^False RemedyUnsupported: RemedyUnsupported: .*; SecretsUnreadable: /);
  assert.match(said({ lacksDefaults: true }, 'Valid') ?? '', /^False DefaultsMissing/);
  const { allNodes: _, ...older } = fencing;
  assert.match(said({ spec: older, lacksDefaults: true }, 'Valid') ?? '', /^False NodesMissing: .*nodeSelector/);
});

test('[EXP-3] who could not be fenced, by name and reason; what was not asked is not known', () => {
  const bad = { node: 'node-2', problem: { reason: 'DeviceSilent' as const, message: 'ipmi-off: no answer' } };
  assert.equal(
    said({ checks: [{ node: 'node-1' }, bad] }, 'Fenceable'),
    'False NotFenceable: 1 of 2 could not be fenced: node-2: DeviceSilent: ipmi-off: no answer',
  );
  assert.equal(said({ checks: [{ node: 'node-1' }] }, 'Fenceable'), 'Unknown NotChecked: 1 of 2 not asked yet');
  assert.match(said({ checks: [bad] }, 'Fenceable') ?? '', /^False NotFenceable: 1 of 2 .*; 1 of 2 not asked yet: /);
  assert.equal(said({ spec: {} }, 'Fenceable'), undefined, 'a policy that fences nobody says nothing of it');
});

test('a thousand nodes in trouble fit into one message', () => {
  const nodes = Array.from({ length: 1000 }, (_, index) => `node-${index}`);
  const message = 'x'.repeat(600);
  const checks = nodes.map((node) => ({ node, problem: { reason: 'DeviceSilent' as const, message } }));
  const text = said({ nodes, checks }, 'Fenceable') ?? '';
  assert.ok(text.length < 8192 && /1000 of 1000/.test(text) && text.endsWith('and 990 more'));
});

test('each risk, and that it goes when the value is mended', () => {
  const ladder = (remedies: object[], rest: object = {}): WrittenPolicy => ({
    ...fencing,
    thresholds: [{ condition: { type: 'Ready', status: 'NotTrue', for: '5s' }, remedies }],
    ...rest,
  });
  const job = { name: 'repair', podTemplate: {} };
  const listed = {
    podDeletion: 'delete-statefulset-pod',
    provisioners: ['a.b'],
    volumeAttachmentRecovery: 'never',
  } as const;
  const cases: [reason: string, risky: WrittenPolicy, sound: WrittenPolicy][] = [
    [
      'NoStormLimit',
      { ...fencing, storm: { maxUnresponsive: '100%' } },
      { ...fencing, storm: { maxUnresponsive: '99%' } },
    ],
    ['NoStormLimit', { ...fencing, storm: { maxUnresponsive: 3 } }, { ...fencing, storm: { maxUnresponsive: 2 } }],
    ['NoConcurrencyLimit', { ...fencing, storm: { maxConcurrent: 3 } }, { ...fencing, storm: { maxConcurrent: 2 } }],
    ['RiskAccepted', { release: listed }, { release: { ...listed, podDeletion: 'do-nothing' } }],
    [
      'RiskAfterFailedFence',
      { release: { ...listed, riskAfterFailedFence: true } },
      { release: { riskAfterFailedFence: true } },
    ],
    ['NoProvisioner', { release: { ...listed, provisioners: [] } }, { release: listed }],
    ['NoProvisioner', { release: { volumeAttachmentRecovery: 'wait' } }, { release: {} }],
    [
      'LeaseTooEager',
      { thresholds: [{ lease: { staleFor: '11s' } }] },
      { thresholds: [{ lease: { staleFor: '12s' } }] },
    ],
    [
      'PeriodTooShort',
      ladder([{ name: 'repair', period: '29s' }, { name: 'fence' }], { remedies: [job, { name: 'fence', fence: {} }] }),
      ladder([{ name: 'repair', period: '30s' }, { name: 'fence' }], { remedies: [job, { name: 'fence', fence: {} }] }),
    ],
    ['PeriodTooShort', { ...fencing, fence: { bootTimeout: '59s' } }, { ...fencing, fence: { bootTimeout: '60s' } }],
    [
      'PowerBeforeIsolation',
      { ...fencing, fence: { isolateAfter: '31s', powerManagementAfter: '30s' } },
      { ...fencing, fence: { isolateAfter: '30s', powerManagementAfter: '30s' } },
    ],
    ['RemedyUnused', { ...fencing, remedies: [job, { name: 'fence', fence: {} }] }, fencing],
    [
      'KubernetesDetaches',
      ladder([{ name: 'repair', period: '55s' }, { name: 'fence' }], { remedies: [job, { name: 'fence', fence: {} }] }),
      ladder([{ name: 'repair', period: '54s' }, { name: 'fence' }], { remedies: [job, { name: 'fence', fence: {} }] }),
    ],
  ];
  const reasonsOf = (spec: WrittenPolicy): string[] => risksOf(spec, 3).map(({ reason }) => reason);
  for (const [reason, risky, sound] of cases) {
    assert.ok(
      reasonsOf(risky).some((one) => one === reason),
      `${reason} in ${JSON.stringify(risky)}`,
    );
    assert.ok(!reasonsOf(sound).some((one) => one === reason), `no ${reason} in ${JSON.stringify(sound)}`);
  }
  assert.deepEqual(reasonsOf({}), []);
  const last = ladder([{ name: 'repair', period: '0s' }], { remedies: [job] });
  assert.deepEqual(reasonsOf(last), [], 'after the last remedy there is nothing to be too early for');
});

test('the worst risk gives the reason, and all are told', () => {
  const spec = { ...fencing, storm: { maxUnresponsive: '100%', maxConcurrent: 2 } };
  assert.match(said({ spec }, 'Risky') ?? '', /^True NoStormLimit: NoStormLimit: .*; NoConcurrencyLimit: /);
});

test('a condition keeps its time while its status stays; those of others stay as they are', () => {
  const since = '2026-01-01T00:00:00Z';
  const foreign: Condition = {
    type: 'Braked',
    status: 'False',
    reason: 'NoStorm',
    message: '',
    lastTransitionTime: since,
  };
  const before: Condition[] = [
    foreign,
    { type: 'Valid', status: 'True', reason: 'Accepted', message: 'old', lastTransitionTime: since },
    { type: 'Risky', status: 'True', reason: 'NoStormLimit', message: 'old', lastTransitionTime: since },
    { type: 'Fenceable', status: 'True', reason: 'AllFenceable', message: '', lastTransitionTime: since },
  ];
  const nowMs = Date.parse('2026-02-01T00:00:00Z');
  const after = withFindings(before, findingsOf(found({ checks: [] })).slice(1, 3), { generation: 7, nowMs });
  assert.deepEqual(
    after.map(({ type, lastTransitionTime, observedGeneration }) => [type, lastTransitionTime, observedGeneration]),
    [
      ['Braked', since, undefined],
      ['Valid', since, 7],
      ['Risky', '2026-02-01T00:00:00Z', 7],
    ],
  );
});

test('[SAF-17, EXP-3] outlets that no drill has shown to be those of their nodes are a risk, with what to type', () => {
  assert.equal(
    said({ unproven: ['node-1', 'node-2'] }, 'Risky'),
    'True OutletUnproven: no outlet of node-1, node-2 can say whose power it is, and no drill has shown it: a machine outside of the cluster may be plugged in there. Drill each of them once: fenceline drill node-1',
  );
});

test('[SAF-1, EXP-3] and so are ports that nobody has shown', () => {
  assert.match(
    said({ unshown: ['node-1', 'node-2'] }, 'Risky') ?? '',
    /^True PortUnproven: the port of node-1, node-2 to the storage cannot say whose it is, .* fenceline check --shown node-1$/,
  );
});
