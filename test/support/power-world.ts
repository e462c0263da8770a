/**
 * A cluster whose machines lose their power: the stock API server, controllers and scheduler with the settings that Kubernetes has by
 * itself, kubelets with theirs, a management controller for each machine, by Redfish over TLS or by IPMI, and the operator as a
 * process of its own. And storage that fences a node off when it detaches from one that is out of service, and only then.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { OUT_OF_SERVICE_KEY } from '../../src/api/release-view.ts';
import { realClock } from '../../src/clock.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { configMaps, csiDrivers, persistentVolumes, remedyPolicies, secrets } from '../../src/kube/resources.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { daemonSets, statefulSets } from '../../src/world/controllers/resources.ts';
import { Fleet, type FleetNode } from '../../src/world/fleet.ts';
import type { Machine } from '../../src/world/machines/machine.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import { History } from '../release/history.ts';
import { isReady } from '../release/row.ts';
import { wireBmc } from '../release/wiring.ts';
import { systemUuidOf } from '../release/world.ts';
import { createCertificateAuthority } from './certificates.ts';
import { clientFor, connectionTo } from './client.ts';
import { startControlPlane, type ControlPlane } from './control-plane.ts';
import { installCrds } from './install.ts';
import { OperatorProcess } from './operator-process.ts';
import { operatorKubeconfig, operatorNamespace } from './operator-rights.ts';
import { RedfishBmc, SYSTEM } from './redfish-bmc.ts';
import { KubeletDoor } from './kubelet-door.ts';
import { waitFor } from './wait.ts';

export const namespace = 'default';
const driver = 'fences-by-taint.csi.test';
const bootTimeMs = 5000;
/** Those of Kubernetes, where the harness has shorter ones for tests. */
const monitor = { nodeMonitorPeriodSeconds: 5, nodeMonitorGraceSeconds: 50 };
const tolerations = { notReadyTolerationSeconds: 300, unreachableTolerationSeconds: 300 };

export type Management = 'redfish' | 'ipmi';

/** A volume was detached: from which node, when, and whether the storage has fenced that node off with it. */
export interface Detach {
  node: string;
  volume: string;
  atMs: number;
  isFenced: boolean;
}

/** What a test has otherwise than Kubernetes has it by itself. */
export interface Otherwise {
  management?: Management;
  /** Of all Leases; they are renewed every quarter of it, and as often kubelets report. */
  leaseSeconds?: number;
}

