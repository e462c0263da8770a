/**
 * A simulated Longhorn: replicas of volumes on the disks of the nodes, served by an instance manager on each, and a
 * manager that rebuilds and evicts as the volume controller of the real one does. Without the setting `node-drain-policy` it
 * keeps no disruption budgets: with nobody else to guard them, a drain takes the last replica as it takes any pod.
 */
import type { Clock } from '../../clock.ts';
import type { KubeObject } from '../../kube/client.ts';
import { KubeClient } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { Transport } from '../../kube/transport.ts';
import type { Api } from '../controllers/api.ts';
import { ControllerHost } from '../controllers/host.ts';
import type { Informer } from '../controllers/informer.ts';
import { nodes, persistentVolumes, podDisruptionBudgets, pods, volumeAttachments } from '../controllers/resources.ts';
import type { WorkQueue } from '../controllers/work-queue.ts';
import type { Process } from '../machines/machine.ts';
import { uuid } from '../machines/machine.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import type { PersistentVolume, VolumeAttachment } from '../objects/volumes.ts';
import type { PodDisruptionBudget } from '../objects/workloads.ts';
import { followAttachments } from './attachments.ts';
import { install } from './install.ts';
import * as o from './objects.ts';
import type { LonghornSpec, StorageMachine } from './spec.ts';
import type { Sight } from './own-guard.ts';
import { drainSetting, keepOwnBudget, sendsAway } from './own-guard.ts';
import { engineName, engineWanted, publish, replicaWanted, volumeWanted } from './publish.ts';
import { Rebuilds } from './rebuilds.ts';
import type { NodeObjects } from './storage-nodes.ts';
import { isCordoned, keepInstanceManager, placeFor, storageNodeWanted, userWantsAway } from './storage-nodes.ts';
import type { StorageReport, TrueReplica, TrueVolume } from './truth.ts';
import { Truth } from './truth.ts';
import type { Intent, Surroundings } from './volume-controller.ts';
import { nextIntent, recheckMs } from './volume-controller.ts';

export interface LonghornOptions {
  clock: Clock;
  random: () => number;
  transportFor: (user: string) => Transport;
  machines: readonly StorageMachine[];
  spec: LonghornSpec;
  /** Something looks different now. */
  onChange?: () => void;
  onProblem?: (who: string, error: KubeError) => void;
}

const user = 'system:serviceaccount:longhorn-system:longhorn-manager';
const gib = 2 ** 30;
const mib = 2 ** 20;
/** `replica-replenishment-wait-interval` */
const replenishWaitMs = 600_000;
const managerAgainMs = 1000;
/** A volume has some copies, and each of them has something done to it once or twice at a time. */
const mostIntents = 1000;
const firstStartMs = 20_000;

export class Longhorn {
  readonly truth: Truth;
  readonly #options: LonghornOptions;
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #queue: WorkQueue;
  readonly #rebuilds: Rebuilds;
  readonly #machines: ReadonlyMap<string, StorageMachine>;
  readonly #kubeNodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #storageNodes: Informer<o.StorageNode>;
  readonly #replicas: Informer<o.ReplicaObject>;
  readonly #settings: Informer<o.SettingObject>;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #persistent: Informer<PersistentVolume>;
  readonly #others: Record<'volumes' | 'engines' | 'instanceManagers', Informer<KubeObject>>;
  /** Replicas that a user’s wish for their node or disk has asked to leave. */
  readonly #askedByUser = new Set<string>();
  readonly #managerSeenAtMs = new Map<string, number>();
  #started = false;
  #startedAtMs: number | undefined;
  #isUsed = false;
  #cancelRecheck: () => void = () => {};

