/** A real cluster of several nodes, with storage over the network: what the tests of faults rest on. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { diskDriver, RealCluster } from '../support/real-node/cluster.ts';
import { Database } from '../support/real-node/database.ts';
import { waitFor } from '../support/wait.ts';

describe('a real cluster', { timeout: 300_000 }, () => {
  let cluster: RealCluster;
  let failed = true;

  before(async () => {
    cluster = await RealCluster.start({ name: 'real-cluster', nodes: [{ name: 'worker-1' }, { name: 'worker-2' }] });
  });

  after(() => cluster?.stop(failed));

  test('a database writes to a volume over the network, moves, and finds all of it there', async () => {
    const database = await Database.install(cluster, 'db', { driver: diskDriver });
    const first = await database.untilWriting();
    const said = await cluster.controlPlane.kubectl([
      'get',
      'nodes',
      '-o',
      'jsonpath={.items[*].status.nodeInfo.systemUUID}',
    ]);
    assert.equal(said.stdout, cluster.nodes.map(({ uuid }) => uuid).join(' '));
    assert.deepEqual(cluster.storage.ledger.openFrom(database.volume), [cluster.node(first.node).storageAddress]);
    await cluster.controlPlane.kubectl(['cordon', first.node]);
    await cluster.controlPlane.kubectl(['delete', 'pod', 'db-0']);
    const second = await database.untilWriting(first);
    assert.notEqual(second.node, first.node);
    assert.deepEqual(await database.losses(), []);
    assert.deepEqual(cluster.storage.ledger.twoWriters(), []);
    assert.deepEqual(cluster.storage.ledger.complaints, []);
  });

  test('a node that hangs can lose its power, and after it has booted its database goes on', async () => {
    const database = await Database.install(cluster, 'db', { driver: diskDriver });
    const { node: name } = await database.untilWriting();
    const node = cluster.node(name);
    await node.pause();
    await node.powerOff();
    const { length: before } = cluster.storage.ledger.connections;
    await node.powerOn();
    await waitFor('the volume to be opened again', () => cluster.storage.ledger.connections.length > before);
    await database.untilWriting();
    await waitFor('it to be written to', () =>
      cluster.storage.ledger.writes.some(({ connection }) => connection.id > before),
    );
    assert.deepEqual(await database.losses(), []);
    assert.deepEqual(cluster.storage.ledger.twoWriters(), []);
    failed = false;
  });
});
