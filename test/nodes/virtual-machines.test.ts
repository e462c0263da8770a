/**
 * Machines with kernels of their own lose their power and hang, under the product as users install it. What their kernels had not written
 * is gone, which no namespace can show; and a kernel that stands still answers nothing, while its BMC does.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { directDriver, diskDriver } from '../support/real-node/cluster.ts';
import { command, running } from '../support/real-node/commands.ts';
import { Database, type DatabasePod } from '../support/real-node/database.ts';
import { Machines } from '../support/real-node/machines.ts';
import { ensureVirtualMachines } from '../support/real-node/needs.ts';
import { NodeNetwork } from '../support/real-node/network.ts';
import { workers as pool } from '../support/real-node/product.ts';
import { removeAbandonedNodes } from '../support/real-node/real-node.ts';
import { VirtualNode } from '../support/real-node/virtual-node.ts';
import { waitFor } from '../support/wait.ts';

const workers = ['machine-1', 'machine-2'];
const patience = 240_000;

/** A boot takes both cores for many seconds: an ordinary run has no time for it. */
async function whyNot(): Promise<string | false> {
  if (process.env['FENCELINE_EXHAUSTIVE'] !== '1') return 'only with FENCELINE_EXHAUSTIVE=1';
  try {
    await ensureVirtualMachines();
    return false;
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    const why = error instanceof Error ? error.message : String(error);
    console.log(`\n!!!! VIRTUAL MACHINES ARE SKIPPED: ${why}\n`);
    // What is skipped as a whole is not counted.
    void test('what virtual machines need', { skip: why });
    return why;
  }
}

const skip = await whyNot();

