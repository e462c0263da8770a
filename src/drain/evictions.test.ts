import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import { cordoned, decide, ofNode, others, told } from '../../test/support/drain-asked.ts';
import { budget, drainView, node, policy, replica, storageNode, volume } from '../../test/support/drain-case.ts';
import { decideDrain } from '../decide/decide-drain.ts';

describe('evictions', () => {
  const evicting = { evictionRequested: true, requestedFor: 'default' };

  test('[DRN-4, DRN-7, DRN-9] from cordon on every replica is asked to leave, once', () => {
    const replicas = [replica('v', 'a'), replica('w', 'a', { copy: 'failed' }), replica('v', 'b')];
    const volumes = [volume('v'), volume('w')];
    const decision = decide('block-for-eviction', { replicas, volumes });
    assert.deepEqual(told(decision), ['setAutoEvicting a true', 'requestEviction v-on-a', 'requestEviction w-on-a']);
    assert.ok(
      decision.actions.every((action) => action.do !== 'requestEviction' || action.event === 'EvictionAutomatic'),
    );
    const asked = replicas.map((one) => (one.node === 'a' ? { ...one, ...evicting } : one));
    const storage = storageNode('a', { autoEvicting: true });
    assert.deepEqual(told(decide('block-for-eviction', { replicas: asked, volumes }, { storage })), []);
  });

  test('[DRN-5] with if-contains-last-replica only the last ones are asked', () => {
    const replicas = [replica('one', 'a'), replica('three', 'a'), replica('three', 'b'), replica('three', 'c')];
    const volumes = [volume('one', { wantedReplicas: 1 }), volume('three', { wantedReplicas: 3 })];
    const wanted = 'block-for-eviction-if-contains-last-replica';
    const decision = decide(wanted, { replicas, volumes });
    assert.deepEqual(told(decision), ['setAutoEvicting a true', 'requestEviction one-on-a']);
    assert.deepEqual(
      ofNode(decision).blocks.map(({ reason, replica: name }) => [reason, name]),
      [['EvictingReplicas', 'one-on-a']],
    );
  });

  test('[DRN-9] others not yet known to be protected at cordon time: requested, then withdrawn', () => {
    const wanted = 'block-for-eviction-if-contains-last-replica';
    const replicas = ['a', 'b', 'c'].map((name) => replica('v', name));
    const volumes = [volume('v', { wantedReplicas: 3 })];
    const early = decide(wanted, { replicas, volumes, budgets: [] });
    assert.ok(told(early).includes('requestEviction v-on-a'));
    const asked = [{ ...replica('v', 'a'), ...evicting }, replica('v', 'b'), replica('v', 'c')];
    const later = decide(wanted, { replicas: asked, volumes }, { storage: storageNode('a', { autoEvicting: true }) });
    assert.deepEqual(told(later).slice(0, 2), ['setAutoEvicting a false', 'withdrawEviction v-on-a']);
  });

  test('[DRN-5] a request stays while its replacement is there and the replica is about to go', () => {
    const wanted = 'block-for-eviction-if-contains-last-replica';
    const replicas = [{ ...replica('v', 'a'), ...evicting }, replica('v', 'b')];
    const storage = storageNode('a', { autoEvicting: true });
    const decision = decide(wanted, { replicas, volumes: [volume('v', { wantedReplicas: 1 })] }, { storage });
    assert.ok(told(decision).every((action) => !action.startsWith('withdraw')));
    assert.equal(ofNode(decision).blocked, false);
  });

  test('[DRN-8] a request stays while the state of the replica cannot be read, until the node is uncordoned', () => {
    const wanted = 'block-for-eviction-if-contains-last-replica';
    const replicas = [{ ...replica('v', 'a', { copy: 'unknown' }), ...evicting }, replica('v', 'b')];
    const volumes = [volume('v', { wantedReplicas: 1 })];
    const storage = storageNode('a', { autoEvicting: true });
    const withdrawals = (change: object): string[] =>
      told(decide(wanted, { replicas, volumes }, { storage, ...change })).filter((one) => one.startsWith('withdraw'));
    assert.deepEqual(withdrawals({}), []);
    assert.deepEqual(withdrawals({ cordoned: false }), ['withdrawEviction v-on-a']);
  });

  test('[DRN-5] of two that would both move for the sake of the other the first one stays', () => {
    const wanted = 'block-for-eviction-if-contains-last-replica';
    const nodes = ['a', 'b'].map((name) =>
      cordoned(name, wanted, { storage: storageNode(name, { autoEvicting: true }) }),
    );
    const replicas = ['a', 'b'].map((name) => ({ ...replica('v', name), ...evicting }));
    const decision = decideDrain(drainView({ nodes: [...nodes, node('c')], replicas }));
    assert.deepEqual(told(decision), ['setAutoEvicting a false', 'withdrawEviction v-on-a']);
    assert.ok(ofNode(decision, 'a').blocked, 'it may not go before the other one stays as well');
  });

  test('[DRN-5] a failed or unreadable replica is guarded, but not asked to leave', () => {
    for (const copy of ['failed', 'unknown'] as const) {
      const decision = decide('block-for-eviction-if-contains-last-replica', {
        replicas: [replica('v', 'a', { copy })],
      });
      assert.equal(ofNode(decision).blocked, true);
      assert.deepEqual(told(decision), []);
    }
  });

  test('nobody is asked while a copy too many could be kept that no budget keeps', () => {
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const change = { replicas, volumes: [volume('v', { wantedReplicas: 1 })], budgets: [budget('a'), budget('c')] };
    const decision = decide('block-for-eviction-if-contains-last-replica', change);
    assert.deepEqual(told(decision), ['createBudget fenceline-im-b']);
    assert.equal(ofNode(decision).blocked, true);
  });

  test('[DRN-8] withdrawn after uncordon, and when the policy changes', () => {
    const replicas = [{ ...replica('v', 'a'), ...evicting }, replica('v', 'b')];
    const storage = storageNode('a', { autoEvicting: true });
    const expected = ['setAutoEvicting a false', 'withdrawEviction v-on-a'];
    const uncordoned = node('a', { policy: policy('block-for-eviction'), storage });
    const free = decideDrain(drainView({ nodes: [uncordoned, ...others('block-for-eviction')], replicas }));
    assert.deepEqual(told(free), expected);
    for (const wanted of ['block-if-contains-last-replica', 'allow-if-replica-is-stopped', 'always-allow'] as const) {
      assert.deepEqual(told(decide(wanted, { replicas }, { storage })).slice(0, 2), expected, wanted);
    }
    const nobody = decideDrain(drainView({ nodes: [node('a', { storage, policy: { kind: 'none' } })], replicas }));
    assert.deepEqual(told(nobody).slice(0, 2), expected);
  });

  test('[DRN-6] a user’s own request is neither repeated nor cancelled, under every policy', () => {
    const disk = { name: 'disk-1', evictionRequested: true, closed: false };
    const wishes = [storageNode('a', { evictionRequested: true }), storageNode('a', { disks: [disk] })];
    for (const storage of wishes) {
      for (const wanted of DRAIN_POLICIES) {
        for (const change of [{ evictionRequested: true }, evicting, {}]) {
          const replicas = [{ ...replica('v', 'a'), ...change }, replica('v', 'b')];
          const decision = decide(wanted, { replicas }, { storage });
          assert.ok(
            told(decision).every((action) => !/Eviction /.test(action)),
            wanted,
          );
          assert.equal(ofNode(decision).autoEvicting, false);
        }
      }
    }
  });

  test('a request that is not ours is left alone', () => {
    const replicas = [replica('v', 'a', { evictionRequested: true }), replica('v', 'b')];
    const decision = decideDrain(drainView({ replicas }));
    assert.deepEqual(told(decision), []);
  });

  test('of a storage system that enforces by itself nothing is touched', () => {
    const storage = storageNode('a', { autoEvicting: true });
    const observed = cordoned('a', 'block-for-eviction', { policy: policy('block-for-eviction', 'storage'), storage });
    const decision = decideDrain(drainView({ nodes: [observed], replicas: [replica('v', 'a')], budgets: [] }));
    assert.deepEqual(told(decision), []);
    assert.equal(ofNode(decision).autoEvicting, true);
  });
});
