/**
 * `fenceline demo`: a whole cluster in this process, in real time, with the operator and the console. Nothing is
 * installed and nothing outside is touched; when it ends, nothing is left.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { realClock } from '../clock.ts';
import { actAs } from '../console/acts.ts';
import { loadAssets } from '../console/assets.ts';
import type { Session } from '../console/console-server.ts';
import { ConsoleServer } from '../console/console-server.ts';
import { DemoCluster, demoGates } from '../console/demo-cluster.ts';
import { demoNamespace } from '../console/demo-objects.ts';
import { Rehearsals } from '../console/rehearsals.ts';
import { version } from '../version.ts';
import { HttpFront } from '../world/api-server/http-front.ts';
import { pass } from '../world/time/pace.ts';
import { VirtualClock } from '../world/time/virtual-clock.ts';
import { Random } from '../world/random.ts';
import { rehearsalMiB, startRehearsal } from './rehearsal-start.ts';
import { shutdownSignal } from './shutdown.ts';
import { wholeCluster } from './snapshot-of.ts';
import { UserError } from './user-error.ts';

const defaultPort = 8088;
/** So that what is suggested can be typed as it is printed. */
const bin = join(import.meta.dirname, '../../bin');

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
  const time = new VirtualClock({ epochMs: realClock.now() });
  const cluster = new DemoCluster(time, new Random(Math.floor(Math.random() * 2 ** 32)));
  const { source, person } = cluster;
  const session: Session = {
    source,
    act: (asked) => actAs(person, asked),
    read: (signal) => wholeCluster(person, demoNamespace, signal),
  };
  const console = new ConsoleServer({
    clock: realClock,
    gate: { admit: async () => session },
    assets: await loadAssets(),
    rehearsals: new Rehearsals({
      clock: realClock,
      start: startRehearsal,
      memoryMiB: rehearsalMiB,
      featureGates: demoGates,
    }),
    machines: source,
  });
  const port = await listen(console, flags.port);
  const front = new HttpFront(cluster.world.server);
  const apiPort = await front.listen(0);
  const directory = mkdtempSync(join(tmpdir(), 'fenceline-demo-'));
  const kubeconfig = join(directory, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(apiPort), { mode: 0o600 });
  const shutdown = shutdownSignal(() => process.stdout.write('\nending…\n'));
  const ended = new AbortController();
  const passing = pass({ real: realClock, time, rate: () => source.rate }, ended.signal);
  try {
    await cluster.start();
    process.stdout.write(greeting(port, kubeconfig));
    await cluster.run(shutdown);
  } finally {
    await Promise.all([console.close(), front.close()]);
    await cluster.world.stop();
    ended.abort();
    await passing;
    rmSync(directory, { recursive: true, force: true });
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
  fenceline export PATH=${bin}:$PATH

Its devices are in this process and answer the operator alone: "fenceline check" and "drill" ask them from outside, and hear nothing.

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
