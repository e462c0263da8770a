/** A person comes in between: holds, approves, edits and deletes what a fence rests on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf } from '../run-file.ts';
import { observe, statusAt } from '../release/observed.ts';
import { approval } from './approved.ts';
import {
  askedOf,
  asExpected,
  atOnce,
  byCondition,
  commands,
  cutsOf,
  elsewhere,
  everywhere,
  fenced,
  fenceIs,
  fenceOf,
  inPlace,
  onOff,
  partition,
  place,
  policyOf,
  victimOf,
  wellBy,
} from './fenced.ts';

describe('a person', () => {
  test('[FEN-13] stops the fence, also across a restart; resumed, it goes on', async () => {
    const stop = (node: string, value: boolean): object => ({
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: `node-fence-${node}` },
      spec: { node, stop: value },
    });
    for (const at of ['21100ms', '21800ms', '22600ms']) {
      const seen = await asExpected(`stop-${at}`, {
        events: [
          partition[0]!,
          { at, apply: stop('node-3', true) },
          { at: '30s', crashOperator: 1 },
          { at: '80s', apply: stop('node-3', false) },
          { at: '100s', heal: place },
        ],
        expect: [elsewhere('2m'), fenceIs('3m', 'final'), ...wellBy('4m')],
        runFor: '4m',
      });
      assert.equal(victimOf(seen), 'node-3');
      const stopped = seen.report.timeline.filter((entry) => entry.at > 23_500 && entry.at < 80_000);
      assert.deepEqual(
        stopped.filter(({ actor, what }) => actor === 'device' && what !== 'asked for status'),
        [],
        at,
      );
      assert.deepEqual(
        seen.writes.filter(({ what, atMs }) => /pods/.test(what) && atMs > 23_500 && atMs < 80_000),
        [],
      );
      assert.equal(statusAt(seen, 60_000).hold?.reason, 'Stopped');
      assert.equal(cutsOf(seen, 'node-3'), 1);
    }
  });

  test('[FEN-13] a stop that comes while the device is asked how it is: it is not told', async () => {
    const seen = await observe(
      fenced('stop-in-time', {
        events: [
          partition[0]!,
          {
            at: '21200ms',
            apply: {
              apiVersion: 'fenceline.dev/v1alpha1',
              kind: 'NodeFence',
              metadata: { name: 'node-fence-node-3' },
              spec: { node: 'node-3', stop: true },
            },
          },
        ],
        runFor: '1m',
      }),
    );
    assert.deepEqual(commands(seen), []);
  });

  // Who rehearses has to know what a real fence would know, and asks; nobody is told anything.
  const asks = { DryRun: ['asked for status'], Paused: [] };
  for (const [mode, allowed] of Object.entries(asks)) {
    test(`S21: mode ${mode}: no device is told anything, nothing is released`, async () => {
      const seen = await asExpected(mode, {
        policy: { mode },
        events: [partition[0]!],
        expect: [inPlace, { fences: 0 }],
        runFor: '5m',
      });
      assert.deepEqual(
        [...new Set(seen.report.timeline.flatMap(({ actor, what }) => (actor === 'device' ? [what] : [])))],
        allowed,
      );
      assert.equal(statusAt(seen).hold?.reason, mode);
    });
  }

  test('mode Approve: nothing is begun before a person has approved this very incident', async () => {
    const seen = await observe(
      fenced('approve', {
        policy: { mode: 'Approve' },
        events: [partition[0]!, { at: '3m', heal: place }],
        expect: [
          { at: '100s', pod: { label: 'app=web', deleted: false } },
          elsewhere('2m10s'),
          fenceIs('5m', 'final'),
          ...wellBy('6m'),
        ],
        runFor: '6m',
      }),
      {
        onWorld: (world, clock) => {
          approval('node-3', 100_000, 'another')(world, clock);
          approval('node-3', 140_000)(world, clock);
        },
      },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(statusAt(seen, 60_000).hold?.reason, 'AwaitingApproval');
    assert.deepEqual(commands(seen), onOff);
    assert.ok((askedOf(seen)[0]?.at ?? 0) > 100_000);
  });

  test('edits or deletes the policy in the middle: what was begun is brought to its end', async () => {
    const edits = {
      edited: { apply: policyOf({ fence: { ...atOnce, retries: 5 } }) },
      // Its trouble is noticed while the fence of the first ladder is under way.
      'another ladder': { apply: policyOf({ thresholds: byCondition }) },
      'without ladder': { apply: policyOf({ thresholds: [], remedies: [] }) },
      deleted: { delete: { kind: 'RemedyPolicy', name: 'fence' } },
    };
    for (const [name, edit] of Object.entries(edits)) {
      for (const at of ['21200ms', '22s', '22700ms', '24300ms']) {
        // Nobody wants it any more, and nothing was sent yet.
        const isWithdrawn = (name === 'without ladder' || name === 'deleted') && at === '21200ms';
        const seen = await asExpected(`${name} at ${at}`, {
          events: [...partition, { at, ...edit }],
          expect: isWithdrawn ? wellBy('3m') : [elsewhere('40s'), fenceIs('3m', 'final'), ...wellBy('3m')],
        });
        assert.equal(cutsOf(seen, victimOf(seen)), isWithdrawn ? 0 : 1, `${name} at ${at}`);
      }
    }
  });

  test('[FEN-7] breaks a configuration in the middle: what was begun waits, and goes on when it is mended', async () => {
    const name = 'fence-config-node-3';
    const broken = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'fenceline' },
      data: { 'config.properties': 'node_name=node-3\npower_management=no-such-method' },
    };
    for (const at of ['21200ms', '22s', '22700ms', '24300ms']) {
      const seen = await asExpected(`broken at ${at}`, {
        events: [
          { at: '0s', partition: 'node-3' },
          { at, apply: broken },
          { at: '45s', delete: { kind: 'ConfigMap', name, namespace: 'fenceline' } },
          { at: '60s', heal: 'node-3' },
        ],
        expect: [fenceIs('3m', 'final'), ...wellBy('3m')],
      });
      assert.equal(cutsOf(seen, 'node-3'), 1, at);
    }
  });

  test('[FEN-4] withdraws the policy before anything was begun: there is no fence any more', async () => {
    const seen = await asExpected('withdrawn', {
      policy: { fence: { ...atOnce, isolateAfter: '60s', powerManagementAfter: '60s' } },
      events: [partition[0]!, { at: '30s', delete: { kind: 'RemedyPolicy', name: 'fence' } }],
      expect: [{ fences: 0 }],
      runFor: '4m',
    });
    assert.deepEqual(commands(seen), []);
    assert.equal(statusAt(seen).fence, undefined);
  });

  test('S18: deletes the NodeFence in the middle: it begins anew, the machine is off already', async () => {
    for (const at of ['21200ms', '22s', '22700ms', '24s', '29s']) {
      const seen = await observe(
        fenced(`record-gone-${at}`, {
          events: [...partition, { at, delete: { kind: 'NodeFence', name: 'node-fence-node-3' } }],
          expect: wellBy('4m'),
          runFor: '4m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      assert.ok(cutsOf(seen, 'node-3') <= 2, at);
    }
  });

  test('S14: deletes the Node in the middle: its machine is switched on again, and nobody else is held up', async () => {
    for (const at of ['21200ms', '22s', '22700ms']) {
      const seen = await observe(
        fenced(`node-gone-${at}`, {
          cluster: { nodes: 4 },
          objects: [everywhere(4)],
          events: [
            { at: '0s', partition: 'node-3' },
            { at, deleteNode: 'node-3' },
            { at: '60s', partition: 'node-2' },
          ],
          expect: [{ by: '90s', fence: { node: 'node-2', status: 'done' } }],
          runFor: '4m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      assert.equal(fenceOf(seen.world, 'node-3')?.status.fence?.status, 'final', at);
    }
  });
});
