/**
 * One cluster for all rows: the stock API server, controllers and scheduler, simulated machines, and the operator as a
 * process of its own under its own account. Each row has a node that will fail and a namespace; what leaves a failed node
 * goes to one of a few spare nodes, which join when everything runs, so that it runs where it is wanted.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SAFE_DETACH_ANNOTATION, UNPUBLISH_FENCE_ANNOTATION } from '../../src/api/release-view.ts';
import { realClock } from '../../src/clock.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { csiDrivers } from '../../src/kube/resources.ts';
import type { Transport } from '../../src/kube/transport.ts';
import type { FleetNode } from '../../src/world/fleet.ts';
import { Fleet } from '../../src/world/fleet.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { behaviourOf as usualBehaviourOf } from '../../src/world/kubelet/pod-behaviour.ts';
import type { PodBehaviour } from '../../src/world/kubelet/pod-worker.ts';
import { Storage } from '../../src/world/storage/storage.ts';
import type { Exposure } from '../devices/canary.ts';
import { clientFor, connectionTo } from '../support/client.ts';
import { startControlPlane, type AuditEvent, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { operatorAccount, operatorKubeconfig, operatorNamespace } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';
import { History } from './history.ts';
import { definitionsOfOthers } from './others.ts';

/** Listed by the policies of the rows; says nothing about how it detaches. */
export const listed = 'driver.longhorn.io';
export const plain = 'plain.csi.test';
export const safe = 'safe.csi.test';
/** Detaches safely, and fences when asked to. */
export const fencing = 'fencing.csi.test';
/** As `fencing`, and has trouble with detaching until a row ends it. */
export const troubled = 'troubled.csi.test';
/** As `plain`, and takes its time to detach until a row ends it. */
export const slow = 'slow.csi.test';

const yes = 'true';
const drivers: Record<string, Record<string, string>> = {
  [listed]: {},
  [plain]: {},
  [slow]: {},
  [safe]: { [SAFE_DETACH_ANNOTATION]: yes },
  [fencing]: { [SAFE_DETACH_ANNOTATION]: yes, [UNPUBLISH_FENCE_ANNOTATION]: yes },
  [troubled]: { [SAFE_DETACH_ANNOTATION]: yes, [UNPUBLISH_FENCE_ANNOTATION]: yes },
};

/** What Cluster API knows of machines, as far as a remedy needs it. */
export const machines: Resource = {
  group: 'cluster.x-k8s.io',
  version: 'v1beta1',
  plural: 'machines',
  kind: 'Machine',
  namespaced: true,
};
export const spare = 'spare';
const spareCount = 4;
/** Longer than the harness's own, for a machine that has other things to do than heartbeats. */
const graceSeconds = 16;
const heartbeatMs = 2000;
/** What must not happen is watched for so long after everything is down: attach-detach has 29 s to surprise us. */
const observeMs = 180_000;
const patienceMs = 240_000;
const lookEveryMs = 100;

export class ReleaseWorld {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly fleet: Fleet;
  readonly storage: Storage;
  readonly history: History;
  /** Of a password in the processes of the operator, while it had a machine switched off and on. */
  readonly exposures: Exposure[] = [];
  readonly #transport: Transport;
  readonly #sharedVolumes = new Set<string>();
  /** The node to which the storage has published each volume. */
  readonly #holders = new Map<string, string>();
  readonly #gatesOpen = Promise.withResolvers<void>();
  #kubeconfig = '';
  readonly #undo: (() => Promise<unknown>)[] = [];
  readonly #said: string[] = [];
  #operator: OperatorProcess | undefined;
  #observedAtMs = Infinity;
  #asked: Promise<AuditEvent[]> | undefined;

