import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import type { BudgetFacts, DrainDecision, DrainNode, DrainView, ReplicaFacts } from '../api/drain-view.ts';
import { cordoned, decide, ofNode, others, told } from '../../test/support/drain-asked.ts';
import {
  budget,
  drainView,
  node,
  ownBudget,
  policy,
  replica,
  storageNode,
  storagePod,
} from '../../test/support/drain-case.ts';
import { decideDrain, enforcementOf } from './decide-drain.ts';

describe('what blocks a drain', () => {
  const alone = { replicas: [replica('v', 'a')] };
  const twice = { replicas: [replica('v', 'a'), replica('v', 'b')] };

  test('[DRN-1, DRN-3] a node with the last healthy replica is blocked, and the volume is named', () => {
    const decision = ofNode(decide('block-if-contains-last-replica', alone));
    assert.equal(decision.blocked, true);
    assert.deepEqual(
      decision.blocks.map(({ reason, volume: name }) => [reason, name]),
      [['LastReplica', 'v']],
    );
    assert.match(decision.message, /volume v/);
  });

  test('[DRN-3] it goes when another copy is healthy and its node’s budget stands', () => {
    const decision = decide('block-if-contains-last-replica', twice);
    assert.equal(ofNode(decision).blocked, false);
    assert.equal(ofNode(decision).reason, 'Allowed');
    assert.deepEqual(told(decision), ['announceWithdrawal fenceline-im-a']);
  });

  const worthless: Record<string, Partial<DrainView>> = {
    'that has failed': { replicas: [replica('v', 'a'), replica('v', 'b', { copy: 'failed' })] },
    'that is being rebuilt': { replicas: [replica('v', 'a'), replica('v', 'b', { copy: 'rebuilding' })] },
    'that cannot be read': { replicas: [replica('v', 'a'), replica('v', 'b', { copy: 'unknown' })] },
    'that is on its way out': { replicas: [replica('v', 'a'), replica('v', 'b', { deleting: true })] },
    'on the same node': { replicas: [replica('v', 'a'), replica('v', 'a', { name: 'second', uid: 'second' })] },
    'without a budget': { ...twice, budgets: [budget('a'), budget('c')] },
    'whose budget is being withdrawn': { ...twice, budgets: [budget('a'), budget('b', { withdrawing: true })] },
    'whose budget is being deleted': { ...twice, budgets: [budget('a'), budget('b', { deleting: true })] },
    'whose budget lets its pod go': { ...twice, budgets: [budget('a'), budget('b', { blocks: false })] },
    'whose budget is of somebody else': { ...twice, budgets: [budget('a'), budget('b', { ours: false })] },
    'whose budget is about other pods': {
      ...twice,
      budgets: [budget('a'), budget('b', { selector: { matchLabels: { app: 'x' }, hasExpressions: false } })],
    },
    'one of whose pods has no budget': {
      ...twice,
      pods: [...['a', 'b', 'c'].map(storagePod), { ...storagePod('b'), name: 'second', labels: { image: 'new' } }],
    },
  };
  for (const [what, change] of Object.entries(worthless)) {
    test(`[DRN-3] a copy ${what} does not count`, () => {
      const decision = decide('block-if-contains-last-replica', change);
      assert.equal(ofNode(decision).reason, 'LastReplica');
      assert.ok(told(decision).every((action) => !action.endsWith('im-a')));
    });
  }

  test('[DRN-3] a copy on a node that the storage system calls not ready, or says nothing of, does not count', () => {
    for (const ready of [false, 'unknown'] as const) {
      const nodes = [
        cordoned('a', 'block-if-contains-last-replica'),
        node('b', { storage: storageNode('b', { ready }) }),
        node('c'),
      ];
      assert.equal(ofNode(decideDrain(drainView({ nodes, ...twice }))).blocked, true);
    }
  });

  test('[DRN-3] what is missing in another copy is said, since that one is not counted', () => {
    const other = (change: Partial<ReplicaFacts>): ReplicaFacts => {
      const { node: _node, disk: _disk, ...rest } = replica('v', 'b');
      return { ...rest, ...change };
    };
    const cases: [ReplicaFacts, RegExp][] = [
      [other({}), /; replica v-on-b does not say on which node it is$/],
      [other({ node: 'z', disk: 'disk-1' }), /; replica v-on-b is on z, which the storage system does not know$/],
      [other({ node: 'b', copy: 'unknown' }), /; replica v-on-b does not say on which disk of b it is$/],
      [replica('v', 'b', { copy: 'unknown' }), /; the state of replica v-on-b of volume v cannot be read$/],
      [other({ node: 'b', disk: 'd', copy: 'unknown' }), /; replica v-on-b is on disk d, which b does not have$/],
    ];
    for (const [second, message] of cases) {
      const replicas = [replica('v', 'a'), second];
      const last = ofNode(decide('block-if-contains-last-replica', { replicas }));
      assert.equal(last.reason, 'LastReplica');
      assert.match(last.message, message);
      assert.match(ofNode(decide('allow-if-replica-is-stopped', { replicas })).message, message);
    }
    const [a, b] = [replica('v', 'a', { copy: 'unknown', disk: 'd' }), replica('v', 'b', { copy: 'failed' })];
    const unread = ofNode(decide('block-if-contains-last-replica', { replicas: [a, b] }));
    assert.equal(
      `${unread.reason}: ${unread.message}`,
      'StateUnknown: replica v-on-a is on disk d, which a does not have',
    );
  });

  test('[DRN-4] a replica that does not say which volume it belongs to is waited for, and that is said', () => {
    const { volume: _volume, ...half } = replica('v', 'a', { copy: 'unknown' });
    const decision = decide('block-for-eviction', { replicas: [half] });
    assert.equal(ofNode(decision).reason, 'StateUnknown');
    assert.match(ofNode(decision).message, /v-on-a does not say yet which volume it belongs to/);
    const asked = decision.actions.find((action) => action.do === 'requestEviction');
    assert.match(asked?.message ?? '', /the volume that v-on-a does not name yet gets a replica elsewhere/);
  });

  test('[DRN-3] a replica that is half written is guarded like a healthy one', () => {
    const { volume: _volume, ...nameless } = replica('v', 'a', { copy: 'unknown' });
    for (const half of [replica('v', 'a', { copy: 'unknown' }), nameless]) {
      assert.equal(ofNode(decide('block-if-contains-last-replica', { replicas: [half] })).reason, 'StateUnknown');
    }
  });

  test('a replica that is on its way out is no reason to wait, whatever it was', () => {
    const { volume: _volume, ...nameless } = replica('v', 'a', { copy: 'unknown', deleting: true });
    for (const leaving of [replica('v', 'a', { deleting: true }), nameless]) {
      assert.equal(ofNode(decide('block-if-contains-last-replica', { replicas: [leaving] })).blocked, false);
    }
  });

  test('a rebuild is waited for where the copy that it comes from may be given up for it', () => {
    const leaving = replica('v', 'b', { evictionRequested: true });
    const replicas = [replica('v', 'a', { copy: 'rebuilding' }), leaving];
    assert.equal(ofNode(decide('block-if-contains-last-replica', { replicas })).reason, 'LastReplica');
    const staying = [replica('v', 'a', { copy: 'rebuilding' }), replica('v', 'b')];
    assert.equal(ofNode(decide('block-if-contains-last-replica', { replicas: staying })).blocked, false);
  });

  test('what is being rebuilt or never held data is no reason to wait', () => {
    for (const copy of ['rebuilding', 'empty'] as const) {
      const change = { replicas: [replica('v', 'a', { copy }), replica('v', 'b', { copy: 'failed' })] };
      assert.equal(ofNode(decide('block-if-contains-last-replica', change)).blocked, false, copy);
    }
  });

  test('the failed copy of a volume that has no other may be all that is left; with a healthy one it is nothing', () => {
    const failed = replica('v', 'a', { copy: 'failed' });
    assert.equal(ofNode(decide('block-if-contains-last-replica', { replicas: [failed] })).reason, 'LastReplica');
    const better = { replicas: [failed, replica('v', 'b')] };
    assert.equal(ofNode(decide('block-if-contains-last-replica', better)).blocked, false);
  });

  test('[DRN-3] allow-if-replica-is-stopped waits for the last running one only', () => {
    const stopped = { replicas: [replica('v', 'a', { activity: 'stopped' })] };
    assert.equal(ofNode(decide('allow-if-replica-is-stopped', stopped)).blocked, false);
    assert.equal(ofNode(decide('allow-if-replica-is-stopped', alone)).reason, 'LastRunningReplica');
    const unknown = { replicas: [replica('v', 'a', { activity: 'unknown' })] };
    assert.equal(ofNode(decide('allow-if-replica-is-stopped', unknown)).reason, 'StateUnknown');
    const otherStopped = { replicas: [replica('v', 'a'), replica('v', 'b', { activity: 'stopped' })] };
    assert.equal(ofNode(decide('allow-if-replica-is-stopped', otherStopped)).reason, 'LastRunningReplica');
    assert.equal(ofNode(decide('allow-if-replica-is-stopped', twice)).blocked, false);
  });

  test('[DRN-3] always-allow never blocks, and keeps no budget even without a cordon', () => {
    const decision = decide('always-allow', alone);
    assert.equal(ofNode(decision).blocked, false);
    assert.deepEqual(
      told(decision),
      ['a', 'b', 'c'].map((name) => `deleteBudget fenceline-im-${name}`),
    );
  });

  test('[DRN-4] block-for-eviction waits for every replica, whatever there is elsewhere', () => {
    assert.equal(ofNode(decide('block-for-eviction', twice)).reason, 'EvictingReplicas');
    const failed = { replicas: [replica('v', 'a', { copy: 'failed' }), replica('v', 'b')] };
    assert.equal(ofNode(decide('block-for-eviction', failed)).blocked, true);
    const leaving = { replicas: [replica('v', 'a', { deleting: true }), replica('v', 'b')] };
    assert.equal(ofNode(decide('block-for-eviction', leaving)).blocked, true);
    assert.equal(ofNode(decide('block-for-eviction', { replicas: [replica('v', 'b')] })).blocked, false);
  });

  test('[DRN-10] it is said when nobody can take the replica: the drain would never end', () => {
    const full = (name: string): DrainNode =>
      node(name, { policy: policy('block-for-eviction'), storage: storageNode(name, { disks: [] }) });
    const nodes = [cordoned('a', 'block-for-eviction'), full('b'), full('c')];
    assert.equal(ofNode(decideDrain(drainView({ nodes, ...alone }))).reason, 'NowhereToRebuild');
    const everywhere = { replicas: ['a', 'b', 'c'].map((name) => replica('v', name)) };
    assert.equal(ofNode(decide('block-for-eviction', everywhere)).reason, 'NowhereToRebuild');
    assert.equal(
      ofNode(decide('block-for-eviction', { ...everywhere, softAntiAffinity: true })).reason,
      'EvictingReplicas',
    );
    const unknownRoom = [{ name: 'd', evictionRequested: false, closed: false }];
    const maybe = [nodes[0]!, nodes[1]!, node('c', { storage: storageNode('c', { disks: unknownRoom }) })];
    assert.equal(ofNode(decideDrain(drainView({ nodes: maybe, ...alone }))).reason, 'EvictingReplicas');
  });

  test('an unknown node is held as it is', () => {
    const { cordoned: _cordoned, ...unknown } = cordoned('a', 'block-for-eviction');
    const marked = replica('v', 'a', { evictionRequested: true, requestedFor: 'default' });
    const decision = decideDrain(drainView({ nodes: [unknown, ...others('block-for-eviction')], replicas: [marked] }));
    assert.equal(ofNode(decision).reason, 'StateUnknown');
    assert.deepEqual(told(decision), []);
  });
});

