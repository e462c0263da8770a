import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Block, DrainPolicyName, DrainView } from '../api/drain-view.ts';
import { drainView, node, ownBudget, policy, replica, storagePod, volume } from '../../test/support/drain-case.ts';
import { known } from './known.ts';
import { ownBlocks, unguardedPods } from './own-guard.ts';

const names = ['a', 'b', 'c'];

function view(change: Partial<DrainView> = {}, cordoned: readonly string[] = ['a']): DrainView {
  const match = policy('block-if-contains-last-replica', 'storage');
  const nodes = names.map((name) => node(name, { policy: match, cordoned: cordoned.includes(name) }));
  const replicas = [replica('v', 'a'), replica('v', 'b')];
  return drainView({ nodes, replicas, budgets: names.map(ownBudget), ...change });
}

function blocksOf(of: DrainView, rule: DrainPolicyName): string[] {
  const own = of.nodes.find(({ name }) => name === 'a');
  return own === undefined ? [] : ownBlocks(known(of), own, rule).map(({ reason }: Block) => reason);
}

const last = 'block-if-contains-last-replica';

describe('[SAF-16] what the storage system’s own guard waits for', () => {
  test('a copy that it keeps elsewhere lets the one here go', () => {
    assert.deepEqual(blocksOf(view(), last), []);
    assert.deepEqual(blocksOf(view({ replicas: [replica('v', 'a')] }), last), ['LastReplica']);
  });

  test('it keeps no copy on a cordoned node, nor where its own budget or instance manager is missing', () => {
    assert.deepEqual(blocksOf(view({}, ['a', 'b']), last), ['LastReplica']);
    assert.deepEqual(blocksOf(view({ budgets: ['a', 'c'].map(ownBudget) }), last), ['LastReplica']);
    const pods = names.map((name) => ({ ...storagePod(name), serving: name !== 'b' }));
    assert.deepEqual(blocksOf(view({ pods }), last), ['LastReplica']);
  });

  test('it goes by its records: a copy that its engine does not know counts, one that has failed does not', () => {
    const other = (change: object): Partial<DrainView> => ({
      replicas: [replica('v', 'a'), replica('v', 'b', change)],
    });
    assert.deepEqual(blocksOf(view(other({ copy: 'unknown' })), last), []);
    assert.deepEqual(blocksOf(view(other({ recorded: 'failed' })), last), ['LastReplica']);
    assert.deepEqual(blocksOf(view({ replicas: [replica('v', 'a', { recorded: 'empty' })] }), last), []);
  });

  test('each value by itself, with the only copy, running and stopped', () => {
    const blocked = (rule: DrainPolicyName): string[] =>
      (['running', 'stopped'] as const).flatMap((activity) =>
        blocksOf(view({ replicas: [replica('v', 'a', { activity })], volumes: [volume('v')] }), rule),
      );
    assert.deepEqual(blocked('always-allow'), []);
    assert.deepEqual(blocked('allow-if-replica-is-stopped'), ['LastRunningReplica']);
    assert.deepEqual(blocked(last), ['LastReplica', 'LastReplica']);
    assert.deepEqual(blocked('block-for-eviction'), ['EvictingReplicas', 'EvictingReplicas']);
    assert.deepEqual(blocked('block-for-eviction-if-contains-last-replica'), ['EvictingReplicas', 'EvictingReplicas']);
    assert.deepEqual(blocksOf(view(), 'block-for-eviction'), ['EvictingReplicas']);
    assert.deepEqual(blocksOf(view(), 'block-for-eviction-if-contains-last-replica'), []);
  });

  test('whoever writes through the node holds it up under every value', () => {
    const volumes = [volume('v', { usedOn: ['a'] })];
    assert.deepEqual(blocksOf(view({ volumes }), 'always-allow'), ['VolumeInUse']);
    assert.deepEqual(blocksOf(view({ volumes: [volume('v', { usedOn: ['b'] })] }), 'always-allow'), []);
  });

  test('without its budget nothing waits, and one that does not run keeps the budget that it has', () => {
    const alone = { replicas: [replica('v', 'a')] };
    const unguarded = view({ ...alone, budgets: ['b', 'c'].map(ownBudget) });
    assert.deepEqual(blocksOf(unguarded, last), []);
    assert.deepEqual(
      unguardedPods(known(unguarded), 'a').map(({ name }) => name),
      ['im-a'],
    );
    assert.deepEqual(unguardedPods(known(view()), 'a'), []);
    const pods = names.map((name) => ({ ...storagePod(name), serving: name !== 'a' }));
    assert.deepEqual(blocksOf(view({ pods }), 'always-allow'), ['StateUnknown']);
  });
});
