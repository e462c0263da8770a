import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import type { StoredFence } from './node-fence.ts';
import { createFence } from './node-fence.ts';
import { stop } from './stop.ts';

test('--dry-run is refused by the API server as the act itself would be', async () => {
  const cluster = await ActCluster.create();
  await cluster.remove(fenceRef);
  // As by a guard of the cluster: of a record of another form.
  const made = {
    metadata: { name: 'node-fence-node-1' },
    spec: { node: 'node-1', stop: 'yes' },
  } as unknown as StoredFence;
  for (const dryRun of [true, false]) {
    await assert.rejects(createFence(cluster.client, made, dryRun), /spec\.stop: Invalid value/);
  }
});

test('--dry-run asks the API server, writes nothing and shows what would be there', async () => {
  const cluster = await ActCluster.create();
  const before = cluster.writes.length;
  assert.equal((await stop(cluster.client, 'node-1', { dryRun: true })).fence.spec.stop, true);
  await cluster.remove(fenceRef);
  assert.equal((await stop(cluster.client, 'node-1', { dryRun: true })).fence.spec.stop, true);
  const written = cluster.writes.slice(before);
  assert.deepEqual(
    written.map(({ verb, code, isDryRun }) => [verb, code, isDryRun]),
    [
      ['patch', 200, true],
      ['delete', 200, false],
      ['create', 201, true],
    ],
  );
  assert.equal(await cluster.exists(fenceRef), false);
});
