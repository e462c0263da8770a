/** API servers whose clocks are off, and a node that comes and goes. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DatedProxy } from '../support/dated-proxy.ts';
import { machinesOf, StormWorld } from '../support/storm-world.ts';

const machines = machinesOf({ a: 2, b: 2, c: 2 });
const quarterOfAnHourMs = 15 * 60_000;
/** Every fourth time until Kubernetes has noticed. */
const flaps = ['suspect', 'suspect', 'suspect', 'down', 'suspect', 'suspect', 'suspect', 'down'];

describe('clocks that are off, and a node that comes and goes', { timeout: 25 * 60_000 }, () => {
  let storm: StormWorld;
  let proxy: DatedProxy;

  before(async () => {
    storm = await StormWorld.start('clocks', machines);
    await storm.world.statefulSet('db');
    proxy = await DatedProxy.start(storm.world.controlPlane);
  });
  beforeEach(() => storm.begin());
  after(async () => {
    await storm?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  for (const [title, aheadMs] of [
    ['ahead', quarterOfAnHourMs],
    ['behind', -quarterOfAnHourMs],
  ] as const) {
    describe(`the clock of an API server is a quarter of an hour ${title}`, () => {
      beforeEach(() => {
        proxy.aheadMs = aheadMs;
      });

      test(`[STM-7, SAF-14] ${title}: for a minute nobody renews, and nobody is fenced`, async () => {
        await storm.impatient();
        await storm.run(proxy.port);
        const { uid = '' } = storm.runs('db') ?? {};
        await storm.silentForAMinute();
        assert.deepEqual([storm.told(), storm.runs('db')?.uid], [[], uid]);
      });

      test(`[EVD-2] ${title}, and from now on it is another server every minute: a machine without power is let go`, async (t) => {
        const { world } = storm;
        const { node: dead = '', uid = '' } = storm.runs('db') ?? {};
        world.fleet.machine(dead).powerOff();
        const sinceMs = performance.now();
        proxy.aheadMs = 0;
        await world.until('the database to run elsewhere', () => ![undefined, uid].includes(storm.runs('db')?.uid));
        t.diagnostic(`elsewhere after ${Math.round(performance.now() - sinceMs)} ms`);
        proxy.aheadMs = aheadMs;
        await storm.allHealthy();
        await world.allInService();
        const wrong = storm.told().filter((command) => !command.startsWith(`${dead}: `));
        assert.deepEqual([wrong, storm.cut()], [[], []]);
      });
    });
  }

  test('[STM-7, SAF-7] a node goes and comes back again and again, each time before it is its turn: it is not fenced', async () => {
    proxy.aheadMs = 0;
    await storm.patient();
    await storm.run();
    const { world, operator } = storm;
    const { node = '', uid } = storm.runs('db') ?? {};
    for (const [flap, verdict] of flaps.entries()) {
      const since = operator.lines.length;
      world.fleet.machine(node).partition();
      await operator.said(
        `${node} is silent, ${flap}`,
        (line) => line['node'] === node && line['verdict'] === verdict,
        {
          since,
          timeoutMs: 60_000,
        },
      );
      world.fleet.machine(node).heal();
      await storm.allHealthy();
    }
    await world.allInService();
    assert.deepEqual([storm.told(), storm.runs('db')?.uid], [[], uid]);
  });
});
