/**
 * The way of a newcomer: what the README says under "Switch it on", word for word, on a real control plane with a real
 * IPMI device for each machine. Then a machine loses its power, and its database has to run elsewhere.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { Fleet } from '../../src/world/fleet.ts';
import { ensureFenceAgents } from '../devices/needs.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { commandsOf } from '../support/documents.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { administratorOf, type } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { waitFor } from '../support/wait.ts';
import { wireBmc } from './wiring.ts';
import { systemUuidOf } from './world.ts';

const driver = 'csi.example.test';
const workers = ['worker-1', 'worker-2', 'worker-3'];
const patient = { timeoutMs: 180_000 };

describe('README.md, "Switch it on"', { timeout: 600_000 }, () => {
  const undo: (() => unknown)[] = [];
  let controlPlane: ControlPlane;
  let fleet: Fleet;
  let cluster: FleetCluster;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    await ensureFenceAgents();
    const controllerManager = { nodeMonitorGraceSeconds: 50 };
    controlPlane = await startControlPlane({ name: 'newcomer', controllerManager, scheduler: true });
    undo.push(() => controlPlane.stop());
    const transport: Transport = new HttpTransport(connectionTo(controlPlane), realClock);
    undo.push(() => transport.close());
    fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => transport,
      nodes: workers.map((name) => ({ name, labels: { pool: 'workers' }, systemUuid: systemUuidOf(name) })),
      drivers: [driver],
      bootTimeMs: 3000,
    });
    undo.push(() => fleet.stop());
    fleet.start();
    cluster = new FleetCluster(controlPlane, fleet, driver);
    undo.push(() => cluster.close());
    await cluster.allReady();
    env = await administratorOf(controlPlane);
  });

  after(async () => {
    for (const one of undo.toReversed()) await one();
  });

  /** A reader writes their own addresses and credentials in the place of those of the example. */
  async function ownDevices(): Promise<(command: string) => string> {
    const own: [from: string, to: string][] = [];
    for (const [index, name] of workers.entries()) {
      const bmc = await wireBmc(fleet.machine(name), { systemUuid: systemUuidOf(name) });
      undo.push(() => bmc.close());
      const { ip, ipport, cipher } = bmc.plain;
      own.push([`bmc=192.0.2.1${index + 1}`, `"bmc=${ip}\\nport=${ipport}"`]);
      if (index > 0) continue;
      own.push(['ip={{bmc}}', `ip={{bmc}}\n    ipport={{port}}\n    cipher=${cipher}`]);
      own.push(['change-me', bmc.secret['password'] ?? '']);
    }
    return (command) => {
      assert.deepEqual(
        own.map(([from]) => from).filter((from) => !command.includes(from)),
        [],
      );
      return own.reduce((text, [from, to]) => text.replace(from, to), command);
    };
  }

  test('[USE-1, USE-2] after its commands, a node that loses power is fenced and its pod runs elsewhere', async () => {
    const { pod, machine, volume } = await cluster.statefulSet('web');
    const replaced = await ownDevices();
    const passes = mkdtempSync(join(tmpdir(), 'fenceline-passes-'));
    undo.push(() => rmSync(passes, { recursive: true }));
    for (const command of commandsOf('README.md', 'Switch it on')) {
      if (command.startsWith('bin/fenceline run ')) {
        const [, , ...args] = command.split(' ');
        // The later --bind-address wins: the port of the README may be taken on this machine.
        const operator = new OperatorProcess([...args, '--bind-address', '127.0.0.1:0', '--trace-passes', passes], env);
        undo.push(() => operator[Symbol.asyncDispose]());
        await operator.said('leading', ({ msg }) => msg === 'leading');
        continue;
      }
      const text = command.includes('192.0.2.') ? replaced(command) : command;
      const said = await type(text, env);
      if (command.includes('fenceline check')) {
        for (const name of workers) assert.match(said, new RegExp(`^${name} +\\S+ +yes `, 'm'));
      }
    }

    machine.powerOff();
    const offAtMs = performance.now();
    const moved = await waitFor(
      'the pod to run elsewhere',
      async () => {
        const now = await cluster.pod('web-0');
        const isReady = now?.status?.conditions?.some(({ type: of, status }) => of === 'Ready' && status === 'True');
        return isReady && now?.metadata.uid !== pod.metadata.uid && now;
      },
      patient,
    );
    console.log(`# ${((performance.now() - offAtMs) / 1000).toFixed(1)} s until it runs elsewhere`);
    assert.notEqual(moved.spec.nodeName, machine.name);
    assert.equal((await cluster.attachmentOf(volume))?.spec.nodeName, moved.spec.nodeName);
    const released = `kubectl get nodefence node-fence-${machine.name} -o jsonpath='{.status.releases[*].basis}'`;
    assert.equal(await type(released, env), 'PowerOff');

    await waitFor(
      'the machine to be back in service',
      async () => {
        const { spec, status } = await cluster.node(machine.name);
        const isReady = status?.conditions?.some(({ type: of, status: is }) => of === 'Ready' && is === 'True');
        return isReady && spec?.taints === undefined && spec?.unschedulable !== true;
      },
      patient,
    );
    const replayed = await type(`bin/fenceline replay ${passes}/*.jsonl`, env);
    assert.match(replayed, /^([1-9]\d*) passes: \1 decided as recorded, 0 otherwise$/m);
  });
});
