/**
 * What looks like many dead machines and is none, on the stock control plane: a switch, the network of the operator or of the devices,
 * and a kubelet that reports and does not renew.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/world/objects/nodes.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { machinesOf, StormWorld } from '../support/storm-world.ts';

const zones = { a: 3, b: 3, c: 2 };
const machines = machinesOf(zones, (name) => ({ group: name.slice(0, 1) }));
const rack = ['a-1', 'a-2', 'a-3'];

function heartbeat(node: Node | undefined): string | null | undefined {
  return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
}

describe('storms on the stock control plane', { timeout: 300_000 }, () => {
  let storm: StormWorld;
  let proxy: FaultProxy;

  before(async () => {
    storm = await StormWorld.start('storms', machines);
    await storm.impatient();
    for (const group of Object.keys(zones)) await storm.world.statefulSet(group, { group });
    proxy = await FaultProxy.start(storm.world.controlPlane.port);
    await storm.run(proxy.port);
  });
  after(async () => {
    await storm?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  test('[STM-7, STM-2] its own network fails: nobody is suspected, and nobody is fenced', async () => {
    const { operator } = storm;
    const since = operator.lines.length;
    proxy.down();
    await operator.said('no longer leading', ({ msg }) => msg === 'no longer leading', { since, timeoutMs: 60_000 });
    proxy.up();
    await operator.said('leading again', ({ msg }) => msg === 'leading', { since, timeoutMs: 60_000 });
    await storm.allHealthy();
    const wrong = operator.lines.slice(since).filter(({ verdict }) => verdict === 'down' || verdict === 'suspect');
    assert.deepEqual([wrong, storm.told()], [[], []]);
  });

  test('[SAF-3, SAF-14] a kubelet reports and does not renew: its node is suspect, and not fenced', async () => {
    const { operator, world } = storm;
    const liar = storm.runs('b')?.node ?? '';
    const since = operator.lines.length;
    world.fleet.kubelet(liar).keepLease(false);
    await operator.said(`${liar} is suspect`, (line) => line['node'] === liar && line['verdict'] === 'suspect', {
      since,
    });
    const reports = new Set<unknown>();
    await world.until('it to report twice more', () => reports.add(heartbeat(world.node(liar))).size > 2);
    world.fleet.kubelet(liar).keepLease(true);
    await storm.allHealthy();
    assert.deepEqual([storm.told(), storm.statusOf(liar)?.fence], [[], undefined]);
  });

  test('[STM-7, STM-1] a switch fails: a zone is silent, each of its nodes says why it is held, and nobody is fenced', async () => {
    const { world } = storm;
    for (const name of rack) world.fleet.machine(name).partition();
    await world.until('all of them to be held', () =>
      rack.every((name) => storm.statusOf(name)?.hold?.reason === 'ZoneStormLimit'),
    );
    for (const name of rack) world.fleet.machine(name).heal();
    await storm.allHealthy();
    await world.allInService();
    assert.deepEqual(storm.told(), []);
  });

  test('[EVD-2, STM-1] a machine is dead: whatever the storm of a moment ago holds back, its pod runs elsewhere', async () => {
    const { world } = storm;
    const { node: dead = '', uid = '' } = storm.runs('c') ?? {};
    world.fleet.machine(dead).powerOff();
    await world.until('its pod to run elsewhere', () => ![undefined, uid].includes(storm.runs('c')?.uid));
    const wrong = storm.told().filter((command) => !command.startsWith(`${dead}: `) || !command.includes('"On"'));
    assert.deepEqual(wrong, []);
  });
});
