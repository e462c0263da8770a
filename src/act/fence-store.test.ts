import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored } from '../../test/support/fenced-case.ts';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import { aCase } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { Result } from '../kube/errors.ts';
import { CaseReader } from '../observe/case-reader.ts';
import type { CaseReaderOptions } from '../observe/case-reader.ts';
import type { NodePods } from '../observe/node-pods.ts';
import { FenceStore } from './fence-store.ts';

interface Bench {
  cluster: ActCluster;
  store: FenceStore;
  /** The record of node-1, as the next decision sees it. */
  read: () => Promise<Result<NodeFence | undefined>>;
  stored: () => Promise<NodeFence>;
}

async function setUp(guard = () => true): Promise<Bench> {
  const cluster = await ActCluster.create();
  const read = async (): Promise<Result<NodeFence | undefined>> => {
    const found = await readerOf(cluster).read(aCase(), noPods);
    return found.ok ? { ...found, value: found.value.fence } : found;
  };
  const stored = async (): Promise<NodeFence> => {
    const found = await read();
    assert.ok(found.ok && found.value !== undefined, JSON.stringify(found));
    return found.value;
  };
  return { cluster, store: new FenceStore({ client: cluster.client, guard, timeoutMs: 5000 }), read, stored };
}

const noPods = { pods: [], volumesOf: async () => new Map() } as unknown as NodePods;

/** Of a cluster of which nothing is known but the node and its record. */
function readerOf({ client, clock }: ActCluster): CaseReader {
  const empty = {
    observer: { leaseSign: () => undefined, sharesBoot: () => false },
    cluster: { drivers: new Map(), attachmentsOf: () => [], attachmentsOfVolume: () => [] },
    crashes: { of: () => undefined },
  } as unknown as Pick<CaseReaderOptions, 'observer' | 'cluster' | 'crashes'>;
  return new CaseReader({
    ...empty,
    client,
    clock,
    serverTime: { leptMs: 0 },
    random: () => 0,
    policyOf: () => ({ kind: 'none' }),
    onNode: () => {},
    onProblem: () => {},
  });
}

describe('the record of a node', () => {
  test('is made with its policy, and read with every list in place', async () => {
    const { cluster, store, read, stored } = await setUp();
    await cluster.remove(fenceRef);
    const none = await read();
    assert.deepEqual([none.ok, none.ok && none.value], [true, undefined]);
    const made = await store.keep('node-1', undefined, { policy: 'release' });
    assert.ok(made.ok);
    for (const fence of [made.value, await stored()]) {
      assert.deepEqual([fence.spec.node, fence.spec.policy, fence.status.releases], ['node-1', 'release', []]);
    }
  });

  test('is made with its status at once, and what does not change is not written', async () => {
    const { cluster, store, stored } = await setUp();
    await cluster.remove(fenceRef);
    const status = { ...EMPTY_STATUS, epoch: 1, holder: 'me' };
    const made = await store.keep('node-1', undefined, { policy: 'release', status });
    assert.ok(made.ok);
    assert.deepEqual(await stored(), made.value);
    assert.deepEqual([made.value.spec.policy, made.value.status], ['release', status]);
    cluster.writes.length = 0;
    const kept = await store.keep('node-1', made.value, {});
    assert.deepEqual([kept.ok && kept.value, cluster.writes], [made.value, []]);
  });

  test('[SAF-5] a fence that was begun before there was a record is of the one that is made for it', async () => {
    const { cluster, store } = await setUp();
    await cluster.remove(fenceRef);
    const fence = { ...aStored('waiting'), recordUid: undefined };
    const made = await store.keep('node-1', undefined, { status: { ...EMPTY_STATUS, fence } });
    assert.ok(made.ok);
    assert.deepEqual(made.value.status.fence?.recordUid, made.value.metadata.uid);
    const kept = await store.keep('node-1', made.value, { status: { ...EMPTY_STATUS, fence } });
    assert.equal(kept.ok && kept.value.status.fence?.recordUid, undefined, 'not of one that was there');
  });

  test('[NGS-11] of two who write what they have read, one fails', async () => {
    const { store, stored } = await setUp();
    const fence = await stored();
    const first = await store.keep('node-1', fence, { status: { ...fence.status, epoch: 4 } });
    assert.ok(first.ok);
    const second = await store.keep('node-1', fence, { status: { ...fence.status, epoch: 5 } });
    assert.equal(second.ok ? 'written' : second.error.kind, 'conflict');
  });

  test('the epoch never goes back, whoever asks', async () => {
    const { store, stored } = await setUp();
    const fence = await stored();
    const back = await store.keep('node-1', fence, { status: { ...fence.status, epoch: 1 } });
    assert.equal(back.ok ? 'written' : back.error.kind, 'invalid');
  });

  test('what users write is left as it is when the policy is recorded', async () => {
    const { cluster, store, stored } = await setUp();
    await cluster.patch(fenceRef, '/spec/stop', true);
    const set = await store.keep('node-1', await stored(), { policy: 'release' });
    assert.ok(set.ok);
    assert.deepEqual([set.value.spec.stop, set.value.spec.policy, set.value.status.epoch], [true, 'release', 3]);
  });

  test('[NGS-11] a server that does not answer is not an absent record', async () => {
    const { cluster, read } = await setUp();
    cluster.server.faults.down();
    assert.equal((await read()).ok, false);
    cluster.server.faults.up();
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'nodefences', code: 500 });
    assert.equal((await read()).ok, false, 'the Node is read, its record is not');
  });

  test('S19: without the lead nothing is written', async () => {
    const { cluster, store, stored } = await setUp(() => false);
    assert.equal((await store.keep('node-2', undefined, {})).ok, false);
    const fence = await stored();
    assert.equal((await store.keep('node-1', fence, { policy: 'release' })).ok, false);
    assert.equal((await store.keep('node-1', fence, { status: { ...fence.status, epoch: 4 } })).ok, false);
    assert.deepEqual(cluster.writes, []);
  });
});
