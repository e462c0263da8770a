/** The API server is killed under five hundred nodes, whose machines and kubelets go on. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { realClock, sleep } from '../../src/clock.ts';
import { machinesOf, StormWorld } from '../support/storm-world.ts';

const machines = machinesOf({ a: 167, b: 167, c: 166 }, (name) => (name.endsWith('-1') ? { database: 'yes' } : {}));
const awayForMs = 60_000;

describe('an API server under five hundred nodes', { timeout: 20 * 60_000 }, () => {
  let storm: StormWorld;

  before(async () => {
    storm = await StormWorld.start('restart', machines, 40);
    await storm.impatient();
    await storm.world.statefulSet('db', { database: 'yes' });
    await storm.run();
  });
  after(() => storm?.[Symbol.asyncDispose]());

  test('[STM-2, STM-7] it is away for a minute: a machine that has lost its power meanwhile is let go, and nobody else', async (t) => {
    const { world } = storm;
    const { node: dead = '', uid = '' } = storm.runs('db') ?? {};
    await world.controlPlane.kill('kube-apiserver');
    await sleep(realClock, awayForMs / 2);
    world.fleet.machine(dead).powerOff();
    await sleep(realClock, awayForMs / 2);
    await world.controlPlane.restart('kube-apiserver');
    const sinceMs = performance.now();
    await world.until(
      'the database to run elsewhere',
      () => ![undefined, uid].includes(storm.runs('db')?.uid),
      300_000,
    );
    t.diagnostic(`elsewhere ${Math.round(performance.now() - sinceMs)} ms after the API server was back`);
    await storm.allHealthy();
    await world.allInService();
    assert.deepEqual(
      storm.told().filter((command) => !command.startsWith(`${dead}: `)),
      [],
    );
    assert.deepEqual(storm.cut(), [], 'what is off is not switched off');
  });
});
