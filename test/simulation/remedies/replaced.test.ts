/** What a remedy rests on is replaced in the middle: another policy comes into force, the record is deleted and made anew. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asExpected, askedOf, atOnce, elsewhere, fenced, inPlace, place, policyOf, wellBy } from '../fencing/fenced.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';

const patient = { ...atOnce, isolateAfter: '20s', powerManagementAfter: '30s' };
const cutOff = { at: '0s', partition: place };

function job(name: string, image: string): object {
  const annotations = { 'simulation.fenceline.dev/exit-code': '0' };
  const spec = { restartPolicy: 'Never', containers: [{ name: 'main', image }] };
  return { name, podTemplate: { metadata: { annotations }, spec } };
}

function onReady(name: string, more: object = {}): object[] {
  return [{ condition: { type: 'Ready', status: 'NotTrue', for: '5s' }, remedies: [{ name, period: '10m', ...more }] }];
}

/** Comes into force for every node. */
function takesOver(spec: object): object {
  return policyOf({ ...spec, priority: 10 }, 'other');
}

describe('another policy comes into force', () => {
  test('[REM-2] S2: its word about a Job is not about the Job of that name that the first one had', async () => {
    const cleaning = { thresholds: onReady('repair', { cleanResources: true }), remedies: [job('repair', 'cut:1')] };
    const seen = await asExpected('other-job', {
      policy: { thresholds: onReady('repair'), remedies: [job('repair', 'restart-kubelet:1')] },
      events: [cutOff, { at: '60s', apply: takesOver(cleaning) }],
      expect: [inPlace],
    });
    assert.equal(statusAt(seen).jobs[0]?.outcome, 'Succeeded');
  });

  for (const at of ['13s', '41800ms', '45s']) {
    test(`[REM-4] S25: after ${at}, with a ladder of other names: the node is fenced once, comes back, and so again`, async () => {
      const ladder = [{ lease: { staleFor: '12s' }, remedies: [{ name: 'cut', period: '10s' }] }];
      const other = { thresholds: ladder, remedies: [{ name: 'cut', fence: {} }], fence: patient };
      const seen = await asExpected(`other-names-${at}`, {
        policy: { fence: patient },
        events: [
          cutOff,
          { at, apply: takesOver(other) },
          { at: '90s', heal: place },
          { at: '5m', partition: place },
          { at: '390s', heal: place },
        ],
        expect: [elsewhere('1m'), ...wellBy('4m'), ...wellBy('9m')],
        runFor: '9m',
      });
      assert.deepEqual(
        askedOf(seen).map(({ what }) => what),
        ['off', 'on', 'off', 'on'],
      );
      assert.equal(statusAt(seen).incident, undefined);
    });
  }

  test('S20: what it would begin with waits until the machine that was cut is on again', async () => {
    const seen = await observe(
      fenced('other-remedy', {
        policy: { fence: patient },
        events: [
          cutOff,
          { at: '41800ms', apply: takesOver({ thresholds: onReady('j'), remedies: [job('j', 'x:1')] }) },
        ],
        runFor: '4m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const on = askedOf(seen).find(({ what }) => what === 'on');
    const made = seen.writes.find(({ what }) => what.startsWith('create jobs/'));
    assert.ok((on?.at ?? Infinity) < 46_000, `on at ${on?.at}`);
    assert.ok((made?.atMs ?? 0) > (on?.at ?? Infinity), `the Job at ${made?.atMs}`);
  });

  test('[SAF-12] S15: one that is paused ends a drain that waits for a budget', async () => {
    const selector = { matchLabels: { app: 'web' } };
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'all', namespace: 'default' },
      spec: { minAvailable: 1, selector },
    };
    const trouble = { condition: { type: 'Trouble', status: 'True', for: '5s' } };
    const seen = await asExpected('paused-drain', {
      policy: { thresholds: [{ ...trouble, remedies: [{ name: 'drain' }] }], remedies: [{ name: 'drain', drain: {} }] },
      objects: [budget],
      events: [
        { at: '0s', condition: { node: place, type: 'Trouble', status: 'True' } },
        { at: '20s', apply: takesOver({ mode: 'Paused', thresholds: [], remedies: [] }) },
        { at: '60s', delete: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'all' } },
      ],
      expect: [inPlace],
    });
    assert.equal(statusAt(seen).hold?.reason, 'Paused');
  });
});

describe('a record', () => {
  test('S18: that is deleted while the device says how it is: what it called for does not happen', async () => {
    for (const at of ['41100ms', '41300ms']) {
      const seen = await observe(
        fenced(`deleted-${at}`, {
          policy: { fence: patient },
          events: [cutOff, { at, delete: { kind: 'NodeFence', name: 'node-fence-node-3' } }],
          runFor: '90s',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      const [off] = askedOf(seen);
      assert.ok((off?.at ?? 0) > 70_000, `${off?.what} at ${off?.at}`);
    }
  });
});

describe('a template that cannot become a Job', () => {
  for (const [what, pod] of Object.entries({
    'an environment that is a number': { containers: [{ name: 'main', image: 'x:1', env: 5 }] },
    'init containers that are no list': { containers: [{ name: 'main', image: 'x:1' }], initContainers: {} },
  })) {
    test(`[REM-2] S27: ${what}: the remedy has failed, and the operator lives`, async () => {
      const seen = await observe(
        fenced('no-job', {
          policy: { thresholds: onReady('job'), remedies: [{ name: 'job', podTemplate: { spec: pod } }] },
          events: [cutOff],
          runFor: '1m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      const {
        ladders: [ladder],
        jobs,
      } = statusAt(seen);
      assert.deepEqual([ladder?.phase, jobs[0]?.outcome], ['waiting', 'Unknown']);
    });
  }
});
