/** A scenario on the embedded cluster, in virtual time. */
import type { Clock } from '../../src/clock.ts';
import { sleep } from '../../src/clock.ts';
import * as clients from '../../src/kube/client.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/kube/transport.ts';
import * as servers from '../../src/world/api-server/server.ts';
import * as managers from '../../src/world/controllers/controller-manager.ts';
import * as informers from '../../src/world/controllers/informer.ts';
import * as resources from '../../src/world/controllers/resources.ts';
import * as schedulers from '../../src/world/controllers/scheduler.ts';
import type { ControllerTimings } from '../../src/world/controllers/timings.ts';
import * as fleets from '../../src/world/fleet.ts';
import type { PodBehaviour } from '../../src/world/kubelet/kubelet.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import { Random } from '../../src/world/random.ts';
import type { VirtualClock } from '../../src/world/time/virtual-clock.ts';
import * as clocks from '../../src/world/time/virtual-clock.ts';
import { Chance } from './chance.ts';
import type { History } from './history.ts';
import type { NodeAt, Scenario } from './scenario.ts';
import { driverOf, nodeName, poolSize, times } from './scenario.ts';
import type { Cluster } from './stage.ts';
import { bystander, Stage } from './stage.ts';

/** The code of the cluster: that of the source, or one in which something was broken. */
export interface Parts {
  clients: Pick<typeof clients, 'KubeClient'>;
  servers: Pick<typeof servers, 'ApiServer'>;
  managers: Pick<typeof managers, 'ControllerManager'>;
  informers: Pick<typeof informers, 'Informers'>;
  schedulers: Pick<typeof schedulers, 'Scheduler'>;
  fleets: Pick<typeof fleets, 'Fleet'>;
  clocks: Pick<typeof clocks, 'VirtualClock'>;
}

export const sourceParts: Parts = { clients, servers, managers, informers, schedulers, fleets, clocks };

export const partFiles: Readonly<Record<keyof Parts, string>> = {
  clients: 'src/kube/client.ts',
  servers: 'src/world/api-server/server.ts',
  managers: 'src/world/controllers/controller-manager.ts',
  informers: 'src/world/controllers/informer.ts',
  schedulers: 'src/world/controllers/scheduler.ts',
  fleets: 'src/world/fleet.ts',
  clocks: 'src/world/time/virtual-clock.ts',
};

export const timings: Partial<ControllerTimings> = {
  nodeMonitorPeriodMs: times.monitorMs,
  nodeMonitorGraceMs: times.graceMs,
  nodeStartupGraceMs: times.graceMs,
  nodeEvictionRate: 1000 / times.evictionGapMs,
  podGcPeriodMs: times.podGcMs,
  podGcQuarantineMs: times.quarantineMs,
  attachSyncPeriodMs: times.attachSyncMs,
  maxWaitForUnmountMs: times.forceDetachMs,
};

/** How the fleet reports and behaves, on both clusters. */
export const fleetTimings = {
  // The pods of a Job do not end by themselves when they are asked to: a Job looks at a deleted pod a second later, and
  // what it has then become must not depend on how busy the machine is.
  behaviourOf: (pod: Pod): PodBehaviour => ({
    startupMs: 100,
    stopMs: pod.spec.restartPolicy === 'Never' ? 5000 : 100,
  }),
  bootTimeMs: times.bootMs,
  kubelet: { leaseRenewMs: 1500, statusEveryMs: 1500, reportEveryMs: 300_000, reconnectMs: 500 },
};

export interface EmbeddedOptions {
  parts?: Parts;
  /** Another seed for everything that is chance in the cluster, and everything a bit later than it could be. */
  shake?: number;
}

/** What was there before each step, and at the end. */
export async function runEmbedded(scenario: Scenario, options: EmbeddedOptions = {}): Promise<History[]> {
  const parts = options.parts ?? sourceParts;
  const clock = new parts.clocks.VirtualClock();
  const random = new Random(options.shake ?? scenario.seed);
  const chance = options.shake === undefined ? undefined : new Chance(random.stream('shake'));
  const ended = new AbortController();
  const { cluster, running } = start({ parts, clock, random, chance, signal: ended.signal }, scenario);
  const acted = act(cluster, scenario, chance);
  await passing(clock, acted);
  ended.abort();
  await passing(clock, Promise.all([cluster.fleet.stop(), running]));
  return acted;
}