describe('virtual machines', { timeout: 1_200_000, skip }, () => {
  let machines: Machines;
  let failed = false;

  before(async () => {
    const startedAt = Date.now();
    const storm = { maxUnresponsive: '60%', maxConcurrent: 2 };
    machines = await Machines.start({
      name: 'virtual-machines',
      workers,
      virtual: workers,
      operators: ['infra-1', 'infra-2'],
      policy: { storm },
    });
    console.log(`# a cluster with the product on it after ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
  });

  after(() => machines?.stop(failed));

  /** Its logs are kept if it fails. */
  function tried(title: string, body: (t: TestContext) => Promise<void>): void {
    test(title, async (t) => {
      try {
        await body(t);
      } catch (error) {
        failed = true;
        throw error;
      }
    });
  }

  function machine(name: string): VirtualNode {
    const node = machines.cluster.node(name);
    assert.ok(node instanceof VirtualNode);
    return node;
  }

  async function allIsWell(database: Database): Promise<void> {
    assert.deepEqual(await database.losses(), []);
    assert.deepEqual(machines.cluster.storage.ledger.twoWriters(), []);
    assert.deepEqual(machines.cluster.storage.ledger.complaints, []);
  }

  /** Where it begins; it may go anywhere later. */
  async function beginsOn(node: string, name: string, driver: string): Promise<[Database, DatabasePod]> {
    const others = workers.filter((one) => one !== node);
    for (const other of others) await machines.product.type(`kubectl cordon ${other}`);
    const database = await Database.install(machines.cluster, name, { driver, nodeSelector: pool });
    const pod = await database.untilWriting(undefined, patience);
    for (const other of others) await machines.product.type(`kubectl uncordon ${other}`);
    return [database, pod];
  }

  async function gone({ name }: Database): Promise<void> {
    await machines.product.type(`kubectl delete statefulset ${name} --cascade=foreground --timeout=60s`);
  }

  /** Says what took how long. */
  function stopwatch(t: TestContext): (what: string) => void {
    const startedAt = Date.now();
    return (what) => t.diagnostic(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${what}`);
  }

  async function bootIdOf(name: string): Promise<string> {
    return machines.product.type(`kubectl get node ${name} -o 'jsonpath={.status.nodeInfo.bootID}'`);
  }

  tried('each is the machine that its BMC says it is, with a kernel of its own', async () => {
    const said = await machines.product.type(
      `kubectl get nodes -l pool=workers -o 'jsonpath={.items[*].status.nodeInfo.systemUUID}'`,
    );
    assert.deepEqual(
      said.split(' '),
      workers.map((name) => machine(name).uuid),
    );
    assert.notEqual(await bootIdOf('machine-1'), await bootIdOf('machine-2'));
  });

  tried(
    '[POD-10, FEN-15] power: what the kernel had not written is gone, and no acknowledged line of a database',
    async (t) => {
      const { product } = machines;
      // Its BMC speaks Redfish.
      const [database, first] = await beginsOn('machine-2', 'cut', diskDriver);
      const before = await bootIdOf(first.node);
      const node = machine(first.node);
      await node.run('echo old > /var/lib/canary; sync; echo new 1<> /var/lib/canary');
      assert.equal(await node.run('cat /var/lib/canary'), 'new\n');
      const said = stopwatch(t);
      await product.power(first.node).off('test');
      const second = await database.untilWriting(first, patience);
      said('it writes elsewhere');
      assert.notEqual(second.node, first.node);
      await allIsWell(database);
      assert.deepEqual(await machines.basesOf(first.node), ['PowerOff']);
      await machines.inService(first.node, patience);
      said('the machine is back');
      assert.equal(product.power(first.node).cuts, 0);
      assert.notEqual(await bootIdOf(first.node), before);
      assert.equal(await node.run('cat /var/lib/canary'), 'old\n');
      await allIsWell(database);
      await gone(database);
    },
  );

  tried(
    '[FEN-8, FEN-10, POD-10] hang: a machine that stands still loses its power before anything runs elsewhere',
    async (t) => {
      const { product } = machines;
      // By fence_ipmilan.
      const [database, first] = await beginsOn('machine-1', 'hung', diskDriver);
      const said = stopwatch(t);
      await machine(first.node).pause();
      const second = await database.untilWriting(first, patience);
      said('it writes elsewhere');
      assert.notEqual(second.node, first.node);
      assert.equal(product.power(first.node).cuts, 1);
      assert.deepEqual(await machines.basesOf(first.node), ['PowerOff']);
      await machines.inService(first.node, patience);
      said('the machine is back');
      await allIsWell(database);
      await gone(database);
    },
  );

  tried(
    '[FEN-8, FEN-10, POD-10] link down: who goes on writing loses his power before anything runs elsewhere',
    async (t) => {
      const { product, cluster } = machines;
      const [database, first] = await beginsOn('machine-2', 'shared', directDriver);
      const node = machine(first.node);
      const { cuts } = product.power(first.node);
      const said = stopwatch(t);
      await node.partition();
      const sinceMs = Date.now();
      await waitFor('it to go on writing', () =>
        cluster.storage.ledger.writes.some(
          ({ connection, at }) => connection.from === node.storageAddress && at.getTime() > sinceMs,
        ),
      );
      const second = await database.untilWriting(first, patience);
      said('it writes elsewhere');
      assert.notEqual(second.node, first.node);
      assert.equal(product.power(first.node).cuts, cuts + 1);
      await allIsWell(database);
      await node.heal();
      await machines.inService(first.node, patience);
      said('the machine is back');
      await allIsWell(database);
      await gone(database);
    },
  );

  tried('the same with a forced deletion alone has two writers: what is found above means something', async () => {
    const { product, cluster } = machines;
    await product.type('kubectl scale deployment fenceline -n fenceline --replicas=0');
    const [database, first] = await beginsOn('machine-1', 'forced', directDriver);
    const node = machine(first.node);
    await node.partition();
    await product.type(`kubectl cordon ${first.node}`);
    await product.type('kubectl delete pod forced-0 --force --grace-period=0');
    const second = await database.untilWriting(first, patience);
    assert.notEqual(second.node, first.node);
    const two = await waitFor('two writers', () => cluster.storage.ledger.twoWriters().at(0));
    assert.equal(two.volume, database.volume);
    assert.equal(two.late.connection.from, node.storageAddress);
  });
});

describe('a virtual machine', { timeout: 120_000, skip }, () => {
  test('ends with the process that started it, and so do its cables; the next one removes the rest', async (t) => {
    const logDir = await mkdtemp(join(tmpdir(), 'fenceline-lonely-'));
    t.after(() => rm(logDir, { recursive: true, force: true }));
    const program = join(import.meta.dirname, '../support/programs/lonely-node.ts');
    const child = spawn(process.execPath, [program, logDir, 'virtual'], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const pid = child.pid ?? 0;
    const machines = async () =>
      (await running(`fenceline-node-${pid}-`)).filter((line) => line.startsWith('qemu-system'));
    const links = async () =>
      (await command('ip', '-oneline', 'link')).matchAll(/ (fl\w+): .*master fl-(br|st)-(\d+)/g);
    const cables = async () => [...(await links())].filter(([, , , owner]) => Number(owner) === pid);
    await once(child.stdout, 'data');
    assert.equal((await machines()).length, 1);
    assert.equal((await cables()).length, 2);

    child.kill('SIGKILL');
    await once(child, 'exit');
    await waitFor('it to end', async () => (await machines()).length === 0 && (await cables()).length === 0);
    await NodeNetwork.removeAbandoned();
    await removeAbandonedNodes();
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith(`fenceline-node-${pid}-`));
    assert.deepEqual(left, []);
  });
});
