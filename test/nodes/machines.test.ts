/**
 * Real nodes die and come back. Nothing is simulated but the hardware: stock kubelets and containers, ext4 on block volumes over the
 * network, the product in pods of its chart, the real fence agent. Who wrote, the storage server knows.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext, type TestOptions } from 'node:test';
import { directDriver, diskDriver } from '../support/real-node/cluster.ts';
import { Database, type DatabasePod } from '../support/real-node/database.ts';
import { Machines } from '../support/real-node/machines.ts';
import { workers } from '../support/real-node/product.ts';
import { waitFor } from '../support/wait.ts';

/** For which an ordinary run has no time. */
const onlyExhaustive = { skip: process.env['FENCELINE_EXHAUSTIVE'] !== '1' };

describe('real machines', { timeout: 900_000 }, () => {
  let machines: Machines;
  let failed = false;

  before(async () => {
    const workers = ['worker-1', 'worker-2'];
    const operators = ['infra-1', 'infra-2'];
    // Fenceline looks after the nodes that it runs on as well.
    const all = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] };
    const storm = { maxUnresponsive: '60%', maxConcurrent: 2 };
    machines = await Machines.start({
      name: 'real-machines',
      workers,
      operators,
      owned: [...workers, ...operators],
      policy: { selector: all, storm },
    });
  });

  after(() => machines?.stop(failed));

  /** Its logs are kept if it fails. */
  function tried(title: string, body: (t: TestContext) => Promise<void>, options: TestOptions = {}): void {
    test(title, options, async (t) => {
      try {
        await body(t);
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

  /** Cut off in its turn, a machine takes its time to go off; this happens before it has. */
  async function cutOffDuring(database: Database, meanwhile: () => Promise<void>): Promise<[DatabasePod, DatabasePod]> {
    const { product, cluster } = machines;
    const first = await database.untilWriting();
    const power = product.power(first.node);
    const before = power.cycles;
    power.meanwhile = meanwhile;
    await cluster.node(first.node).partition();
    const second = await database.untilWriting(first);
    assert.notEqual(second.node, first.node);
    assert.equal(power.meanwhile, undefined, 'it was told');
    assert.equal(power.cycles, before + 1);
    assert.deepEqual(await machines.basesOf(first.node), ['PowerOff']);
    await allIsWell(database);
    return [first, second];
  }

  tried(
    '[FEN-3, FEN-10] an upgrade rolls through in the middle of a fence: one power cycle, and nothing lost',
    async (t) => {
      const { product, cluster } = machines;
      const database = await Database.install(cluster, 'db', { driver: diskDriver, nodeSelector: workers });
      const startedAt = Date.now();
      const said = (what: string): void => t.diagnostic(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${what}`);
      const leader = await machines.leader();
      const [{ node }] = await cutOffDuring(database, async () => {
        said('told to go off');
        await product.upgrade('1');
        await waitFor('the leader to be replaced', async () => (await machines.leader()) !== leader);
        said('somebody else leads');
      });
      said('it writes elsewhere');
      await product.rolledOut();
      said('the upgrade is over');
      await cluster.node(node).heal();
      await machines.inService(node);
      said('the node is back');
      assert.equal(product.power(node).cycles, 1);
      await allIsWell(database);
    },
    onlyExhaustive,
  );

  tried(
    '[FEN-3, FEN-10] the node of the leader dies in the middle of a fence: the other replica finishes both',
    async (t) => {
      const { product, cluster } = machines;
      const database = await Database.install(cluster, 'db', { driver: diskDriver, nodeSelector: workers });
      const startedAt = Date.now();
      const said = (what: string): void => t.diagnostic(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${what}`);
      const leader = await machines.leader();
      const [{ node }] = await cutOffDuring(database, async () => {
        said('told to go off');
        await product.power(leader).off('test');
        said('the leader is dead');
      });
      said('it writes elsewhere');
      assert.notEqual(await machines.leader(), leader);
      await machines.inService(leader);
      said('the node of the leader is back');
      await cluster.node(node).heal();
      await machines.inService(node);
      said('the node is back');
      assert.equal(product.power(leader).cycles, 0);
      await product.rolledOut();
      await allIsWell(database);
    },
  );

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