  private constructor(controlPlane: ControlPlane, rows: readonly string[]) {
    this.controlPlane = controlPlane;
    this.client = clientFor(controlPlane);
    this.history = new History(this.client);
    this.#transport = new HttpTransport(connectionTo(controlPlane), realClock);
    this.storage = new Storage({
      clock: realClock,
      isShared: (volume) => this.#sharedVolumes.has(volume),
      isSafeDetach: (driver) => drivers[driver]?.[SAFE_DETACH_ANNOTATION] === yes,
    });
    this.fleet = new Fleet({
      clock: realClock,
      random: Math.random,
      transportFor: () => this.#transport,
      // A zone of its own for each: a zone in which everything fails is still evicted while others are well.
      nodes: rows.map((row): FleetNode => ({ name: row, zone: row, labels: { row }, systemUuid: systemUuidOf(row) })),
      drivers: Object.keys(drivers),
      bootTimeMs: 1500,
      kubelet: { leaseRenewMs: heartbeatMs, statusEveryMs: heartbeatMs, reportEveryMs: 60_000, reconnectMs: 500 },
      behaviourOf,
      refuses: ({ spec }) => this.#refusal(spec.source.persistentVolumeName ?? '', spec.nodeName),
      onStorage: (change) => this.#noteStorage(change),
    });
  }

  static async start(rows: readonly string[]): Promise<ReleaseWorld> {
    const version = process.env['FENCELINE_KUBERNETES'];
    const controlPlane = await startControlPlane({
      name: 'release',
      ...(version === undefined ? {} : { version }),
      audit: true,
      controllerManager: { nodeMonitorGraceSeconds: graceSeconds },
      scheduler: { flags: ['--kube-api-qps=500', '--kube-api-burst=1000'] },
    });
    try {
      const world = new ReleaseWorld(controlPlane, rows);
      await world.#begin();
      return world;
    } catch (error) {
      await controlPlane.stop({ keepLogs: true });
      throw error;
    }
  }

