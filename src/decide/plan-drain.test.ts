import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPolicyName, DrainView } from '../api/drain-view.ts';
import {
  budget,
  drainView,
  node,
  ownBudget,
  policy,
  replica,
  storageNode,
  volume,
} from '../../test/support/drain-case.ts';
import { planDrain } from './plan-drain.ts';

function view(rule: DrainPolicyName | undefined, more: Partial<DrainView>): DrainView {
  const match = rule === undefined ? { kind: 'none' as const } : policy(rule);
  return drainView({ nodes: ['a', 'b', 'c'].map((name) => node(name, { policy: match })), ...more });
}

describe('[DRN-13] plans of drains', () => {
  test('the last replica never goes by itself, and moves nothing', () => {
    const facts = { replicas: [replica('v', 'a')], volumes: [volume('v', { wantedReplicas: 1 })] };
    const [plan] = planDrain(view('block-if-contains-last-replica', facts), ['a']);
    assert.deepEqual([plan?.finishes, plan?.blocks[0]?.reason, plan?.blocks[0]?.volume], ['no', 'LastReplica', 'v']);
    assert.deepEqual([plan?.moves, plan?.warnings, plan?.cordoned], [[], [], false]);
  });

  test('what moves, where it could go and how many bytes', () => {
    const facts = { replicas: [replica('v', 'a'), replica('v', 'b')], volumes: [volume('v')] };
    const [plan] = planDrain(view('block-for-eviction', facts), ['a']);
    assert.equal(plan?.finishes, 'yes');
    assert.deepEqual(
      plan?.moves.map(({ volume: name, to }) => [name, to]),
      [['v', ['c']]],
    );
    assert.equal(plan?.bytes, volume('v').sizeBytes);
  });

  test('nowhere to rebuild never ends', () => {
    const replicas = ['a', 'b', 'c'].map((name) => replica('v', name));
    const [plan] = planDrain(view('block-for-eviction', { replicas, volumes: [volume('v')] }), ['a']);
    assert.deepEqual([plan?.finishes, plan?.blocks[0]?.reason], ['no', 'NowhereToRebuild']);
  });

  test('[SAF-16] room is counted in sum: what fits one by one and not together never ends', () => {
    const size = volume('v').sizeBytes ?? 0;
    const disks = (roomBytes: number): object => ({
      storage: storageNode('x', { disks: [{ name: 'disk', evictionRequested: false, closed: false, roomBytes }] }),
    });
    const plan = (roomBytes: number, enforcement: 'enforce' | 'storage'): string | undefined => {
      const match = policy('block-for-eviction', enforcement);
      const nodes = [node('a', { policy: match }), node('b', { policy: match, ...disks(roomBytes) })];
      const volumes = ['v', 'w'].map((name) => volume(name, { wantedReplicas: 1 }));
      const replicas = [replica('v', 'a'), replica('w', 'a')];
      const budgets = ['a', 'b'].map((name) => (enforcement === 'storage' ? ownBudget(name) : budget(name)));
      return planDrain(drainView({ nodes, replicas, volumes, budgets }), ['a'])[0]?.finishes;
    };
    for (const enforcement of ['enforce', 'storage'] as const) {
      assert.equal(plan(2 * size, enforcement), 'yes');
      assert.equal(plan(2 * size - 1, enforcement), 'no');
    }
  });

  test('several: first what moves least; those that count on each other are said to wait when drained at once', () => {
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const both = planDrain(view('block-if-contains-last-replica', { replicas, volumes: [volume('v')] }), ['b', 'a']);
    assert.deepEqual(
      both.map(({ turn, node: name, finishes, together }) => [turn, name, finishes, together.length]),
      [
        [1, 'a', 'yes', 0],
        [2, 'b', 'yes', 1],
      ],
    );
    const moving = [replica('v', 'a'), replica('w', 'b', {}), replica('x', 'b')];
    const volumes = ['v', 'w', 'x'].map((name) => volume(name, { wantedReplicas: 1 }));
    const order = planDrain(view('block-for-eviction', { replicas: moving, volumes }), ['b', 'a']);
    assert.deepEqual(
      order.map(({ node: name }) => name),
      ['a', 'b'],
    );
  });

  test('what a policy lets go, or nobody guards, is warned about; what is guarded elsewhere is not', () => {
    const facts = {
      replicas: [replica('v', 'a'), replica('w', 'a'), replica('w', 'b')],
      volumes: [volume('v', { wantedReplicas: 1 }), volume('w')],
    };
    for (const rule of ['always-allow', undefined] as const) {
      const [plan] = planDrain(view(rule, facts), ['a']);
      assert.equal(plan?.warnings.length, 1, rule);
      assert.match(plan.warnings[0] ?? '', /volume v is on a/);
    }
    const [kept] = planDrain(view('block-for-eviction', facts), ['a']);
    assert.deepEqual(kept?.warnings, []);
  });

  test('a copy on a node that is cordoned and may go is not counted upon, though its budget still stands', () => {
    const replicas = ['a', 'b'].map((name) => replica('v', name, { activity: 'stopped' }));
    const warningsWith = (cordoned: boolean): readonly string[] => {
      const a = node('a', { policy: policy('allow-if-replica-is-stopped'), cordoned });
      const b = node('b', { policy: policy('allow-if-replica-is-stopped') });
      return planDrain(drainView({ nodes: [a, b], replicas }), ['b']).flatMap(({ warnings }) => warnings);
    };
    assert.deepEqual(warningsWith(false), []);
    assert.match(warningsWith(true).join(), /last healthy replica of volume v is on b/);
  });

  test('several that hold the only copies together: warned about, where nothing would hold the second one up', () => {
    const replicas = ['a', 'b'].map((name) => replica('v', name, { activity: 'stopped' }));
    const warningsOf = (rule: DrainPolicyName | undefined, names: string[]): readonly string[] =>
      planDrain(view(rule, { replicas, volumes: [volume('v')] }), names).flatMap(({ warnings }) => warnings);
    for (const rule of ['always-allow', 'allow-if-replica-is-stopped', undefined] as const) {
      assert.deepEqual(warningsOf(rule, ['a']), []);
      const both = warningsOf(rule, ['a', 'b']);
      assert.equal(both.length, 2, rule);
      assert.match(both[0] ?? '', /with all of these nodes drained no healthy replica of volume v is left/);
    }
    assert.deepEqual(warningsOf('block-if-contains-last-replica', ['a', 'b']), []);
    assert.deepEqual(warningsOf('block-for-eviction', ['a', 'b']), []);
  });

  test('without any budget yet it is planned as if they stood', () => {
    const facts = { replicas: [replica('v', 'a'), replica('v', 'b')], volumes: [volume('v')], budgets: [] };
    assert.equal(planDrain(view('block-if-contains-last-replica', facts), ['a'])[0]?.finishes, 'yes');
  });

  test('[S26] what cannot be read is neither yes nor no', () => {
    const facts = { replicas: [replica('v', 'a', { copy: 'unknown' })], volumes: [volume('v')] };
    const [plan] = planDrain(view('block-if-contains-last-replica', facts), ['a']);
    assert.equal(plan?.finishes, 'unknown');
    const unready = ['a', 'b'].map((name) => node(name, { storage: storageNode(name, { ready: 'unknown' }) }));
    const two = drainView({ nodes: unready, replicas: [replica('v', 'a'), replica('v', 'b')], volumes: [volume('v')] });
    assert.equal(planDrain(two, ['a'])[0]?.finishes, 'no');
  });
});
