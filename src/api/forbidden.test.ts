import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { beyondOf, beyondText, FORBIDDABLE, parseForbidden, privilegesOf, refusalOf, usesOf } from './forbidden.ts';
import type { WrittenPolicy } from './written.ts';

const used = (spec: WrittenPolicy): string[] => usesOf(spec).map(({ what, where }) => `${what}: ${where}`);
const container = { name: 'main', image: 'example/remedy:1' };

describe('[SEC-3] that the operator refuses a policy', () => {
  const said = (change: object = {}, generation = 2): string | undefined => {
    const condition = {
      type: 'Valid',
      status: 'False',
      reason: 'Forbidden',
      message: 'no Jobs',
      observedGeneration: 2,
    };
    return refusalOf({ metadata: { generation }, status: { conditions: [{ ...condition, ...change }] } }).refused;
  };

  test('is what its status says of it as it is written now, and nothing else', () => {
    assert.equal(said(), 'no Jobs');
    assert.equal(said({ observedGeneration: undefined }), 'no Jobs');
    assert.equal(said({ message: undefined }), 'the operator was told to forbid what it uses');
    assert.equal(said({}, 3), undefined);
    assert.equal(said({ status: 'True' }), undefined);
    assert.equal(said({ reason: 'Conflict' }), undefined);
    assert.equal(said({ type: 'Ready' }), undefined);
    assert.deepEqual(refusalOf({ metadata: {} }), {});
  });
});

describe('[SEC-3] what can be forbidden', () => {
  test('is a list of names', () => {
    assert.deepEqual(parseForbidden(''), []);
    assert.deepEqual(parseForbidden(' MachineRemoval, AcceptedRisk ,'), ['AcceptedRisk', 'MachineRemoval']);
    assert.throws(() => parseForbidden('Machines'), /"Machines" cannot be forbidden: write one of AcceptedRisk, /);
    assert.throws(() => parseForbidden('constructor'), /"constructor" cannot be forbidden/);
  });

  test('is what the chart takes, and what docs/security.md explains', () => {
    const schema = JSON.parse(readFileSync('chart/values.schema.json', 'utf8')) as {
      properties: { forbid: { items: { enum: string[] } } };
    };
    assert.deepEqual(schema.properties.forbid.items.enum, Object.keys(FORBIDDABLE));
    const page = readFileSync('docs/security.md', 'utf8');
    for (const [name, text] of Object.entries(FORBIDDABLE)) assert.ok(page.includes(`| \`${name}\` | ${text} |`), name);
  });

  test('is nothing of a policy that fences', () => {
    const spec: WrittenPolicy = {
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: true }] }],
      remedies: [
        { name: 'fence', fence: {} },
        { name: 'cordon', cordon: {} },
      ],
      fence: { kdump: { enabled: false }, machineRemoved: false },
      release: { podDeletion: 'do-nothing', volumeAttachmentRecovery: 'never', assertions: [], safeDetach: [] },
    };
    assert.deepEqual(used(spec), []);
    assert.deepEqual(used({}), []);
  });

  for (const [spec, uses] of [
    [{ release: { podDeletion: 'delete-statefulset-pod' } }, ['AcceptedRisk: release.podDeletion']],
    [{ release: { volumeAttachmentRecovery: 'wait' } }, ['AcceptedRisk: release.volumeAttachmentRecovery']],
    [{ release: { riskAfterFailedFence: true } }, ['AcceptedRisk: release.riskAfterFailedFence']],
    [{ release: { assertions: ['OutOfService'] } }, ['Assertions: release.assertions']],
    [{ release: { safeDetach: ['driver.example.com'] } }, ['SafeDetach: release.safeDetach']],
    [{ fence: { kdump: { enabled: true } } }, ['KernelCrash: fence.kdump']],
    [{ fence: { machineRemoved: true } }, ['MachineRemoval: fence.machineRemoved']],
    [{ remedies: [{ name: 'remove', deleteMachine: {} }] }, ['MachineRemoval: remedy remove']],
    [{ remedies: [{ name: 'job', podTemplate: { spec: { containers: [container] } } }] }, ['Jobs: remedy job']],
    [
      { remedies: [{ name: 'job', podTemplate: { spec: { containers: [container], hostPID: true } } }] },
      ['Jobs: remedy job', 'PrivilegedJobs: remedy job: hostPID'],
    ],
    [
      { thresholds: [{ remedies: [{ name: 'job', cleanResources: true }] }], remedies: [{ name: 'job', drain: {} }] },
      ['Assertions: cleanResources of job'],
    ],
  ] as [WrittenPolicy, string[]][]) {
    test(`is found: ${uses.join(', ')}`, () => assert.deepEqual(used(spec), uses));
  }

  test('counts only as far as it is forbidden', () => {
    const policy = {
      uses: usesOf({ release: { podDeletion: 'delete-statefulset-pod', safeDetach: ['a.example.com'] } }),
    };
    assert.deepEqual(beyondOf(policy), []);
    assert.deepEqual(beyondOf(policy, ['Jobs']), []);
    assert.equal(beyondText(beyondOf(policy, ['SafeDetach', 'Jobs'])), 'SafeDetach (release.safeDetach)');
    assert.deepEqual(beyondOf({}, ['Jobs']), []);
  });
});

describe('[SEC-3] a template that asks for its host, or for the rights of others', () => {
  const found = (spec: object, metadata: object = {}): string[] => privilegesOf({ metadata, spec });

  test('asks for nothing as most are written', () => {
    const spec = {
      serviceAccountName: 'fenceline-remedies',
      hostNetwork: false,
      volumes: [{ name: 'tmp', emptyDir: {} }],
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, sysctls: [] },
      containers: [
        {
          ...container,
          ports: [{ containerPort: 80 }],
          securityContext: { capabilities: { drop: ['ALL'] }, privileged: false },
        },
      ],
    };
    assert.deepEqual(found(spec), []);
    assert.deepEqual(privilegesOf({}), []);
  });

  for (const [field, spec] of [
    ['hostNetwork', { hostNetwork: true }],
    ['hostIPC', { hostIPC: true }],
    ['serviceAccountName', { serviceAccountName: 'admin' }],
    ['serviceAccount', { serviceAccount: 'admin' }],
    ['hostPath', { volumes: [{ name: 'root', hostPath: { path: '/' } }] }],
    ['sysctls', { securityContext: { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] } }],
    ['hostProcess', { securityContext: { windowsOptions: { hostProcess: true } } }],
    ['privileged', { containers: [{ ...container, securityContext: { privileged: true } }] }],
    ['privileged', { initContainers: [{ ...container, securityContext: { privileged: true } }] }],
    ['capabilities.add', { containers: [{ ...container, securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }] }],
    ['procMount', { containers: [{ ...container, securityContext: { procMount: 'Unmasked' } }] }],
    ['seccompProfile', { containers: [{ ...container, securityContext: { seccompProfile: { type: 'Unconfined' } } }] }],
    ['appArmorProfile', { securityContext: { appArmorProfile: { type: 'Unconfined' } } }],
    ['seLinuxOptions', { securityContext: { seLinuxOptions: { type: 'spc_t' } } }],
    ['hostPort', { containers: [{ ...container, ports: [{ hostPort: 22 }] }] }],
  ] as [string, object][]) {
    test(`is found by ${field}: ${JSON.stringify(spec)}`, () => assert.deepEqual(found(spec), [field]));
  }

  test('is found by an annotation of before', () => {
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined', other: 'unconfined' };
    assert.deepEqual(found({}, { annotations }), ['appArmorProfile']);
  });
});
