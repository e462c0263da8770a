/**
 * Ten machines on the stock control plane: the network of their devices fails, nobody renews for a minute, a zone loses its power for
 * real, and another one is rebooted machine by machine.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { realClock, sleep } from '../../src/clock.ts';
import { machinesOf, StormWorld } from '../support/storm-world.ts';

/** Each database runs on the first of two machines, and may run on the other. */
const partners: Readonly<Record<string, string>> = {
  'a-1': 'b-1',
  'a-2': 'b-2',
  'a-3': 'c-1',
  'a-4': 'c-2',
  'b-3': 'c-3',
};
const homes = Object.keys(partners);
const zone = homes.filter((name) => name.startsWith('a'));
const machines = machinesOf({ a: 4, b: 3, c: 3 }, (name) => ({
  database: homes.find((home) => home === name || partners[home] === name) ?? '',
}));
const shutdownMs = 1000;

describe('storms of power on the stock control plane', { timeout: 600_000 }, () => {
  let storm: StormWorld;
  /** Which pod each database is. */
  const uids = (): (string | undefined)[] => homes.map((home) => storm.runs(`db-${home}`)?.uid);

  before(async () => {
    storm = await StormWorld.start('storms-of-power', machines);
    await storm.impatient();
    await storm.without(Object.values(partners), async () => {
      for (const home of homes) await storm.world.statefulSet(`db-${home}`, { database: home });
    });
    await storm.run();
  });
  beforeEach(() => storm.begin());
  after(() => storm?.[Symbol.asyncDispose]());

  test('[STM-7, EVD-2] no device answers: what is lost meanwhile is not let go, and fenced when they answer again', async () => {
    const { world } = storm;
    const [lost, db] = ['b-3', 'db-b-3'];
    const uid = storm.runs(db)?.uid;
    for (const bmc of world.bmcs.values()) bmc.mischief = (asked) => void asked.destroy();
    const asked = (): number => world.bmcs.get(lost)?.requests.length ?? 0;
    const before = asked();
    world.fleet.machine(lost).partition();
    await world.until('its device to be asked in vain three times', () => asked() >= before + 3);
    assert.deepEqual([storm.runs(db)?.uid, storm.told()], [uid, []]);
    for (const bmc of world.bmcs.values()) bmc.mischief = () => false;
    await world.until('its database to run elsewhere', () => storm.runs(db)?.node === partners[lost]);
    assert.deepEqual(storm.cut(), [lost]);
    world.fleet.machine(lost).heal();
    await storm.allHealthy();
    await world.allInService();
  });

  test('[STM-7] for a minute nobody renews, and every machine says on: nobody is fenced, and nothing is let go', async () => {
    const before = uids();
    await storm.silentForAMinute();
    assert.deepEqual([storm.told(), uids()], [[], before]);
  });

  test('[EVD-2, STM-1] a zone of four loses its power: each is found off, and what runs there runs elsewhere', async (t) => {
    const { world } = storm;
    const sinceMs = performance.now();
    for (const name of zone) world.fleet.machine(name).powerOff();
    for (const name of zone) {
      await world.until(
        `the database of ${name} to run elsewhere`,
        () => storm.runs(`db-${name}`)?.node === partners[name],
      );
      t.diagnostic(`${name}: elsewhere after ${Math.round(performance.now() - sinceMs)} ms`);
    }
    await storm.allHealthy();
    await world.allInService();
    assert.deepEqual(
      storm
        .told()
        .map((command) => command.split(':', 1)[0] ?? '')
        .toSorted(),
      zone,
      'each was switched on again, and nothing else was done to anybody',
    );
  });

  test('[SAF-18, STM-1] a zone is rebooted machine by machine, each in good order: nobody is cut', async () => {
    const { world } = storm;
    for (const name of ['b-1', 'b-2', 'b-3']) {
      const { machine } = world.fleet.kubelet(name);
      const { bootId } = machine;
      world.fleet.kubelet(name).shutDown();
      await sleep(realClock, shutdownMs);
      machine.powerOff();
      machine.powerOn();
      await world.until(`${name} to have booted`, () => world.node(name)?.status?.nodeInfo?.bootID !== bootId);
    }
    await storm.allHealthy();
    await world.allInService();
    assert.deepEqual(storm.cut(), []);
  });
});
