/**
 * Watches what all nodes share: policies, records, fence configurations, drivers and attachments, each projected to a few fields. What belongs
 * to one node in trouble is watched only while it is (see node-pods.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import { fencesSilence } from '../api/facts.ts';
import type { NamedData, WrittenDevice } from '../api/fence-config.ts';
import { isFenceConfig, nodeFenceName } from '../api/fence-names.ts';
import type { SeenPause, WrittenPause } from '../api/seen-pause.ts';
import { PAUSE_NAME, writtenPause } from '../api/seen-pause.ts';
import { policyFacts, templatesOf } from '../api/policy-facts.ts';
import type { AttachmentFacts, DriverFacts, PolicyFacts, PolicySummary } from '../api/release-view.ts';
import type { StormSign } from '../api/storm-sign.ts';
import type { WrittenPolicy } from '../api/written.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { ListWatch } from '../kube/list-watch.ts';
import type { Resource } from '../kube/resources.ts';
import {
  configMaps,
  csiDrivers,
  fenceDevices,
  nodeFences,
  remedyPolicies,
  volumeAttachments,
} from '../kube/resources.ts';
import type { Change } from '../kube/view.ts';
import type { AnyWatch, WatchState } from './watch-state.ts';
import { stateOf } from './watch-state.ts';
import { projectDevice } from './project-device.ts';
import type { FenceSummary } from './project-fence.ts';
import { projectFence } from './project-fence.ts';
import { projectAttachment, projectDriver } from './project-release.ts';

export type SharedName =
  | 'remedypolicies'
  | 'nodefences'
  | 'configmaps'
  | 'fencedevices'
  | 'csidrivers'
  | 'volumeattachments';

export interface ClusterViewOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  /** Where the configuration of fences is. */
  namespace: string;
  /** Something about this node changed; `version`: its NodeFence is that one now. */
  onNode: (name: string, version?: string) => void;
  /** Something changed that concerns every node. */
  onAll: () => void;
  /** A FenceDevice, as it is stored now. */
  onDevice?: (object: KubeObject, type: Change<unknown>['type']) => void;
  /** A fence of a node was begun, or has ended. */
  onFencing?: () => void;
  onProblem: (watch: SharedName, error: KubeError) => void;
}

export class ClusterView {
  readonly #policies: ListWatch<WatchedPolicy>;
  readonly #fences: ListWatch<FenceSummary>;
  readonly #configs: ListWatch<WatchedConfig>;
  readonly #devices: ListWatch<KubeObject>;
  readonly #drivers: ListWatch<DriverFacts>;
  readonly #attachments: ListWatch<AttachmentFacts>;
  readonly #byNode = new Index();
  readonly #byVolume = new Index();
  readonly #options: ClusterViewOptions;
  #summary: PolicySummary | undefined;

