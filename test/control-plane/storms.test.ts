/**
 * What looks like many dead machines and is none, on the stock control plane: a switch, the network of the operator, and a kubelet that
 * reports and does not renew. With Leases of 20 s, so that it takes seconds; scenarios/storms has the same in virtual time, and more.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { nodeFenceName } from '../../src/api/fence-names.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import { isReady } from '../release/row.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import type { OperatorProcess } from '../support/operator-process.ts';
import { PowerWorld } from '../support/power-world.ts';

const zones = { a: 3, b: 3, c: 2 };
const machines = Object.entries(zones).flatMap(([zone, count]) =>
  Array.from({ length: count }, (_, index) => ({ name: `${zone}-${index + 1}`, zone, labels: { group: zone } })),
);
const rack = machines.filter(({ zone }) => zone === 'a').map(({ name }) => name);

function heartbeat(node: Node | undefined): string | null | undefined {
  return node?.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
}

describe('storms on the stock control plane', { timeout: 300_000 }, () => {
  let world: PowerWorld;
  let proxy: FaultProxy;
  let operator: OperatorProcess;

  /** What every device was told, by node. */
  const told = (): string[] =>
    [...world.bmcs].flatMap(([node, { requests }]) =>
      requests.filter((request) => request.startsWith('POST')).map((request) => `${node}: ${request}`),
    );
  const statusOf = (node: string) =>
    world.history.now('nodeFences').find(({ metadata }) => metadata.name === nodeFenceName(node))?.status;
  const readyOf = (group: string) => world.podsOf(group).find(isReady);
  const nodeOf = (group: string): string => readyOf(group)?.spec.nodeName ?? '';
  const uidOf = (group: string): string | undefined => readyOf(group)?.metadata.uid;
  const allHealthy = (): Promise<unknown> =>
    world.until('every node to be healthy', async () =>
      (await operator.get('/metrics')).text.includes(`fenceline_nodes{verdict="healthy"} ${machines.length}\n`),
    );

  before(async () => {
    world = await PowerWorld.start('storms', machines, { leaseSeconds: 20 });
    await world.policy({ isolateAfter: '0s', powerManagementAfter: '0s' }, { staleFor: '6s' });
    for (const group of Object.keys(zones)) await world.statefulSet(group, { group });
    proxy = await FaultProxy.start(world.controlPlane.port);
    operator = await world.runOperator(proxy.port, '--lease-stale-for', '6s');
    await allHealthy();
  });
  after(async () => {
    await world?.[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
  });

  test('[STM-7, STM-2] its own network fails: nobody is suspected, and nobody is fenced', async () => {
    const since = operator.lines.length;
    proxy.down();
    await operator.said('no longer leading', ({ msg }) => msg === 'no longer leading', { since, timeoutMs: 60_000 });
    proxy.up();
    await operator.said('leading again', ({ msg }) => msg === 'leading', { since, timeoutMs: 60_000 });
    await allHealthy();
    const wrong = operator.lines.slice(since).filter(({ verdict }) => verdict === 'down' || verdict === 'suspect');
    assert.deepEqual([wrong, told()], [[], []]);
  });

  test('[SAF-3, SAF-14] a kubelet reports and does not renew: its node is suspect, and not fenced', async () => {
    const liar = nodeOf('b');
    const since = operator.lines.length;
    world.fleet.kubelet(liar).keepLease(false);
    await operator.said(`${liar} is suspect`, (line) => line['node'] === liar && line['verdict'] === 'suspect', {
      since,
    });
    const reports = new Set<unknown>();
    await world.until('it to report twice more', () => reports.add(heartbeat(world.node(liar))).size > 2);
    world.fleet.kubelet(liar).keepLease(true);
    await allHealthy();
    assert.deepEqual([told(), statusOf(liar)?.fence], [[], undefined]);
  });

  test('[STM-7, STM-1] a switch fails: a zone is silent, each of its nodes says why it is held, and nobody is fenced', async () => {
    for (const name of rack) world.fleet.machine(name).partition();
    await world.until('all of them to be held', () =>
      rack.every((name) => statusOf(name)?.hold?.reason === 'ZoneStormLimit'),
    );
    for (const name of rack) world.fleet.machine(name).heal();
    await allHealthy();
    await world.allInService();
    assert.deepEqual(told(), []);
  });

  test('[EVD-2, STM-1] a machine is dead: whatever the storm of a moment ago holds back, its pod runs elsewhere', async () => {
    const [dead, uid] = [nodeOf('c'), uidOf('c')];
    world.fleet.machine(dead).powerOff();
    await world.until('its pod to run elsewhere', () => uidOf('c') !== undefined && uidOf('c') !== uid);
    const wrong = told().filter((command) => !command.startsWith(`${dead}: `) || !command.includes('"On"'));
    assert.deepEqual(wrong, []);
  });
});
