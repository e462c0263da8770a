/**
 * The contract of the controllers: the same behaviours of the stock kube-controller-manager and kube-scheduler, and of the
 * simulated ones in their place on the same API server. Where the two differ, the simulated ones are wrong.
 */
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { ControllerManager } from '../../src/world/controllers/controller-manager.ts';
import { Scheduler } from '../../src/world/controllers/scheduler.ts';
import type { FleetNode } from '../../src/world/fleet.ts';
import type { Subject } from '../contract/controllers/suite.ts';
import { chosen, controllerContract } from '../contract/controllers/suite.ts';
import { simulatedTimes, stockTimes, timingsFor } from '../contract/controllers/times.ts';
import type { ContractTimes } from '../contract/controllers/world.ts';
import { ContractWorld } from '../contract/controllers/world.ts';
import { clientFor, connectionTo } from '../support/client.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { startControlPlane } from '../support/control-plane.ts';

const flags = [
  `--node-monitor-grace-period=${stockTimes.graceMs / 1000}s`,
  `--node-startup-grace-period=${stockTimes.graceMs / 1000}s`,
  `--node-eviction-rate=${1000 / stockTimes.evictionGapMs}`,
  `--attach-detach-reconcile-sync-period=${stockTimes.attachSyncMs / 1000}s`,
  '--concurrent-statefulset-syncs=20',
];

async function worldOn(
  controlPlane: ControlPlane,
  nodes: FleetNode[],
  times: ContractTimes,
): Promise<{ world: ContractWorld; transport: Transport; stop: () => Promise<void> }> {
  const transport = new HttpTransport(connectionTo(controlPlane), realClock);
  const client = clientFor(controlPlane);
  const transportFor = (): Transport => transport;
  const world = new ContractWorld({
    clock: realClock,
    random: Math.random,
    client,
    transportFor,
    nodes,
    times,
    exact: false,
  });
  await world.start();
  const stop = async (): Promise<void> => {
    await world.stop();
    client.close();
    transport.close();
  };
  return { world, transport, stop };
}

async function stock(nodes: FleetNode[]): Promise<Subject> {
  const controlPlane = await startControlPlane({
    name: 'controllers-stock',
    controllerManager: { flags },
    scheduler: { flags: ['--kube-api-qps=500', '--kube-api-burst=1000'] },
  });
  const { world, stop } = await worldOn(controlPlane, nodes, stockTimes);
  return {
    world,
    async stop() {
      await stop();
      await controlPlane.stop({ keepLogs: false });
    },
  };
}

async function simulated(nodes: FleetNode[]): Promise<Subject> {
  const controlPlane = await startControlPlane({ name: 'controllers-simulated' });
  const { world, transport, stop } = await worldOn(controlPlane, nodes, simulatedTimes);
  const ended = new AbortController();
  const common = { clock: realClock, random: Math.random, transportFor: () => transport };
  const manager = new ControllerManager({
    ...common,
    timings: timingsFor(simulatedTimes),
    onProblem: (who, error) => {
      if (process.env['CONTRACT_VERBOSE']) console.error(who, error.message);
    },
  });
  const scheduler = new Scheduler({ ...common, informers: manager.informers, indexes: manager.indexes });
  const running = Promise.all([scheduler.run(ended.signal), manager.run(ended.signal)]);
  running.catch((error: unknown) => console.error(error));
  return {
    world,
    async stop() {
      ended.abort();
      await stop();
      await running;
      await controlPlane.stop({ keepLogs: false });
    },
  };
}

/** The stock controllers wait six real minutes before they detach by force: only when asked for. */
const slow = process.env['CONTRACT_SLOW'] === '1';
const which = process.env['CONTRACT_SUBJECT'] ?? 'both';
if (which !== 'simulated') controllerContract('the stock controllers', { behaviours: chosen({ slow }) }, stock);
if (which !== 'stock')
  controllerContract('the simulated controllers', { behaviours: chosen({ slow: true }) }, simulated);