  async #begin(): Promise<void> {
    await installCrds(this.controlPlane);
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitionsOfOthers });
    const applied = await this.controlPlane.kubectl(['apply', '-f', '-'], { input });
    if (applied.code !== 0) throw new Error(applied.stderr);
    const named = definitionsOfOthers.map(({ metadata }) => `crd/${metadata.name}`);
    const wait = ['wait', ...named, '--for=condition=Established', '--timeout=60s'];
    await this.controlPlane.kubectl(wait);
    this.#kubeconfig = await operatorKubeconfig(this.controlPlane);
    for (const [name, annotations] of Object.entries(drivers)) {
      await this.create(csiDrivers, { metadata: { name, annotations }, spec: { attachRequired: true } });
    }
    this.history.start();
    for (const machine of this.fleet.machines) this.storage.watch(machine);
    this.fleet.start();
    await this.until('every node to be Ready', () => this.#readyNodes() === this.fleet.kubelets.size);
  }

  /** What leaves a failed node finds a place from now on. */
  async joinSpares(): Promise<void> {
    const zone = { zone: spare, labels: { row: spare } };
    for (let number = 1; number <= spareCount; number += 1) {
      const machine = this.fleet.add({ name: `${spare}-${number}`, ...zone });
      this.storage.watch(machine);
      machine.powerOn(0);
    }
    await this.until('the spare nodes to be Ready', () => this.#readyNodes() === this.fleet.kubelets.size);
  }

  async stop({ keepLogs }: { keepLogs: boolean }): Promise<void> {
    try {
      await this.stopOperator();
    } finally {
      for (const undo of this.#undo.splice(0)) await undo();
      await this.fleet.stop();
      await this.history.stop();
      this.client.close();
      this.#transport.close();
      await this.controlPlane.stop({ keepLogs });
    }
  }

  /** For what a row has started. */
  onStop(undo: () => Promise<unknown>): void {
    this.#undo.push(undo);
  }

  /** What rows need it to be started with. */
  readonly operatorFlags: string[] = [];

  get operatorPid(): number | undefined {
    return this.#operator?.pid;
  }

  /** The log and the metrics of every operator that has ended. */
  get said(): readonly string[] {
    return this.#said;
  }

  /** As its Deployment would: asks it to end. What it said is kept with the logs of the others. */
  async stopOperator(): Promise<void> {
    const operator = this.#operator;
    if (operator === undefined) return;
    this.#operator = undefined;
    // One that is broken has none, which its exit tells better.
    const metrics = await operator.get('/metrics').then(
      ({ text }) => text,
      () => '',
    );
    assert.equal(await operator.stop(), 0);
    assert.equal(operator.stderr, '');
    const said = operator.lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    this.#said.push(said, metrics);
    await appendFile(join(this.controlPlane.logs, 'operator.log'), said);
  }

  /** Starts the operator, or another one in its place. */
  async runOperator(gates: 'on' | 'off'): Promise<void> {
    await this.stopOperator();
    const value = gates === 'on' ? 'true' : 'false';
    const operator = new OperatorProcess([
      `--kubeconfig=${this.#kubeconfig}`,
      `--leader-elect-namespace=${operatorNamespace}`,
      `--feature-gates=NonGracefulFailover=${value},ForceEviction=${value}`,
      ...this.operatorFlags,
    ]);
    this.#operator = operator;
    await operator.said('leading', ({ msg }) => msg === 'leading', { timeoutMs: 60_000 });
    if (gates === 'on') this.#gatesOpen.resolve();
  }

  get gatesOpen(): Promise<void> {
    return this.#gatesOpen.promise;
  }

  /** Everything is down: from here on what must not happen is watched for. */
  beginObservation(): void {
    this.#observedAtMs = performance.now() + observeMs;
  }

  async observed(): Promise<void> {
    await this.until('the time of observation to pass', () => performance.now() >= this.#observedAtMs, 2 * patienceMs);
  }

  /** Asks until there is an answer; nothing of it costs the API server anything. */
  until<T>(
    what: string,
    look: () => T | Promise<T>,
    timeoutMs = patienceMs,
  ): Promise<Exclude<T, false | null | undefined | 0 | ''>> {
    return waitFor(what, look, { timeoutMs, intervalMs: lookEveryMs });
  }

  async create<T extends KubeObject>(resource: Resource, object: T & Record<string, unknown>): Promise<T> {
    const made = await this.client.create<T>(resource, object);
    if (!made.ok) throw new Error(made.error.message);
    return made.value;
  }

  share(volume: string): void {
    this.#sharedVolumes.add(volume);
  }

  /** What the operator asked of the API server, in the order in which it was asked; after the observation read once. */
  asked(): Promise<AuditEvent[]> {
    if (performance.now() < this.#observedAtMs) return this.askedSoFar();
    this.#asked ??= this.askedSoFar();
    return this.#asked;
  }

  async askedSoFar(): Promise<AuditEvent[]> {
    const events = await this.controlPlane.auditEvents();
    return events
      .filter(({ user }) => user.username === operatorAccount)
      .sort((a, b) => a.requestReceivedTimestamp.localeCompare(b.requestReceivedTimestamp));
  }

  /**
   * As CSI asks of a driver: a volume for one node is not published to a second. Kubernetes relies on it: after a detach
   * that failed, attach-detach goes on and attaches elsewhere.
   */
  #refusal(volume: string, node: string): string | undefined {
    const holder = this.#holders.get(volume);
    if (holder === undefined || holder === node || this.#sharedVolumes.has(volume)) return undefined;
    return `volume ${volume} is published to ${holder}`;
  }

  #noteStorage(change: { type: 'attached' | 'detached'; attachment: VolumeAttachment }): void {
    const { nodeName, source } = change.attachment.spec;
    const volume = source.persistentVolumeName ?? '';
    if (change.type === 'attached') this.#holders.set(volume, nodeName);
    else if (this.#holders.get(volume) === nodeName) this.#holders.delete(volume);
    this.storage.attachmentChanged(change);
  }

  #readyNodes(): number {
    return this.history
      .now('nodes')
      .filter(
        ({ status, spec }) =>
          (spec?.taints ?? []).length === 0 &&
          status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      ).length;
  }
}

/** What firmware would say, and a device of the machine with it. */
export function systemUuidOf(node: string): string {
  const hex = createHash('sha256').update(node).digest('hex');
  return [0, 8, 12, 16, 20].map((start, index, starts) => hex.slice(start, starts[index + 1] ?? 32)).join('-');
}

/** How long its containers take to end can be asked for. */
function behaviourOf(pod: Pod): PodBehaviour {
  return { ...usualBehaviourOf(pod), stopMs: Number(pod.metadata.annotations?.['test/stop-ms'] ?? 300) };
}
