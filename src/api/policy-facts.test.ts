import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { durationMs } from './duration.ts';
import { DrainPolicySchema } from './drain-policy.ts';
import { NOBODY } from './node-choice.ts';
import { DRAIN_DEFAULTS } from './policy-defaults.ts';
import {
  DEFAULT_FENCE,
  DEFAULT_SOAK,
  DEFAULT_STORM,
  drainPolicyFacts,
  policyFacts,
  remedyOf,
  templatesOf,
} from './policy-facts.ts';
import { RemedyPolicySchema } from './remedy-policy.ts';
import type { WrittenPolicy } from './written.ts';

const object = (rest: object): { metadata: { name: string }; spec?: object } => ({ metadata: { name: 'x' }, ...rest });

const filledIn = {
  fence: { isolateAfter: '30s', powerManagementAfter: '5m', bootTimeout: '10m', retries: 3, restarts: 2 },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1, cooldown: '90s' },
};
const wire: WrittenPolicy = {
  ...filledIn,
  thresholds: [
    {
      condition: { type: 'Ready', status: 'NotTrue', for: '5s' },
      remedies: [
        { name: 'keep-out', period: '3m' },
        { name: 'off', period: '0s', cleanResources: true },
      ],
      recovery: [{ name: 'let-in' }],
    },
    { lease: { staleFor: '12s' }, remedies: [{ name: 'off', period: '0s' }] },
  ],
  remedies: [
    { name: 'keep-out', cordon: {} },
    { name: 'off', fence: {} },
    { name: 'let-in', uncordon: {} },
    { name: 'repair', podTemplate: { spec: {} } },
    { name: 'gone', deleteMachine: {} },
  ],
};

const [[hashOfRepair, repairTemplate] = []] = templatesOf(wire);

describe('what is kept of the ladders of a policy', () => {
  test('[REM-2] the template of a Job is kept apart, by its hash', () => {
    assert.deepEqual(repairTemplate, { spec: {} });
    const other = templatesOf({ remedies: [{ name: 'repair', podTemplate: { spec: { hostNetwork: true } } }] });
    assert.notDeepEqual([...other.keys()], [hashOfRepair]);
  });

  test('[REM-1] thresholds, periods, recovery, limits, each remedy by its kind', () => {
    assert.deepEqual(remedyOf(wire), {
      remedy: {
        thresholds: [
          {
            key: 'Ready=NotTrue',
            condition: { type: 'Ready', status: 'NotTrue', forMs: 5000 },
            remedies: [
              { name: 'keep-out', periodMs: 180_000, cleanResources: false },
              { name: 'off', periodMs: 0, cleanResources: true },
            ],
            recovery: ['let-in'],
          },
          {
            key: 'lease',
            lease: { staleForMs: 12_000 },
            remedies: [{ name: 'off', periodMs: 0, cleanResources: true }],
            recovery: [],
          },
        ],
        kinds: {
          'keep-out': 'cordon',
          off: 'fence',
          'let-in': 'uncordon',
          repair: 'podTemplate',
          gone: 'deleteMachine',
        },
        templates: { repair: hashOfRepair },
        fence: {
          isolateAfterMs: 30_000,
          powerManagementAfterMs: 300_000,
          bootTimeoutMs: 600_000,
          retries: 3,
          restarts: 2,
          machineRemoved: false,
          powerOnFoundOff: true,
          markOutOfService: true,
        },
        storm: { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 90_000, skipWhen: [] },
        unsupported: [],
      },
    });
  });

  test('[REM-1] what a rung cleans where it does not say: a fence does, anything else does not', () => {
    const cleans = (name: string, said: object = {}): boolean | undefined => {
      const thresholds = [{ lease: { staleFor: '12s' }, remedies: [{ name, period: '0s', ...said }] }];
      return remedyOf({ ...wire, thresholds }).remedy?.thresholds[0]?.remedies[0]?.cleanResources;
    };
    assert.equal(cleans('off'), true);
    for (const name of ['keep-out', 'let-in', 'repair', 'gone']) assert.equal(cleans(name), false, name);
    assert.equal(cleans('off', { cleanResources: false }), false);
    assert.equal(cleans('repair', { cleanResources: true }), true);
  });

  test('a ladder that needs what cannot be run is not in force, and says which remedy that is', () => {
    const [ready, lease] = wire.thresholds ?? [];
    const more = { ...ready, remedies: [{ name: 'odd', period: '0s' }] };
    const remedies = [...(wire.remedies ?? []), { name: 'odd', teleport: {} }];
    const { remedy } = remedyOf({ ...wire, remedies, thresholds: [more, lease ?? {}] });
    assert.deepEqual(
      remedy?.thresholds.map(({ key }) => key),
      ['lease'],
    );
    assert.deepEqual(remedy?.unsupported, ['odd']);
  });

  test('without ladders, or without what the CRD fills in, there is nothing', () => {
    assert.deepEqual(remedyOf({}), {});
    assert.deepEqual(remedyOf({ ...wire, thresholds: [] }), {});
    for (const part of ['isolateAfter', 'powerManagementAfter', 'bootTimeout', 'retries', 'restarts']) {
      assert.deepEqual(remedyOf({ ...wire, fence: { ...filledIn.fence, [part]: undefined } }), {}, part);
    }
    assert.deepEqual(remedyOf({ ...wire, storm: { maxConcurrent: 1 } }), {});
    assert.deepEqual(remedyOf({ ...wire, storm: { maxUnresponsive: 1 } }), {});
  });

  test('a threshold with a period that is none is left out: what was meant is not known', () => {
    const [, lease] = wire.thresholds ?? [];
    const odd = { ...lease, remedies: [{ name: 'off', period: 'soon' }] };
    assert.deepEqual(remedyOf({ ...wire, thresholds: [odd] }).remedy?.thresholds, []);
    assert.deepEqual(remedyOf({ ...wire, thresholds: [{ remedies: [] }] }).remedy?.thresholds, []);
  });
});

