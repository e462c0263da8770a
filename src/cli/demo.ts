/**
 * `fenceline demo`: a whole cluster in this process, in real time, with the operator and the console. Nothing is
 * installed and nothing outside is touched; when it ends, nothing is left.
 */
import { REMEDY_NAMESPACE } from '../api/fence-names.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { customResourceDefinitions } from '../api/crds.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { DrainAction } from '../api/drain-view.ts';
import type { Judgement } from '../api/view.ts';
import { realClock } from '../clock.ts';
import { ConsoleServer } from '../console/console-server.ts';
import { drainNews } from '../console/demo-drains.ts';
import { demoDriver, demoObjects, demoReplicas } from '../console/demo-objects.ts';
import { DemoSource } from '../console/demo-source.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { customResourceDefinitions as definitionResource, namespaces } from '../kube/resources.ts';
import { Operator } from '../operator/operator.ts';
import { simulatedDevices } from '../scenario/simulated-devices.ts';
import { simulatedDoors } from '../scenario/simulated-doors.ts';
import { version } from '../version.ts';
import { HttpFront } from '../world/api-server/http-front.ts';
import { Random } from '../world/random.ts';
import { World } from '../world/world.ts';
import { shutdownSignal } from './shutdown.ts';
import { UserError } from './user-error.ts';

const defaultPort = 8088;
/** Kubernetes takes 50 s to notice a silent node; half of that is enough to see what it does meanwhile. */
const hurried = { nodeMonitorPeriodMs: 1000, nodeMonitorGraceMs: 25_000 };

export function demoCommand(): Command {
  return new Command('demo')
    .description('run a cluster of six nodes in this process, with the operator and a console to pull plugs in')
    .addOption(
      new Option('--port <port>', 'port of the console on loopback; 0: any that is free')
        .argParser(portOf)
        .default(undefined, String(defaultPort)),
    )
    .action(demo);
}

async function demo(flags: { port?: number }): Promise<void> {
  const random = new Random(Math.floor(Math.random() * 2 ** 32));
  const world = new World({
    clock: realClock,
    random,
    nodes: Array.from({ length: 6 }, (_, index) => ({ name: `node-${index + 1}`, zone: `z${(index % 3) + 1}` })),
    drivers: [demoDriver],
    longhorn: demoReplicas,
    onReplicas: () => source.changed(),
    bootTimeMs: 15_000,
    timings: hurried,
  });
  const clientOf = (user: string): KubeClient =>
    new KubeClient({ transport: world.server.transport(user), clock: realClock, userAgent: user, fieldManager: user });
  const operator = new Operator({
    client: clientOf('fenceline'),
    clock: realClock,
    random: random.stream('operator'),
    log: { info: (fields, text) => told(fields, text), warn: (fields, text) => told(fields, text), debug: () => {} },
    version,
    limits: defaultLimits,
    gates: featureGates({ NonGracefulFailover: true }),
    identity: 'demo',
    namespace: 'default',
    remedyNamespace: REMEDY_NAMESPACE,
    devices: simulatedDevices(world),
    knock: simulatedDoors((address) => world.portAt(address), realClock),
  });
  const source = new DemoSource({
    world,
    clock: realClock,
    client: clientOf('console'),
    random: random.stream('console'),
    verdicts: () => operator.verdicts,
  });
  const tellVerdict = ({ node, verdict, reason, previous }: VerdictFields): void => {
    if (previous !== verdict) source.tell(`${node}: ${previous ?? 'new'} → ${verdict} (${reason})`);
  };
  const tellDrain = ({ node, action, object = '' }: DrainFields): void => {
    const news = drainNews(action, object);
    // A refusal names no object: it is tried again, and what comes of it is told.
    if (news !== undefined && object !== '') source.tell(`${node}: ${news}`);
  };
  const told = (fields: object, text: string): void => {
    if (text === 'verdict') tellVerdict(fields as VerdictFields);
    const { node, did, pod, why } = fields as { node?: string; did?: string; pod?: string; why?: string };
    if (text === 'acted') source.tell(`${node}: ${did}`);
    if (text === 'drain') tellDrain(fields as DrainFields);
    if (text === 'stuck') source.tell(`${node}: ${pod} is stuck: ${why}`);
  };

  const console = new ConsoleServer(source, realClock);
  const port = await listen(console, flags.port);
  const front = new HttpFront(world.server);
  const apiPort = await front.listen(0);
  const directory = mkdtempSync(join(tmpdir(), 'fenceline-demo-'));
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(apiPort), { mode: 0o600 });
  const shutdown = shutdownSignal(() => process.stdout.write('\nending…\n'));
  try {
    world.start();
    await populate(clientOf('admin'));
    process.stdout.write(greeting(port, kubeconfig));
    await Promise.all([operator.run(shutdown), source.run(shutdown)]);
  } finally {
    await Promise.all([console.close(), front.close()]);
    await world.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface VerdictFields extends Pick<Judgement, 'verdict' | 'reason'> {
  node: string;
  previous?: string;
}

interface DrainFields {
  node: string;
  action: DrainAction['do'];
  object?: string;
}

async function populate(client: KubeClient): Promise<void> {
  const definitions = customResourceDefinitions().map((object) => ({ resource: definitionResource, object }));
  const remedies = { resource: namespaces, object: { metadata: { name: REMEDY_NAMESPACE } } };
  for (const { resource, object } of [...definitions, remedies, ...demoObjects]) {
    const created = await client.create<KubeObject>(resource, object);
    if (!created.ok) throw new Error(created.error.message);
  }
}

/** A port that nobody asked for may be another one if it is taken; one that was asked for may not. */
async function listen(server: ConsoleServer, asked: number | undefined): Promise<number> {
  try {
    return await server.listen(asked ?? defaultPort);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    if (asked !== undefined)
      throw new UserError(`port ${asked} is taken; write another --port, or 0 for any that is free`);
    return server.listen(0);
  }
}

function greeting(port: number, kubeconfig: string): string {
  return `Fenceline ${version}: six nodes in three zones, a database, a shop, replicated volumes and the operator. Ctrl-C ends it.

  console   http://127.0.0.1:${port}/
  kubectl   export KUBECONFIG=${kubeconfig}

`;
}

function kubeconfigFor(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'fenceline-demo',
    contexts: [{ name: 'fenceline-demo', context: { cluster: 'fenceline-demo', user: 'admin', namespace: 'default' } }],
    clusters: [{ name: 'fenceline-demo', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'admin', user: {} }],
  });
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('write a number from 0 to 65535.');
  return port;
}
