/** A cluster on which nothing of ours is installed yet: stock control plane, simulated machines, and a reader of the documents. */
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { FleetNode, FleetOptions } from '../../src/world/fleet.ts';
import { Fleet } from '../../src/world/fleet.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { administratorOf } from '../support/install.ts';
import { Reader } from './reader.ts';
import { systemUuidOf } from './world.ts';

export interface NewcomerOptions {
  name: string;
  nodes: readonly FleetNode[];
  /** The first is that of volumes of which nothing else is said. */
  drivers: readonly [string, ...string[]];
  graceSeconds: number;
  kubelet?: NonNullable<FleetOptions['kubelet']>;
  /** The operator is started with these beside those of the documents. */
  flags?: readonly string[];
}

export class Newcomer implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly fleet: Fleet;
  readonly cluster: FleetCluster;
  readonly reader: Reader;
  readonly transport: HttpTransport;

  constructor(controlPlane: ControlPlane, env: NodeJS.ProcessEnv, options: NewcomerOptions) {
    const { nodes, drivers, kubelet = {}, flags = [] } = options;
    this.controlPlane = controlPlane;
    this.transport = new HttpTransport(connectionTo(controlPlane), realClock);
    this.fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => this.transport,
      nodes: nodes.map((node) => ({ systemUuid: systemUuidOf(node.name), ...node })),
      drivers,
      bootTimeMs: 3000,
      kubelet,
    });
    this.cluster = new FleetCluster(controlPlane, this.fleet, drivers[0]);
    this.reader = new Reader(env, flags);
  }

  static async start(options: NewcomerOptions): Promise<Newcomer> {
    const controllerManager = { nodeMonitorGraceSeconds: options.graceSeconds };
    const version = process.env['FENCELINE_KUBERNETES'];
    const controlPlane = await startControlPlane({
      name: options.name,
      ...(version === undefined ? {} : { version }),
      controllerManager,
      scheduler: true,
    });
    const newcomer = new Newcomer(controlPlane, await administratorOf(controlPlane), options);
    await newcomer.installDrivers(options.drivers);
    newcomer.fleet.start();
    await newcomer.cluster.allReady();
    return newcomer;
  }

  /** As whoever brings the storage along does it. */
  async installDrivers(drivers: readonly string[]): Promise<void> {
    const items = drivers.map((name) => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name },
      spec: { attachRequired: true },
    }));
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const made = await this.controlPlane.kubectl(['create', '-f', '-'], { input });
    if (made.code !== 0) throw new Error(made.stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reader[Symbol.asyncDispose]();
    this.cluster.close();
    await this.fleet.stop();
    this.transport.close();
    await this.controlPlane.stop();
  }
}
