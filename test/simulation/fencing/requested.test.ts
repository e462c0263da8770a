/** A person asks for a fence of a node that is well: it is fenced all the same, once, and comes back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf } from '../run-file.ts';
import { observe } from '../release/observed.ts';
import type { Fenced } from './fenced.ts';
import { askedOf, atOnce, elsewhere, fenced, fenceOf, policyOf } from './fenced.ts';

const request = (at: string, node: string, by = 'jane'): object => ({
  at,
  apply: {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: `node-fence-${node}` },
    spec: { node, requested: { by, at: '2026-01-01T00:01:00Z' } },
  },
});
const nodeOne = (what: Partial<Fenced> = {}): Fenced => ({ events: [request('10s', 'node-1')], ...what });

describe('a fence that a person asks for', () => {
  test('[EXP-3] of a healthy node: off, released, on, back, and not again', async () => {
    for (const node of ['node-1', 'node-2', 'node-3']) {
      const seen = await observe(
        fenced('requested', {
          events: [request('10s', node)],
          expect: [
            { by: '2m', fence: { node, status: 'final' } },
            { by: '3m', node: { name: node, ready: true, schedulable: true, taints: [] } },
            { fences: 1 },
          ],
          runFor: '6m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(
        askedOf(seen, node).map(({ what }) => what),
        ['off', 'on'],
      );
      assert.equal(fenceOf(seen.world, node)?.status.incident, undefined, 'the incident is over');
    }
  });

  test('what runs there goes elsewhere while the machine is off', async () => {
    const seen = await observe(
      fenced('requested-pod', {
        events: ['node-1', 'node-2', 'node-3'].map((node, index) => request(`${10 + index}s`, node)),
        policy: { storm: { maxUnresponsive: '40%', maxConcurrent: 1 } },
        expect: [elsewhere('4m')],
        runFor: '8m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const told = ['node-1', 'node-2', 'node-3'].map((node) =>
      (fenceOf(seen.world, node)?.status.history ?? []).map(({ reason }) => reason),
    );
    const back = told.filter((reasons) => reasons.includes('Returning'));
    assert.ok(back.length > 0);
    for (const reasons of back) {
      assert.ok(
        reasons.indexOf('Returning') > reasons.indexOf('Booting'),
        `off, it does not return: ${reasons.join()}`,
      );
    }
  });

  test('[SAF-6] refused by a policy that does not act, and not taken up when it does', async () => {
    for (const mode of ['DryRun', 'Paused']) {
      const seen = await observe(
        fenced('refused', {
          policy: { mode },
          events: [request('10s', 'node-1'), { at: '60s', apply: policyOf() }],
          expect: [{ fences: 0 }],
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      const { request: answer, incident } = fenceOf(seen.world, 'node-1')?.status ?? {};
      assert.deepEqual([answer?.reason, incident], ['ModeDoesNotAct', undefined]);
    }
  });

  test('[SAF-6, FEN-7] refused where the fence configuration has a mistake: nothing is begun, and nobody came back', async () => {
    const wrong = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'fence-config-node-1', namespace: 'fenceline' },
      data: { 'config.properties': 'node_name=node-1\npower_management=not-there' },
    };
    const seen = await observe(
      fenced('misconfigured', { objects: [wrong], events: [request('10s', 'node-1')], expect: [{ fences: 0 }] }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const { request: answer, history, fence } = fenceOf(seen.world, 'node-1')?.status ?? {};
    assert.deepEqual([answer?.reason, fence], ['ConfigurationInvalid', undefined]);
    assert.match(answer?.message ?? '', /fence-config-node-1, config\.properties.*not-there/);
    assert.deepEqual(
      history?.filter(({ reason }) => reason === 'Cancelled'),
      [],
    );
  });

  test('[SAF-6] taken up and held back, then the policy does not act any more: it does not come back with it', async () => {
    const storm = ['node-2', 'node-3'];
    const seen = await observe(
      fenced('refused-late', {
        policy: { fence: { ...atOnce, isolateAfter: '15s', powerManagementAfter: '15s' } },
        events: [
          ...storm.map((partition) => ({ at: '0s', partition })),
          request('60s', 'node-1'),
          { at: '90s', apply: policyOf({ mode: 'Paused' }) },
          ...storm.map((heal) => ({ at: '2m', heal })),
          { at: '3m', apply: policyOf() },
        ],
        expect: [{ fences: 0 }],
        runFor: '6m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(fenceOf(seen.world, 'node-1')?.status.request?.reason, 'ModeDoesNotAct');
  });

  test('[SAF-6] a record that was restored together with its status begins nothing', async () => {
    const at = '2025-12-24T10:00:00Z';
    const status = {
      epoch: 3,
      incident: { id: 'old', startedAt: at, trouble: 'Ready=Unknown', nodeUid: '', flaps: 0 },
      request: { by: 'jane', at, answeredAt: at, reason: 'TakenUp' },
      fence: {
        step: 'power-management',
        status: 'running',
        phase: 'poweringOff',
        startedAt: at,
        stepStartedAt: at,
        switched: [{ step: 'power-management', method: 'power-off', device: 'd', commandSentAt: at }],
      },
    };
    const restored = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-node-1' },
      spec: { node: 'node-1', requested: { by: 'jane', at } },
      status,
    };
    const seen = await observe(fenced('restored', { objects: [restored], events: [{ at: '0s', cordon: 'node-2' }] }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(askedOf(seen), []);
  });

  test('held by a policy that waits for a person, and by a storm', async () => {
    for (const what of [
      nodeOne({ policy: { mode: 'Approve' } }),
      nodeOne({
        // The one that is silent first must not be fenced before the other one is.
        policy: { fence: { ...atOnce, isolateAfter: '15s', powerManagementAfter: '15s' } },
        events: [{ at: '0s', partition: 'node-2' }, { at: '0s', partition: 'node-3' }, request('60s', 'node-1')],
      }),
    ]) {
      const seen = await observe(fenced('held', { ...what, expect: [{ fences: 0 }], runFor: '3m' }));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.deepEqual(askedOf(seen, 'node-1'), []);
      assert.notEqual(fenceOf(seen.world, 'node-1')?.status.hold, undefined);
    }
  });
});