test('[ADM-2, RET-1] a policy says when to raise an alarm, and how much longer a node soaks each time', () => {
  const release = { podDeletion: 'do-nothing', volumeAttachmentRecovery: 'never' };
  const spec = { allNodes: true, mode: 'Enforce', release, return: { soak: '45s', backoff: 1.5, maxSoak: '10m' } };
  const alarms = [{ condition: 'Ready', count: 3, within: '24h' }, { condition: 'DiskBroken' }];
  const policy = policyFacts(object({ spec: { ...spec, alarms } }));
  assert.deepEqual([policy?.backoff, policy?.maxSoakMs], [1.5, 600_000]);
  const inMs = { condition: 'Ready', count: 3, withinMs: 86_400_000 };
  assert.deepEqual(policy?.alarms, [inMs], 'one that lacks what the CRD fills in is none');
  const bare = policyFacts(object({ spec: { ...spec, return: { soak: '45s' } } }));
  assert.deepEqual([bare?.backoff, bare?.maxSoakMs, bare?.alarms], [2, 3_600_000, []]);
});

test('[POD-1] a policy without the defaults of its CRD is not in force', () => {
  const release = { podDeletion: 'do-nothing', volumeAttachmentRecovery: 'never' };
  const spec = { allNodes: true, mode: 'Enforce', release, return: { soak: '45s' } };
  assert.equal(policyFacts(object({ spec }))?.soakMs, 45_000);
  for (const missing of ['allNodes', 'mode', 'release', 'return']) {
    assert.equal(policyFacts(object({ spec: { ...spec, [missing]: undefined } })), undefined, missing);
  }
  assert.equal(policyFacts(object({ spec: { ...spec, release: { podDeletion: 'do-nothing' } } })), undefined);
});

test('[POD-1, RET-1] what the schemas fill in is what the operator goes by where there is no policy', () => {
  const apiVersion = 'fenceline.dev/v1alpha1';
  const metadata = { name: 'x', generation: 2, uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
  const thresholds = [{ lease: {}, remedies: [{ name: 'fence' }] }];
  const spec = {
    allNodes: true,
    thresholds,
    remedies: [{ name: 'fence', fence: {} }],
    alarms: [{ condition: 'Ready' }],
  };
  const filled = RemedyPolicySchema.parse({ apiVersion, kind: 'RemedyPolicy', metadata, spec });
  const facts = policyFacts({ metadata, spec: filled.spec });
  assert.deepEqual(facts?.remedy?.fence, DEFAULT_FENCE);
  assert.deepEqual(facts?.remedy?.storm, { ...DEFAULT_STORM, skipWhen: [] });
  assert.deepEqual([facts?.soakMs, facts?.backoff, facts?.maxSoakMs], Object.values(DEFAULT_SOAK));
  assert.deepEqual(
    [facts?.podDeletion, facts?.volumeAttachmentRecovery, facts?.mode],
    ['do-nothing', 'never', 'Enforce'],
  );
  assert.deepEqual([facts?.generation, facts?.createdAt, facts?.priority], [2, '2026-01-01T00:00:00Z', 0]);
  assert.deepEqual(facts?.alarms, [{ condition: 'Ready', count: 3, withinMs: 86_400_000 }]);
  assert.equal(
    facts?.remedy?.thresholds[0]?.lease?.staleForMs,
    durationMs(filled.spec.thresholds[0]?.lease?.staleFor ?? ('' as never)),
  );
});

test('[DRN-1] a DrainPolicy lacks nothing once its schema has filled it in, and is not in force without that', () => {
  const kind = { apiVersion: 'fenceline.dev/v1alpha1', kind: 'DrainPolicy', metadata: { name: 'x' } };
  const { spec } = DrainPolicySchema.parse({ ...kind, spec: { allNodes: true } });
  const facts = drainPolicyFacts(object({ spec }));
  const { policy, namespace, enforcement } = DRAIN_DEFAULTS;
  assert.deepEqual([facts?.policy, facts?.namespace, facts?.enforcement], [policy, namespace, enforcement]);
  for (const part of ['policy', 'storage', 'namespace', 'enforcement']) {
    assert.equal(drainPolicyFacts(object({ spec: { ...spec, [part]: undefined } })), undefined, part);
  }
  assert.equal(drainPolicyFacts(object({ spec: { ...spec, storage: 'newer' } })), undefined, 'of a newer version');
  const older = drainPolicyFacts(object({ spec: { ...spec, allNodes: undefined } }));
  assert.equal(older?.selector, NOBODY, 'one of before selector is told of, and guards nobody');
});