  constructor(options: ClusterViewOptions) {
    this.#options = options;
    this.#policies = this.#watch(remedyPolicies, watchedPolicy, (change) => this.#policyChanged(change));
    this.#drivers = this.#watch(csiDrivers, projectDriver, () => options.onAll());
    this.#fences = this.#watch(nodeFences, projectFence, (change) => this.#fenceChanged(change));
    this.#configs = this.#watch(configMaps, projectConfig, () => options.onAll(), options.namespace);
    this.#devices = this.#watch(fenceDevices, (object) => object, this.#deviceChanged, options.namespace);
    this.#attachments = this.#watch(volumeAttachments, projectAttachment, (change) => this.#attached(change));
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.run(signal)));
  }

  get synced(): boolean {
    return this.#all.every(({ synced }) => synced);
  }

  get watches(): WatchState[] {
    return [
      stateOf('remedypolicies', this.#policies),
      stateOf('nodefences', this.#fences),
      stateOf('configmaps', this.#configs),
      stateOf('fencedevices', this.#devices),
      stateOf('csidrivers', this.#drivers),
      stateOf('volumeattachments', this.#attachments),
    ];
  }

  /** Everything that had happened this long ago is known; Infinity before the first lists. */
  get ageMs(): number {
    return Math.max(...this.#all.map(({ ageMs }) => ageMs));
  }

  get policies(): PolicyFacts[] {
    return [...this.#policies.entries.values()].flatMap(({ value }) => value.facts ?? []);
  }

  /** What all policies together watch for; made when a policy has changed. */
  get policySummary(): PolicySummary {
    this.#summary ??= summaryOfPolicies(this.policies);
    return this.#summary;
  }

  /** From which the Job of a remedy is made; undefined: the policy was edited, or is gone. */
  templateOf(hash: string): object | undefined {
    for (const { value } of this.#policies.entries.values()) {
      const template = value.templates.get(hash);
      if (template !== undefined) return template;
    }
    return undefined;
  }

  /** Every ConfigMap that is about fences. */
  get fenceConfigs(): NamedData[] {
    return [...this.#configs.entries.values()].flatMap(({ value }) => value.fence ?? []);
  }

  /** Whether somebody has paused everything. */
  get pause(): SeenPause {
    const { namespace } = this.#options;
    const written = this.#configs.entries.get(`${namespace}/${PAUSE_NAME}`)?.value.pause;
    return { namespace, ...(written === undefined ? {} : { written }) };
  }

  /** FenceDevices that people have written. */
  get writtenDevices(): WrittenDevice[] {
    return [...this.#devices.entries.values()].flatMap(({ value }) => projectDevice(value) ?? []);
  }

  get drivers(): Map<string, DriverFacts> {
    return new Map([...this.#drivers.entries.values()].map(({ value }) => [value.name, value]));
  }

  hasOpenFence(node: string): boolean {
    return this.#fences.entries.get(nodeFenceName(node))?.value.open ?? false;
  }

  /** By its record something was done to it, or let go, that has not ended. */
  isBegunWith(node: string): boolean {
    const known = this.#fences.entries.get(nodeFenceName(node))?.value;
    if (known === undefined) return false;
    const { fenced, fencing, remedying, released } = known;
    return fenced || fencing || remedying || (known.open && released.length > 0);
  }

  problemsOf(node: string): FenceSummary['problems'] {
    return this.#fences.entries.get(nodeFenceName(node))?.value.problems ?? 'none';
  }

  /** Nodes with a record that is open, or an alarm that will not stand for ever, whether there is a Node object or not. */
  get fencedNodes(): string[] {
    return [...this.#fences.entries.values()].flatMap(({ value: { open, problems, node } }) =>
      open || problems === 'alarmed' ? [node] : [],
    );
  }

  /** Nodes under fence, those whose devices were told, and those that have a slot: for a fence, or for another remedy that cannot be taken back. */
  nodesWith(what: 'fenced' | 'told' | 'fencing' | 'remedying'): string[] {
    return [...this.#fences.entries.values()].flatMap(({ value }) => (value[what] ? [value.node] : []));
  }

  /** Whose last fence has failed. */
  get failedNodes(): string[] {
    return [...this.#fences.entries.values()].flatMap(({ value: { phase, node } }) =>
      phase === 'failed' ? [node] : [],
    );
  }

  /** When the present steps of the fences of other nodes began. */
  fencedSince(node: string): number[] {
    return [...this.#fences.entries.values()].flatMap(({ value: of }) => (of.node === node ? [] : (of.stepMs ?? [])));
  }

  /** The storms that other nodes have on record. */
  storms(node: string): StormSign[] {
    return [...this.#fences.entries.values()].flatMap(({ value }) => (value.node === node ? [] : (value.storm ?? [])));
  }

  /** By node: how many pods were let go when. */
  get released(): ReadonlyMap<string, FenceSummary['released']> {
    const all = [...this.#fences.entries.values()];
    return new Map(all.flatMap(({ value }) => (value.released.length === 0 ? [] : [[value.node, value.released]])));
  }

  /** What all of them say. */
  get records(): Pick<FenceSummary, 'phase' | 'alarm'>[] {
    return [...this.#fences.entries.values()].map(({ value }) => value);
  }

  attachmentsOf(node: string): AttachmentFacts[] {
    return this.#pick(this.#byNode.of(node));
  }

  attachmentsOfVolume(volume: string): AttachmentFacts[] {
    return this.#pick(this.#byVolume.of(volume));
  }

  get #all(): AnyWatch[] {
    return [this.#policies, this.#fences, this.#configs, this.#devices, this.#drivers, this.#attachments];
  }

  readonly #deviceChanged = (change: Change<KubeObject>): void => {
    const { type, entry } = change;
    this.#options.onDevice?.(entry.value, type);
    const before = type === 'updated' ? projectDevice(change.previous.value) : undefined;
    // What we write into a status is no news.
    if (!isDeepStrictEqual(before, type === 'deleted' ? undefined : projectDevice(entry.value))) this.#options.onAll();
    else if (type === 'deleted' && projectDevice(entry.value) !== undefined) this.#options.onAll();
  };

  #pick(names: Iterable<string>): AttachmentFacts[] {
    return [...names].flatMap((name) => this.#attachments.entries.get(name)?.value ?? []);
  }

  #fenceChanged(change: Change<FenceSummary>): void {
    const { node, fenced } = change.entry.value;
    const was = change.type === 'updated' ? change.previous.value.fenced : change.type === 'deleted' && fenced;
    if ((fenced && change.type !== 'deleted') !== was) this.#options.onFencing?.();
    if (change.type === 'deleted') this.#options.onNode(node);
    else this.#options.onNode(node, change.entry.resourceVersion);
  }

  #policyChanged(change: Change<WatchedPolicy>): void {
    const { type, entry } = change;
    const { facts } = entry.value;
    // What we write into its status is no news: it would have every node looked at again.
    if (type === 'updated' && facts !== undefined && isDeepStrictEqual(change.previous.value.facts, facts)) return;
    this.#summary = undefined;
    if (type !== 'deleted' && facts === undefined) {
      const message = `RemedyPolicy ${entry.key} lacks fields that its CRD fills in, and is not in force: install the CRDs of this version`;
      this.#options.onProblem('remedypolicies', { kind: 'malformed', message, mayHaveHappened: false });
    }
    this.#options.onAll();
  }

  #attached(change: Change<AttachmentFacts>): void {
    const { key, value } = change.entry;
    if (change.type === 'updated') {
      this.#byNode.remove(change.previous.value.node, key);
      this.#byVolume.remove(change.previous.value.volume, key);
    }
    if (change.type === 'deleted') {
      this.#byNode.remove(value.node, key);
      this.#byVolume.remove(value.volume, key);
    } else {
      this.#byNode.add(value.node, key);
      this.#byVolume.add(value.volume, key);
    }
    this.#options.onNode(value.node);
  }

  #watch<T>(
    resource: Resource,
    project: (object: KubeObject) => T,
    onChange: (change: Change<T>) => void,
    namespace?: string,
  ): ListWatch<T> {
    const { client, clock, random, onProblem, onAll } = this.#options;
    return new ListWatch<T>({
      client,
      clock,
      random,
      resource,
      ...(namespace === undefined ? {} : { namespace }),
      project,
      onChange,
      onSync: onAll,
      onProblem: (error) => onProblem(resource.plural as SharedName, error),
    });
  }
}

interface WatchedPolicy {
  /** Absent: it lacks what the CRD fills in. */
  facts?: PolicyFacts;
  templates: ReadonlyMap<string, object>;
}

function watchedPolicy(object: KubeObject): WatchedPolicy {
  const facts = policyFacts(object);
  const { spec = {} } = object as KubeObject & { spec?: WrittenPolicy };
  return { templates: templatesOf(spec), ...(facts === undefined ? {} : { facts }) };
}

function summaryOfPolicies(policies: readonly PolicyFacts[]): PolicySummary {
  return {
    count: policies.length,
    thresholds: policies.flatMap(({ remedy }) => remedy?.thresholds ?? []),
    hasAlarms: policies.some(({ alarms }) => alarms.length > 0),
    fencesSilence: policies.some(({ remedy }) => remedy !== undefined && fencesSilence(remedy)),
    stamp: policies.map(({ uid, generation }) => `${uid} ${generation}`).join(),
  };
}

/** Names by something that several share. */
class Index {
  readonly #names = new Map<string, Set<string>>();

  of(key: string): Iterable<string> {
    return this.#names.get(key) ?? [];
  }

  add(key: string, name: string): void {
    const names = this.#names.get(key);
    if (names === undefined) this.#names.set(key, new Set([name]));
    else names.add(name);
  }

  remove(key: string, name: string): void {
    const names = this.#names.get(key);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(key);
  }
}

/** What is about something else is not kept. */
interface WatchedConfig {
  fence?: NamedData;
  pause?: WrittenPause;
}

function projectConfig(object: KubeObject): WatchedConfig {
  const { metadata, data } = object as KubeObject & { data?: Record<string, string> };
  const { name } = metadata;
  if (name === PAUSE_NAME) return { pause: writtenPause({ metadata, data }) };
  return isFenceConfig(name) ? { fence: { name, data: data ?? {} } } : {};
}
