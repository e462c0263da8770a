/**
 * Scenarios on the real control plane, side by side, step by step with what the embedded cluster has shown: a step is taken
 * when its time has come and everything is as it was there. So nothing depends on how busy the machine is, and a
 * difference shows at the first step that it keeps from being taken.
 */
import { realClock, sleep } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { Informers } from '../../src/world/controllers/informer.ts';
import * as resources from '../../src/world/controllers/resources.ts';
import { Fleet } from '../../src/world/fleet.ts';
import { clientFor, connectionTo } from '../support/client.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { startControlPlane } from '../support/control-plane.ts';
import type { Divergence } from './compare.ts';
import { compare } from './compare.ts';
import { fleetTimings } from './embedded.ts';
import type { History } from './history.ts';
import type { Scenario } from './scenario.ts';
import { driverOf, times } from './scenario.ts';
import type { Cluster } from './stage.ts';
import { bystander, Stage } from './stage.ts';

const lookEveryMs = 200;
/** How late the real one may be, on a busy machine. */
const patienceMs = 60_000;
/** What is not seen in histories may need this after the last thing that is. */
const settleMs = 1500;

export interface RealCluster extends Cluster {
  stop: (options: { keepLogs: boolean }) => Promise<void>;
}

export async function startRealCluster(name: string, scenarios: readonly Scenario[]): Promise<RealCluster> {
  const controlPlane = await startControlPlane({
    name,
    apiserver: {
      notReadyTolerationSeconds: times.tolerationMs / 1000,
      unreachableTolerationSeconds: times.tolerationMs / 1000,
    },
    controllerManager: {
      nodeMonitorPeriodSeconds: times.monitorMs / 1000,
      nodeMonitorGraceSeconds: times.graceMs / 1000,
      flags: [
        `--node-startup-grace-period=${times.graceMs / 1000}s`,
        `--node-eviction-rate=${1000 / times.evictionGapMs}`,
        `--attach-detach-reconcile-sync-period=${times.attachSyncMs / 1000}s`,
      ],
    },
    scheduler: { flags: ['--kube-api-qps=500', '--kube-api-burst=1000'] },
  });
  return live(controlPlane, scenarios);
}

async function live(controlPlane: ControlPlane, scenarios: readonly Scenario[]): Promise<RealCluster> {
  const clock = realClock;
  const transport = new HttpTransport(connectionTo(controlPlane), clock);
  const client = clientFor(controlPlane);
  const seen = new Informers({ client, clock, random: Math.random, onProblem: () => {} });
  for (const resource of [resources.pods, resources.nodes, resources.volumeAttachments]) seen.of(resource);
  const ended = new AbortController();
  const watching = seen.run(ended.signal);
  const fleet = new Fleet({
    ...fleetTimings,
    clock,
    random: Math.random,
    transportFor: () => transport,
    nodes: [bystander],
    drivers: scenarios.map(({ name }) => driverOf(name)),
  });
  fleet.start();
  return {
    clock,
    client,
    fleet,
    seen,
    async stop({ keepLogs }) {
      await fleet.stop();
      ended.abort();
      await watching;
      client.close();
      transport.close();
      await controlPlane.stop({ keepLogs });
    },
  };
}

/** How it differs from what was expected before each step and at the end; empty when it does not. */
export async function follow(
  cluster: Cluster,
  scenario: Scenario,
  expected: readonly History[],
): Promise<Divergence[]> {
  const stage = new Stage(cluster, scenario);
  try {
    await stage.setUp();
    for (const [at, { afterMs, fault }] of scenario.steps.entries()) {
      const differences = await align(cluster, stage, { afterMs, expected: expected[at] ?? new Map() });
      if (differences.length > 0) return differences;
      await stage.apply(fault);
    }
    return await align(cluster, stage, { afterMs: scenario.restMs, expected: expected.at(-1) ?? new Map() });
  } finally {
    stage.end();
  }
}

async function align(
  { clock }: Cluster,
  { recorder }: Stage,
  { afterMs, expected }: { afterMs: number; expected: History },
): Promise<Divergence[]> {
  await sleep(clock, afterMs);
  let differences = compare(expected, recorder.history());
  if (differences.length === 0) return differences;
  const deadline = clock.monotonic() + patienceMs;
  while (differences.length > 0 && clock.monotonic() < deadline) {
    await sleep(clock, lookEveryMs);
    differences = compare(expected, recorder.history());
  }
  await sleep(clock, settleMs);
  return compare(expected, recorder.history());
}
