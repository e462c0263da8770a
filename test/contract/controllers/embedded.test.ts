/** The contract of the controllers on the embedded API server, in virtual time. */
import { KubeClient } from '../../../src/kube/client.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import { ApiServer } from '../../../src/world/api-server/server.ts';
import { ControllerManager } from '../../../src/world/controllers/controller-manager.ts';
import { Scheduler } from '../../../src/world/controllers/scheduler.ts';
import type { FleetNode } from '../../../src/world/fleet.ts';
import { Random } from '../../../src/world/random.ts';
import { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { Subject } from './suite.ts';
import { chosen, controllerContract } from './suite.ts';
import { simulatedTimes, timingsFor } from './times.ts';
import { ContractWorld } from './world.ts';

async function embedded(nodes: FleetNode[]): Promise<Subject> {
  const clock = new VirtualClock();
  const random = new Random(1);
  const times = simulatedTimes;
  const server = new ApiServer({
    clock,
    random: random.stream('server'),
    defaultTolerationSeconds: times.tolerationMs / 1000,
  });
  const transportFor = (user: string): Transport => server.transport(user);
  const client = new KubeClient({ transport: transportFor('admin'), clock, userAgent: 'test', fieldManager: 'test' });
  const world = new ContractWorld({
    clock,
    random: random.stream('world'),
    client,
    transportFor,
    nodes,
    times,
    exact: true,
  });
  const common = { clock, random: random.stream('controllers'), transportFor };
  const manager = new ControllerManager({
    ...common,
    timings: timingsFor(times),
    onProblem: (who, error) => {
      if (process.env['CONTRACT_VERBOSE']) console.error(who, error.message);
    },
  });
  const scheduler = new Scheduler({ ...common, informers: manager.informers, indexes: manager.indexes });
  const ended = new AbortController();
  const running = Promise.all([scheduler.run(ended.signal), manager.run(ended.signal)]);
  running.catch((error: unknown) => console.error(error));
  // Time passes as long as there is anyone to see it.
  const passing = (async () => {
    while (!ended.signal.aborted) await clock.runFor(100);
  })();
  await world.start();
  return {
    world,
    async stop() {
      await world.stop();
      ended.abort();
      await Promise.all([running, passing]);
    },
  };
}

controllerContract(
  'the simulated controllers on the embedded API server',
  { behaviours: chosen({ slow: true }) },
  embedded,
);
