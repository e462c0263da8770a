/**
 * Real nodes die and come back. Nothing is simulated but the hardware: stock kubelets and containers, ext4 on block volumes over the
 * network, the product in pods of its chart, the real fence agent. Who wrote, the storage server knows.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { directDriver, diskDriver } from '../support/real-node/cluster.ts';
import { Database, type DatabasePod } from '../support/real-node/database.ts';
import { Machines } from '../support/real-node/machines.ts';
import { workers } from '../support/real-node/product.ts';
import { waitFor } from '../support/wait.ts';

describe('real machines', { timeout: 900_000 }, () => {
  let machines: Machines;
  let failed = false;

  before(async () => {
    machines = await Machines.start({ name: 'real-machines', workers: ['worker-1', 'worker-2'] });
  });

  after(() => machines?.stop(failed));

  /** Its logs are kept if it fails. */
  function tried(title: string, body: () => Promise<void>): void {
    test(title, async () => {
      try {
        await body();
      } catch (error) {
        failed = true;
        throw error;
      }
    });
  }

  async function allIsWell(database: Database): Promise<void> {
    assert.deepEqual(await database.losses(), []);
    assert.deepEqual(machines.cluster.storage.ledger.twoWriters(), []);
    assert.deepEqual(machines.cluster.storage.ledger.complaints, []);
  }

  function isWriting(database: Database, pod: DatabasePod): Promise<unknown> {
    const { ledger } = machines.cluster.storage;
    const from = machines.cluster.node(pod.node).storageAddress;
    const sinceMs = Date.now();
    return waitFor(`${pod.node} to write`, () =>
      ledger.writes.some(
        ({ connection, at }) =>
          connection.volume === database.volume && connection.from === from && at.getTime() > sinceMs,
      ),
    );
  }

  /** Where it begins; it may go anywhere later. */
  async function beginsOn(node: string, name: string, driver: string): Promise<[Database, DatabasePod]> {
    const { product, cluster } = machines;
    const others = cluster.nodes.filter((one) => one.name !== node && one.name.startsWith('worker-'));
    for (const other of others) await product.type(`kubectl cordon ${other.name}`);
    const database = await Database.install(cluster, name, { driver, nodeSelector: workers });
    const pod = await database.untilWriting();
    for (const other of others) await product.type(`kubectl uncordon ${other.name}`);
    return [database, pod];
  }

  tried(
    '[POD-10, FEN-15] power: a database runs elsewhere with all that it had, and the machine is switched on again',
    async () => {
      const { product } = machines;
      // Its BMC speaks Redfish.
      const [database, first] = await beginsOn('worker-2', 'db', diskDriver);
      await product.power(first.node).off('test');
      const second = await database.untilWriting(first);
      assert.notEqual(second.node, first.node);
      await allIsWell(database);
      assert.deepEqual(await machines.basesOf(first.node), ['PowerOff']);
      await machines.inService(first.node);
      assert.equal(product.power(first.node).cuts, 0);
    },
  );

  tried(
    '[FEN-8, FEN-10, POD-10] partition: who goes on writing is cut off from its power before anything runs elsewhere',
    async () => {
      const { product, cluster } = machines;
      // By fence_ipmilan.
      const [database, first] = await beginsOn('worker-1', 'shared', directDriver);
      const node = cluster.node(first.node);
      await node.partition();
      await isWriting(database, first);
      const second = await database.untilWriting(first);
      assert.notEqual(second.node, first.node);
      await allIsWell(database);
      assert.equal(product.power(first.node).cuts, 1);
      assert.deepEqual(await machines.basesOf(first.node), ['PowerOff']);
      await node.heal();
      await machines.inService(first.node);
      await allIsWell(database);
    },
  );

  tried('[SAF-18] a planned reboot after cordon and drain: nobody is fenced', async () => {
    const { product, cluster } = machines;
    const database = await Database.install(cluster, 'db', { driver: diskDriver, nodeSelector: workers });
    const first = await database.untilWriting();
    const { cuts } = product.power(first.node);
    await product.type(`kubectl drain ${first.node} --ignore-daemonsets --delete-emptydir-data --timeout=60s`);
    await database.untilWriting(first);
    await product.power(first.node).off('test');
    // It is suspect only until Kubernetes says the same.
    await machines.verdict(first.node, '(suspect|down)');
    product.power(first.node).on('test');
    await cluster.untilReady(first.node);
    await machines.verdict(first.node, 'healthy');
    await product.type(`kubectl uncordon ${first.node}`);
    await machines.inService(first.node);
    assert.equal(product.power(first.node).cuts, cuts);
    await allIsWell(database);
  });

  tried(
    'the same partition with a forced deletion alone has two writers: what is found above means something',
    async () => {
      const { product, cluster } = machines;
      await product.type('kubectl scale deployment fenceline -n fenceline --replicas=0');
      const database = await Database.install(cluster, 'forced', { driver: directDriver, nodeSelector: workers });
      const first = await database.untilWriting();
      await cluster.node(first.node).partition();
      await product.type(`kubectl cordon ${first.node}`);
      await product.type('kubectl delete pod forced-0 --force --grace-period=0');
      const second = await database.untilWriting(first);
      assert.notEqual(second.node, first.node);
      const two = await waitFor('two writers', () => cluster.storage.ledger.twoWriters().at(0));
      assert.equal(two.volume, database.volume);
      assert.equal(two.late.connection.from, cluster.node(first.node).storageAddress);
    },
  );
});
