import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WireRemedies } from './project-remedy.ts';
import { remedyOf, templatesOf } from './project-remedy.ts';

const filledIn = {
  fence: { isolateAfter: '30s', powerManagementAfter: '5m', bootTimeout: '10m', retries: 3, restarts: 2 },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1 },
};
const wire: WireRemedies = {
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
        },
        storm: { maxUnresponsive: '40%', maxConcurrent: 1, skipWhen: [] },
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
