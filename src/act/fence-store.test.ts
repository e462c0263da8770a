import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import { FenceStore } from './fence-store.ts';

async function setUp(guard = () => true): Promise<{ cluster: ActCluster; store: FenceStore }> {
  const cluster = await ActCluster.create();
  return { cluster, store: new FenceStore({ client: cluster.client, guard, timeoutMs: 5000 }) };
}

describe('the record of a node', () => {
  test('is made with its policy, and read with every list in place', async () => {
    const { store } = await setUp();
    assert.deepEqual(await store.read('node-2').then((read) => read.ok && read.value), undefined);
    const made = await store.create('node-2', 'release');
    assert.ok(made.ok);
    assert.deepEqual(
      [made.value.spec.node, made.value.spec.policy, made.value.status.releases],
      ['node-2', 'release', []],
    );
  });

  test('[NGS-11] of two who write what they have read, one fails', async () => {
    const { store } = await setUp();
    const read = await store.read('node-1');
    assert.ok(read.ok && read.value !== undefined);
    const fence = read.value;
    const first = await store.update(fence, { ...fence.status, epoch: 4 });
    assert.ok(first.ok);
    const second = await store.update(fence, { ...fence.status, epoch: 5 });
    assert.equal(second.ok ? 'written' : second.error.kind, 'conflict');
  });

  test('the epoch never goes back, whoever asks', async () => {
    const { store } = await setUp();
    const read = await store.read('node-1');
    assert.ok(read.ok && read.value !== undefined);
    const back = await store.update(read.value, { ...read.value.status, epoch: 1 });
    assert.equal(back.ok ? 'written' : back.error.kind, 'invalid');
  });

  test('what users write is left as it is when the policy is recorded', async () => {
    const { cluster, store } = await setUp();
    await cluster.patch(fenceRef, '/spec/stop', true);
    const read = await store.read('node-1');
    assert.ok(read.ok && read.value !== undefined);
    const set = await store.setPolicy(read.value, 'release');
    assert.ok(set.ok);
    assert.deepEqual([set.value.spec.stop, set.value.spec.policy, set.value.status.epoch], [true, 'release', 3]);
  });

  test('[NGS-11] a server that does not answer is not an absent record', async () => {
    const { cluster, store } = await setUp();
    cluster.server.faults.down();
    assert.equal((await store.read('node-1')).ok, false);
  });

  test('S19: without the lead nothing is written', async () => {
    const { cluster, store } = await setUp(() => false);
    assert.equal((await store.create('node-2', undefined)).ok, false);
    assert.deepEqual(cluster.writes, []);
  });
});