  constructor(options: LonghornOptions) {
    this.#options = options;
    const { clock, random, transportFor, machines, spec, onProblem } = options;
    this.#host = new ControllerHost(user, {
      clock,
      random,
      transportFor,
      ...(onProblem === undefined ? {} : { onProblem }),
    });
    this.#api = this.#host.apiFor(user);
    this.#queue = this.#host.queue('longhorn', () => this.#publish(), { workers: 1 });
    this.#rebuilds = new Rebuilds(clock, spec.rebuildMiBps * mib);
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]));
    this.truth = new Truth(clock);
    const { informers } = this.#host;
    this.#kubeNodes = informers.of(nodes);
    this.#pods = informers.of(pods);
    this.#storageNodes = informers.of(o.storageNodes);
    this.#replicas = informers.of(o.replicas);
    this.#settings = informers.of(o.settings);
    this.#budgets = informers.of(podDisruptionBudgets);
    this.#attachments = informers.of(volumeAttachments);
    this.#persistent = informers.of(persistentVolumes);
    this.#others = {
      volumes: informers.of(o.volumes),
      engines: informers.of(o.engines),
      instanceManagers: informers.of(o.instanceManagers),
    };
    this.#seed(spec);
    this.#listen();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { transportFor, clock, spec, onProblem } = this.#options;
    const client = new KubeClient({ transport: transportFor(user), clock, userAgent: user, fieldManager: 'helm' });
    const { softAntiAffinity } = spec;
    await install(client, { clock, softAntiAffinity }, (error) => onProblem?.('longhorn', error), signal);
    if (!signal.aborted) await this.#host.run(signal);
    this.#started = false;
    this.#rebuilds.stop();
    this.#cancelRecheck();
  }

  report(volume: string): StorageReport | undefined {
    return this.truth.report(volume);
  }

  reports(): StorageReport[] {
    return [...this.truth.volumes.keys()].flatMap((volume) => this.truth.report(volume) ?? []);
  }

  #seed({ volumes }: LonghornSpec): void {
    for (const { name, sizeGiB, replicas, attachedTo } of volumes) {
      const volume = this.truth.addVolume({
        name,
        sizeBytes: sizeGiB * gib,
        wanted: replicas.length,
        ...(attachedTo === undefined ? {} : { attachedTo }),
      });
      for (const node of replicas) this.truth.addReplica(volume, this.#replicaName(name), node, true);
    }
  }

  #listen(): void {
    const changed = (): void => this.#changed();
    this.#kubeNodes.on(({ object, previous }) => {
      if (whatMatters(object) !== whatMatters(previous)) changed();
    });
    this.#pods.on(({ key }) => {
      if (key.startsWith(`${o.longhornNamespace}/`)) this.#queue.add('all');
    });
    this.#storageNodes.on(changed);
    this.#settings.on(changed);
    this.#budgets.on(({ key }) => {
      if (key.startsWith(`${o.longhornNamespace}/`)) this.#queue.add('all');
    });
    this.#attachments.on(changed);
    this.#persistent.on(changed);
    this.#replicas.on(({ object, previous }) => {
      if (object === undefined) this.#deletedByHand(previous);
      changed();
    });
    this.#host.atStart(() => {
      this.#started = true;
      changed();
    });
    for (const machine of this.#machines.values()) {
      machine.on((event) => {
        const isOther = 'process' in event && !isInstanceManager(event.process);
        if (!isOther) this.#changed();
      });
    }
  }

  /** What really happens comes first and takes no time; what the API says of it follows. */
  #changed(): void {
    if (!this.#started) return;
    this.#queue.add('all');
    for (const volume of this.truth.volumes.values()) this.truth.touch(volume);
    followAttachments(this.truth.volumes.values(), this.#persistent, this.#attachments);
    if (!this.#inUse()) return;
    const around = this.#surroundings();
    for (const volume of this.truth.volumes.values()) {
      let count = 0;
      for (let next = nextIntent(volume, around); next !== undefined; next = nextIntent(volume, around)) {
        count += 1;
        if (count > mostIntents) throw new Error(`volume ${volume.name} goes round in circles: ${next.do}`);
        this.#carryOut(volume, next);
      }
    }
    this.#options.onChange?.();
  }

  /** Volumes wait for the first start of the instance managers; one that is missing for good is not waited for. */
  #inUse(): boolean {
    const { clock } = this.#options;
    this.#startedAtMs ??= clock.monotonic();
    const waitedMs = clock.monotonic() - this.#startedAtMs;
    this.#isUsed ||= waitedMs >= firstStartMs || [...this.#machines.keys()].every((node) => this.#serves(node));
    return this.#isUsed;
  }

  #surroundings(): Surroundings {
    const { spec, clock } = this.#options;
    const place = {
      truth: this.truth,
      nodes: [...this.#machines.keys()],
      objectsOf: (node: string) => this.#nodeObjects(node),
      serves: (node: string) => this.#serves(node),
      diskBytes: spec.diskGiB * gib,
      softAntiAffinity: spec.softAntiAffinity,
    };
    return {
      nowMs: clock.now(),
      serves: place.serves,
      isCordoned: (node) => isCordoned(this.#nodeObjects(node)),
      isAskedToLeave: ({ name }) => this.#objectOf(name)?.spec?.evictionRequested === true,
      placeFor: (volume) => placeFor(volume, place),
      replenishWaitMs,
    };
  }

  #carryOut(volume: TrueVolume, intent: Intent): void {
    const { truth } = this;
    truth.touch(volume);
    switch (intent.do) {
      case 'use':
        volume.engineOn = intent.engineOn;
        if (volume.attachedTo !== undefined && volume.isFollowed !== true) volume.attachedTo = intent.engineOn;
        for (const replica of volume.replicas.values()) {
          if (replica.state === 'healthy' && this.#serves(replica.node)) replica.running = true;
        }
        return;
      case 'rest':
        delete volume.engineOn;
        for (const replica of volume.replicas.values()) replica.running = false;
        return;
      case 'fail':
        return truth.fail(intent.replica);
      case 'salvage':
        return truth.heal(intent.replica);
      case 'delete':
        return truth.remove(intent.replica);
      case 'repair':
        // From now on it is written over: if that fails, there is nothing left to salvage in it.
        intent.replica.state = 'repairing';
        delete intent.replica.healthyAtMs;
        return this.#rebuild(volume, intent.replica);
      case 'build':
        return this.#rebuild(volume, truth.addReplica(volume, this.#replicaName(volume.name), intent.node, false));
    }
  }

  #rebuild(volume: TrueVolume, replica: TrueReplica): void {
    const source = [...volume.replicas.values()].find(({ state, running }) => state === 'healthy' && running);
    if (source === undefined) throw new Error(`${volume.name}: a rebuild without a source`);
    replica.running = true;
    const onDone = (): void => {
      this.truth.complete(volume, replica);
      this.#changed();
    };
    const rebuild = { source: source.node, target: replica.node, onDone };
    replica.cancelRebuild = this.#rebuilds.start(rebuild, volume.sizeBytes);
  }

  async #publish(): Promise<number | undefined> {
    await this.#carryWishes();
    for (const name of this.#machines.keys()) await this.#publishNode(name);
    for (const volume of this.truth.volumes.values()) await this.#publishVolume(volume);
    for (const object of this.#replicas.values()) {
      const volume = this.truth.volumes.get(object.spec?.volumeName ?? '');
      if (volume?.replicas.has(object.metadata.name) === false) await this.#api.delete(o.replicas, object);
    }
    const around = this.#surroundings();
    const waitMs = Math.min(...[...this.truth.volumes.values()].map((volume) => recheckMs(volume, around)));
    this.#cancelRecheck();
    if (waitMs < Infinity) this.#cancelRecheck = this.#options.clock.after(waitMs, () => this.#changed());
    return undefined;
  }

  /** What a user wants of a node or a disk becomes a request to each of its replicas, and ends as one. */
  async #carryWishes(): Promise<void> {
    const sight = this.#sight();
    for (const object of this.#replicas.values()) {
      const { name } = object.metadata;
      const node = object.spec?.nodeID ?? '';
      // Where it has a policy of its own, requests of others are written over: by its manager there, if that is alive.
      if (sight !== undefined && this.#machines.get(node)?.alive === false) continue;
      const wanted = userWantsAway(this.#nodeObjects(node)) || (sight !== undefined && sendsAway(object, sight));
      const known = object.spec?.evictionRequested === true;
      const isNews = wanted ? !known : known && (sight !== undefined || this.#askedByUser.has(name));
      if (wanted) this.#askedByUser.add(name);
      else this.#askedByUser.delete(name);
      const operations = [{ op: 'add' as const, path: '/spec/evictionRequested', value: wanted }];
      if (isNews && object.spec !== undefined) await this.#api.patch(o.replicas, object, operations);
    }
  }

  async #publishNode(name: string): Promise<void> {
    const objects = this.#nodeObjects(name);
    const key = `${o.longhornNamespace}/${o.instanceManagerName(name)}`;
    const sight = this.#sight();
    const wanted = storageNodeWanted(objects, name, this.truth, this.#options.spec.diskGiB * gib);
    const evicting = [...this.#replicas.values()].some(
      ({ spec }) => spec?.nodeID === name && spec.evictionRequested === true && !userWantsAway(objects),
    );
    const status = { ...wanted.status, ...(sight !== undefined && { autoEvicting: evicting }) };
    await publish(this.#api, o.storageNodes, { name, known: objects.storage }, { ...wanted, status });
    const known = this.#others.instanceManagers.get(key);
    const instanceManager = { name: o.instanceManagerName(name), known };
    await publish(this.#api, o.instanceManagers, instanceManager, {
      labels: o.instanceManagerLabels(name),
      spec: o.instanceManagerSpec(name) ?? {},
      status: { currentState: this.#serves(name) ? 'running' : 'stopped' },
    });
    if (sight !== undefined) await keepOwnBudget(this.#api, name, sight);
    if (this.#mayMakeManager(name, this.#pods.get(key) !== undefined)) {
      await keepInstanceManager(this.#api, objects, this.#others.instanceManagers.get(key), this.#pods);
    }
  }

  /** What it goes by where it guards drains by itself; undefined: it has no such setting. */
  #sight(): Sight | undefined {
    const policy = this.#settings.get(`${o.longhornNamespace}/${drainSetting}`)?.value;
    if (policy === undefined) return undefined;
    return {
      policy,
      replicas: () => this.#replicas.values(),
      isCordoned: (node) => isCordoned(this.#nodeObjects(node)),
      isServed: (node) => this.#serves(node),
      hasEngine: (node) => [...this.truth.volumes.values()].some(({ engineOn }) => engineOn === node),
      budgetOf: (node) => this.#budgets.get(`${o.longhornNamespace}/${o.instanceManagerName(node)}`),
    };
  }

  /** One that is driven away as soon as it is made is made again a second later, and not without end in one moment. */
  #mayMakeManager(node: string, isThere: boolean): boolean {
    const { clock } = this.#options;
    const nowMs = clock.monotonic();
    if (isThere) {
      this.#managerSeenAtMs.set(node, nowMs);
      return true;
    }
    const waitMs = (this.#managerSeenAtMs.get(node) ?? -Infinity) + managerAgainMs - nowMs;
    if (waitMs > 0) clock.after(waitMs, () => this.#queue.add('all'));
    return waitMs <= 0;
  }

  async #publishVolume(volume: TrueVolume): Promise<void> {
    const { volumes, engines } = this.#others;
    const key = (name: string): string => `${o.longhornNamespace}/${name}`;
    for (const replica of volume.replicas.values()) {
      const known = this.#objectOf(replica.name);
      await publish(this.#api, o.replicas, { name: replica.name, known }, replicaWanted(volume, replica));
    }
    const { name } = volume;
    const engine = engineName(name);
    await publish(this.#api, o.engines, { name: engine, known: engines.get(key(engine)) }, engineWanted(volume));
    await publish(this.#api, o.volumes, { name, known: volumes.get(key(name)) }, volumeWanted(volume));
  }

  /** Somebody has deleted the object of a copy, and with it the copy. */
  #deletedByHand({ metadata, spec }: o.ReplicaObject): void {
    const replica = this.truth.volumes.get(spec?.volumeName ?? '')?.replicas.get(metadata.name);
    if (replica !== undefined) this.truth.remove(replica);
  }

  #nodeObjects(node: string): NodeObjects {
    return { kube: this.#kubeNodes.get(node), storage: this.#storageNodes.get(`${o.longhornNamespace}/${node}`) };
  }

  #objectOf(replica: string): o.ReplicaObject | undefined {
    return this.#replicas.get(`${o.longhornNamespace}/${replica}`);
  }

  #serves(node: string): boolean {
    const machine = this.#machines.get(node);
    if (machine === undefined || !machine.alive) return false;
    return [...machine.processes.values()].some(isInstanceManager);
  }

  #replicaName(volume: string): string {
    return `${volume}-r-${uuid(this.#options.random).slice(0, 8)}`;
  }
}

function isInstanceManager({ namespace, podName }: Process): boolean {
  return namespace === o.longhornNamespace && podName.startsWith('instance-manager-');
}

/** What of a Node matters here; the rest are heartbeats. */
function whatMatters(node: Node | undefined): string {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  return `${node?.metadata.uid} ${node?.spec?.unschedulable} ${ready}`;
}