export class PowerWorld implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly fleet: Fleet;
  readonly history: History;
  readonly detached: Detach[] = [];
  /** What each controller that speaks Redfish was asked, and answered, by node. */
  readonly bmcs = new Map<string, RedfishBmc>();
  readonly #transport: Transport;
  readonly #undo: (() => Promise<unknown>)[] = [];
  #kubeconfig = '';
  #trustFile = '';
  #operator: OperatorProcess | undefined;

  private constructor(controlPlane: ControlPlane, nodes: readonly FleetNode[], { leaseSeconds = 40 }: Otherwise) {
    this.controlPlane = controlPlane;
    this.client = clientFor(controlPlane);
    this.history = new History(this.client);
    this.#transport = new HttpTransport(connectionTo(controlPlane), realClock);
    this.fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => this.#transport,
      nodes: nodes.map((node) => ({ ...node, systemUuid: systemUuidOf(node.name) })),
      drivers: [driver],
      bootTimeMs,
      kubeletAddress: '127.0.0.1',
      kubelet: {
        leaseDurationSeconds: leaseSeconds,
        leaseRenewMs: leaseSeconds * 250,
        statusEveryMs: leaseSeconds * 250,
      },
      onStorage: ({ type, attachment: { spec } }) => {
        if (type === 'detached') this.#noteDetach(spec.nodeName, spec.source.persistentVolumeName ?? '');
      },
    });
  }

  static async start(name: string, nodes: readonly FleetNode[], otherwise: Otherwise = {}): Promise<PowerWorld> {
    const controlPlane = await startControlPlane({
      name,
      apiserver: tolerations,
      controllerManager: monitor,
      scheduler: true,
    });
    const doors = await Promise.all(nodes.map(() => KubeletDoor.make()));
    const world = new PowerWorld(
      controlPlane,
      nodes.map((node, at) => ({ ...node, kubeletPort: doors[at]?.port ?? 0 })),
      otherwise,
    );
    world.#undo.push(() => Promise.all(doors.map((door) => door.close())));
    try {
      world.#hang(doors);
      await world.#begin(otherwise.management ?? 'redfish');
      return world;
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Whoever knocks at a machine without power gets no answer. */
  #hang(doors: readonly KubeletDoor[]): void {
    for (const [at, machine] of this.fleet.machines.entries()) {
      machine.on(({ type }) => {
        if (type === 'off') void doors[at]?.shut();
        else if (type === 'booted') doors[at]?.open();
      });
    }
  }

  async #begin(management: Management): Promise<void> {
    await installCrds(this.controlPlane);
    this.#kubeconfig = await operatorKubeconfig(this.controlPlane);
    await this.create(csiDrivers, { metadata: { name: driver }, spec: { attachRequired: true } });
    this.history.start();
    this.fleet.start();
    const authority = createCertificateAuthority();
    for (const machine of this.fleet.machines) {
      if (management === 'redfish') await this.#wireRedfish(machine, authority);
      else await this.#wireIpmi(machine);
    }
    await this.allInService();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stopOperator();
    } finally {
      for (const undo of this.#undo.splice(0)) await undo();
      await this.fleet.stop();
      await this.history.stop();
      this.client.close();
      this.#transport.close();
      await this.controlPlane.stop();
    }
  }

  async #wireRedfish(machine: Machine, authority: ReturnType<typeof createCertificateAuthority>): Promise<void> {
    const bmc = await RedfishBmc.start({}, authority);
    this.#undo.push(() => bmc[Symbol.asyncDispose]());
    this.bmcs.set(machine.name, bmc);
    this.#trustFile ||= bmc.trustFile;
    bmc.more = { UUID: systemUuidOf(machine.name) };
    bmc.onReset = (power) => (power === 'Off' ? machine.powerOff() : machine.powerOn());
    machine.on(({ type }) => {
      if (type === 'off') bmc.power = 'Off';
      else if (type === 'booting') bmc.power = 'On';
    });
    const { username, password } = bmc.credential;
    const plain = { ip: '127.0.0.1', ipport: String(bmc.port), username, systems_uri: SYSTEM };
    await this.#device(machine.name, { agent: 'fence_redfish', plain, secret: { password } });
  }

  async #wireIpmi(machine: Machine): Promise<void> {
    const bmc = await wireBmc(machine, { systemUuid: systemUuidOf(machine.name) });
    this.#undo.push(() => bmc.close());
    await this.#device(machine.name, { agent: 'fence_ipmilan', plain: { ...bmc.plain }, secret: { ...bmc.secret } });
  }

  /** As docs/fencing.md has it: a template with its Secret, and what is done with it to this node. */
  async #device(node: string, device: { agent: string; plain: object; secret: object }): Promise<void> {
    const login = { name: `${node}-login`, namespace: operatorNamespace };
    await this.create(secrets, { metadata: login, stringData: device.secret });
    const lines = Object.entries({ agent: device.agent, secret: login.name, ...device.plain });
    const text = lines.map(([key, value]) => `${key}=${value}`).join('\n');
    await this.#configMap(`fence-method-template-${node}`, { 'template.properties': text });
    await this.#configMap(`fence-config-${node}`, {
      'config.properties': `node_name=${node}\npower_management=bmc-off bmc-on`,
      'fence-method-bmc-off': `template=fence-method-template-${node}\naction=off`,
      'fence-method-bmc-on': `template=fence-method-template-${node}\naction=on`,
    });
  }

  async #configMap(name: string, data: Record<string, string>): Promise<void> {
    await this.create(configMaps, { metadata: { name, namespace: operatorNamespace }, data });
  }

  /** Nothing but a fence and a threshold; `fence`: what is said of it beyond that. In the place of one of the same name. */
  async policy(
    fence: object = {},
    { name = 'workers', of = {}, staleFor = '12s' }: { name?: string; of?: object; staleFor?: string } = {},
  ): Promise<void> {
    const spec = {
      ...(Object.keys(of).length === 0 ? { allNodes: true } : { selector: { matchLabels: of } }),
      thresholds: [{ lease: { staleFor }, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      fence,
    };
    const before = await this.client.get({ resource: remedyPolicies, name });
    if (before.ok)
      await this.client.delete({ resource: remedyPolicies, name }, { uid: before.value.metadata.uid ?? '' });
    await this.create(remedyPolicies, { metadata: { name }, spec });
  }

  /** `port`: where it finds the API server, instead of where that is. */
  async runOperator(port = this.controlPlane.port, ...args: readonly string[]): Promise<OperatorProcess> {
    await this.stopOperator();
    const kubeconfig = `${this.#kubeconfig}-${port}`;
    const text = await readFile(this.#kubeconfig, 'utf8');
    await writeFile(kubeconfig, text.replaceAll(`:${this.controlPlane.port}`, `:${port}`));
    const operator = new OperatorProcess([
      `--kubeconfig=${kubeconfig}`,
      ...args,
      `--leader-elect-namespace=${operatorNamespace}`,
      ...(this.#trustFile === '' ? [] : [`--agent-trust-file=${this.#trustFile}`]),
    ]);
    this.#operator = operator;
    await operator.said('leading', ({ msg }) => msg === 'leading', { timeoutMs: 60_000 });
    return operator;
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** What it has said so far of a node, with the time by our clock. */
  saidOf(node: string): { msg: string; atMs: number; fields: Record<string, unknown> }[] {
    const offsetMs = Date.now() - performance.now();
    return (this.#operator?.lines ?? [])
      .filter((line) => line['node'] === node)
      .map((line) => ({ msg: line.msg, atMs: Date.parse(line.time) - offsetMs, fields: line }));
  }

  /** One replica with a volume of its own; answers its pod, once it is Ready. */
  async statefulSet(name: string, nodeSelector: object = {}): Promise<Pod> {
    const accessModes = ['ReadWriteOnce'];
    const claim = { accessModes, storageClassName: '', resources: { requests: { storage: '1Gi' } } };
    await this.create(persistentVolumes, {
      metadata: { name: `pv-${name}` },
      spec: {
        accessModes,
        storageClassName: '',
        capacity: { storage: '1Gi' },
        csi: { driver, volumeHandle: `pv-${name}` },
        claimRef: { namespace, name: `data-${name}-0` },
      },
    });
    const containers = [
      { name: 'main', image: 'example/main:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    ];
    await this.create(statefulSets, {
      metadata: { name, namespace },
      spec: {
        serviceName: name,
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers, nodeSelector } },
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
      },
    });
    return this.until(`${name}-0 to be Ready`, () => this.podsOf(name).find(isReady));
  }

  async daemonSet(name: string, nodes: number): Promise<void> {
    const spec = {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
      },
    };
    await this.create(daemonSets, { metadata: { name, namespace }, spec });
    await this.until(`the pods of ${name} to be Ready`, () => this.podsOf(name).filter(isReady).length === nodes);
  }

  podsOf(app: string): Pod[] {
    return this.history.now('pods').filter(({ metadata }) => metadata.labels?.['app'] === app);
  }

  node(name: string): Node | undefined {
    return this.history.now('nodes').find(({ metadata }) => metadata.name === name);
  }

  inService(): Node[] {
    return this.history.now('nodes').filter((node) => (node.spec?.taints ?? []).length === 0 && isReady(node as never));
  }

  async allInService(atLeast = this.fleet.machines.length): Promise<void> {
    await this.until(`${atLeast} nodes to be in service`, () => this.inService().length >= atLeast, 300_000);
  }

  until<T>(
    what: string,
    look: () => T | Promise<T>,
    timeoutMs = 120_000,
  ): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
    return waitFor(what, look, { timeoutMs, intervalMs: 20 });
  }

  async create<T extends KubeObject>(resource: Resource, object: T & Record<string, unknown>): Promise<T> {
    const made = await this.client.create<T>(resource, object);
    if (!made.ok) throw new Error(made.error.message);
    return made.value;
  }

  /** Storage that fences by the taint looks at the node when it is to unpublish a volume, and at nothing else. */
  #noteDetach(node: string, volume: string): void {
    const isFenced = this.node(node)?.spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE_KEY) ?? false;
    this.detached.push({ node, volume, atMs: performance.now(), isFenced });
  }
}