describe('budgets', () => {
  test('[DRN-2] every guarded node has one before any cordon, over its own pod alone', () => {
    for (const wanted of DRAIN_POLICIES) {
      const nodes = ['a', 'b'].map((name) => node(name, { policy: policy(wanted) }));
      const { actions } = decideDrain(drainView({ nodes, budgets: [] }));
      const expected = nodes.map(({ name }) => ({
        do: 'createBudget',
        node: name,
        name: `fenceline-im-${name}`,
        selector: storagePod(name).labels,
        owners: drainView().owners,
      }));
      assert.deepEqual(actions, wanted === 'always-allow' ? [] : expected, wanted);
    }
  });

  test('[DRN-2] it is announced, then deleted with what it counts upon, and comes back after uncordon', () => {
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const announced = [budget('a', { withdrawing: true }), budget('b'), budget('c')];
    const [deletion] = decide('block-if-contains-last-replica', { replicas, budgets: announced }).actions;
    assert.deepEqual(deletion, {
      do: 'deleteBudget',
      node: 'a',
      budget: { name: 'fenceline-im-a', uid: 'budget-a', resourceVersion: '1' },
      counts: [
        {
          volume: 'v',
          replica: { name: 'v-on-b', uid: 'replica-v-b' },
          node: 'b',
          budget: { name: 'fenceline-im-b', uid: 'budget-b', selector: storagePod('b').labels },
        },
      ],
    });
    const back = decideDrain(drainView({ replicas, budgets: [budget('b'), budget('c')] }));
    assert.deepEqual(told(back), ['createBudget fenceline-im-a']);
  });

  test('[DRN-3] what was announced is taken back when the node must not go any more', () => {
    const budgets = [budget('a', { withdrawing: true }), budget('b'), budget('c')];
    const change = { replicas: [replica('v', 'a'), replica('v', 'b', { copy: 'failed' })], budgets };
    assert.deepEqual(told(decide('block-if-contains-last-replica', change)), ['keepBudget fenceline-im-a']);
  });

  const both = ['a', 'b'].map((name) => cordoned(name, 'block-if-contains-last-replica'));

  test('[DRN-3] of two nodes cordoned together one is let go, and the other waits for it', () => {
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const first = decideDrain(drainView({ nodes: [...both, node('c')], replicas }));
    assert.deepEqual(told(first), ['announceWithdrawal fenceline-im-a']);
    assert.equal(first.withdrawing, 'a');
    assert.equal(ofNode(first, 'b').reason, 'WaitsForTurn');
    const gone = drainView({ nodes: [...both, node('c')], replicas, budgets: [budget('b'), budget('c')] });
    assert.equal(ofNode(decideDrain(gone), 'b').reason, 'LastReplica');
  });

  test('[DRN-3] two that were announced at the same time and count on each other are both kept', () => {
    const budgets = [budget('a', { withdrawing: true }), budget('b', { withdrawing: true }), budget('c')];
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const decision = decideDrain(drainView({ nodes: [...both, node('c')], replicas, budgets }));
    assert.deepEqual(told(decision), ['keepBudget fenceline-im-a', 'keepBudget fenceline-im-b']);
  });

  test('[DRN-3] whoever has announced it goes first', () => {
    const budgets = [budget('a'), budget('b', { withdrawing: true }), budget('c')];
    const decision = decideDrain(drainView({ nodes: [...both, node('c')], budgets }));
    assert.deepEqual(told(decision), ['deleteBudget fenceline-im-b']);
    assert.equal(ofNode(decision, 'a').reason, 'WaitsForTurn');
  });

  test('[DRN-2, DRN-4] a node that only we have cordoned is kept as it is, and who drains it is told how', () => {
    for (const rule of ['block-for-eviction', 'block-if-contains-last-replica'] as const) {
      const ours: DrainNode = { ...cordoned('a', rule), cordoned: false, isOnlyOurs: true };
      const replicas = [replica('v', 'a'), replica('v', 'b')];
      const decision = decideDrain(drainView({ nodes: [ours, node('b'), node('c')], replicas }), {
        alsoJudge: new Set(),
      });
      assert.deepEqual(told(decision), [], rule);
      assert.equal(ofNode(decision).reason, 'OwnCordon');
      assert.match(ofNode(decision).message, /^a is cordoned by a fence or a remedy, which is no drain/);
    }
    const free: DrainNode = { ...cordoned('a', 'always-allow'), cordoned: false, isOnlyOurs: true };
    assert.equal(ofNode(decideDrain(drainView({ nodes: [free] }))).blocked, false);
  });

  test('what protects is done before what lets go', () => {
    const nodes = [cordoned('a', 'block-if-contains-last-replica'), node('b')];
    const decision = decideDrain(drainView({ nodes, budgets: [budget('a')] }));
    assert.deepEqual(told(decision), ['createBudget fenceline-im-b', 'announceWithdrawal fenceline-im-a']);
  });

  test('[DRN-2] a foreign budget on the pod is reported and ours withheld', () => {
    const foreign = budget('a', { name: 'theirs', uid: 'theirs', ours: false });
    const change = { replicas: [replica('v', 'a')], budgets: [foreign, budget('b'), budget('c')] };
    const decision = decide('block-if-contains-last-replica', change);
    assert.equal(ofNode(decision).guarding, 'ForeignBudget');
    assert.match(ofNode(decision).guardingMessage, /theirs/);
    assert.deepEqual(told(decision), []);
    const wide = budget('a', { name: 'all', ours: false, selector: { matchLabels: {}, hasExpressions: true } });
    const wider = decide('block-if-contains-last-replica', { ...change, budgets: [wide, budget('b'), budget('c')] });
    assert.equal(ofNode(wider).guarding, 'ForeignBudget');
  });

  const edits: Record<string, Partial<BudgetFacts>> = {
    'lets pods go': { blocks: false },
    'is over another pod': { selector: { matchLabels: { x: 'y' }, hasExpressions: false } },
    'is over the pods of all nodes': {
      selector: { matchLabels: { 'longhorn.io/component': 'instance-manager' }, hasExpressions: false },
    },
    'may leave its pod out': { selector: { matchLabels: storagePod('b').labels, hasExpressions: true } },
    'is said to be for another node': { node: 'a' },
    'lets pods go and is about to go': { blocks: false, withdrawing: true },
  };
  for (const [what, change] of Object.entries(edits)) {
    test(`[DRN-2, DRN-3] one of ours that ${what} since somebody edited it is put right, and not counted upon`, () => {
      const budgets = [budget('a'), budget('b', change), budget('c')];
      const replicas = [replica('v', 'a'), replica('v', 'b')];
      const decision = decide('block-if-contains-last-replica', { replicas, budgets });
      assert.deepEqual(told(decision), ['repairBudget fenceline-im-b']);
      assert.equal(ofNode(decision).reason, 'LastReplica');
    });
  }

  test('[DRN-2] one that has the name of ours, is not ours and does not keep the pod is reported', () => {
    const selector = { matchLabels: { x: 'y' }, hasExpressions: false };
    const budgets = [budget('a', { ours: false, selector }), budget('b'), budget('c')];
    const decision = decideDrain(drainView({ budgets }));
    assert.deepEqual(told(decision), []);
    assert.equal(ofNode(decision).guarding, 'ForeignBudget');
    assert.match(ofNode(decision).guardingMessage, /fenceline-im-a is not ours/);
  });

  test('one that is being deleted by somebody is waited for', () => {
    const budgets = [budget('a', { deleting: true }), budget('b'), budget('c')];
    assert.deepEqual(told(decideDrain(drainView({ budgets }))), []);
  });

  test('one of a pod that is no more goes; one of a node whose pods are not known stays', () => {
    const old = budget('a', {
      name: 'fenceline-old',
      uid: 'old',
      selector: { matchLabels: { x: 'y' }, hasExpressions: false },
    });
    const budgets = [old, ...['a', 'b', 'c'].map((name) => budget(name))];
    assert.deepEqual(told(decideDrain(drainView({ budgets }))), ['deleteBudget fenceline-old']);
    assert.deepEqual(told(decideDrain(drainView({ budgets, pods: [] }))), []);
  });

  test('without a policy, or where we only watch, ours go', () => {
    const withPolicy = (change: DrainNode['policy'], budgets = [budget('a')]): DrainDecision =>
      decideDrain(drainView({ nodes: [node('a', { policy: change })], budgets, replicas: [replica('v', 'a')] }));
    const observed = policy('block-if-contains-last-replica', 'observe');
    const enforced = policy('block-if-contains-last-replica', 'storage');
    assert.deepEqual(told(withPolicy({ kind: 'none' })), ['deleteBudget fenceline-im-a']);
    assert.deepEqual(told(withPolicy(observed)), ['deleteBudget fenceline-im-a']);
    assert.equal(ofNode(withPolicy(enforced, [ownBudget('a')])).guarding, 'StorageEnforces');
    assert.equal(ofNode(withPolicy(enforced, [ownBudget('a')])).blocked, true, 'it waits for the storage system');
    assert.equal(ofNode(withPolicy(enforced)).guarding, 'StorageAllows', 'only ours is over the pod, and goes');
  });

  test('Auto enforces unless the storage system does', () => {
    assert.equal(enforcementOf('Auto', true), 'storage');
    assert.equal(enforcementOf('Auto', false), 'enforce');
    assert.equal(enforcementOf('Enforce', true), 'enforce');
    assert.equal(enforcementOf('Observe', false), 'observe');
  });
});