/** Time passes until this is over; how it ended is for others to ask. */
async function passing(clock: VirtualClock, something: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const end = (): void => ended.abort();
  something.then(end, end);
  const isOver = (): boolean => ended.signal.aborted;
  while (!isOver()) await clock.runUntil(clock.monotonic() + 1000, isOver);
}

interface Base {
  parts: Parts;
  clock: Clock;
  random: Random;
  chance: Chance | undefined;
  signal: AbortSignal;
}

function start(base: Base, scenario: Scenario): { cluster: Cluster; running: Promise<unknown> } {
  const { parts, clock, random, chance, signal } = base;
  const server = new parts.servers.ApiServer({
    clock,
    random: random.stream('server'),
    defaultTolerationSeconds: times.tolerationMs / 1000,
  });
  const transportFor = (user: string): Transport => {
    const direct = server.transport(user);
    return chance === undefined ? direct : new SlowTransport(direct, clock, chance);
  };
  const transport = server.transport('admin');
  const client = new parts.clients.KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  const seen = new parts.informers.Informers({ client, clock, random: random.stream('seen'), onProblem: () => {} });
  for (const resource of [resources.pods, resources.nodes, resources.volumeAttachments]) seen.of(resource);
  const fleet = new parts.fleets.Fleet({
    ...fleetTimings,
    clock,
    random: random.stream('fleet'),
    transportFor,
    nodes: [bystander],
    drivers: [driverOf(scenario.name)],
  });
  const common = { clock, random: random.stream('controllers'), transportFor };
  const manager = new parts.managers.ControllerManager({ ...common, timings });
  const scheduler = new parts.schedulers.Scheduler({
    ...common,
    informers: manager.informers,
    indexes: manager.indexes,
  });
  const running = Promise.all([seen.run(signal), manager.run(signal), scheduler.run(signal)]);
  running.catch(() => {});
  fleet.start();
  return { cluster: { clock, client, fleet, seen }, running };
}

async function act(cluster: Cluster, scenario: Scenario, chance: Chance | undefined): Promise<History[]> {
  const { clock } = cluster;
  // Controllers that look every so often are somewhere else in their round.
  await sleep(clock, 1000 + (chance?.between(0, times.podGcMs) ?? 0));
  const stage = new Stage(cluster, scenario);
  await stage.setUp();
  if (chance !== undefined) await addBallast(cluster, scenario, chance);
  const histories: History[] = [];
  for (const { afterMs, fault } of scenario.steps) {
    await sleep(clock, afterMs + (chance?.between(0, 2500) ?? 0));
    histories.push(stage.recorder.history());
    await stage.apply(fault);
  }
  await sleep(clock, scenario.restMs);
  histories.push(stage.recorder.history());
  return histories;
}

/** Other pods here and there, so that a scheduler that prefers the emptiest node has other preferences. */
async function addBallast({ client }: Cluster, { name }: Scenario, chance: Chance): Promise<void> {
  const namespace = 'ballast';
  await client.create(resources.namespaces, { metadata: { name: namespace } });
  const spec = { containers: [{ name: 'main', image: 'example/main:1' }], tolerations: [{ operator: 'Exists' }] };
  for (let at = 0; at < poolSize; at += 1) {
    for (let count = chance.between(0, 4); count > 0; count -= 1) {
      const metadata = { name: `ballast-${at}-${count}`, namespace };
      await client.create<Pod>(resources.pods, { metadata, spec: { ...spec, nodeName: nodeName(name, at as NodeAt) } });
    }
  }
}

class SlowTransport implements Transport {
  readonly #inner: Transport;
  readonly #clock: Clock;
  readonly #chance: Chance;

  constructor(inner: Transport, clock: Clock, chance: Chance) {
    this.#inner = inner;
    this.#clock = clock;
    this.#chance = chance;
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    await sleep(this.#clock, this.#chance.between(0, 150));
    return this.#inner.send(request);
  }

  close(): void {
    this.#inner.close();
  }
}
