/** What one behaviour works with: a namespace and nodes of its own, and the words to say what it wants and sees. */
import assert from 'node:assert/strict';
import type { JsonPatchOperation, KubeObject } from '../../../src/kube/client.ts';
import type { KubeError, Result } from '../../../src/kube/errors.ts';
import type { ObjectRef, Resource } from '../../../src/kube/resources.ts';
import * as resources from '../../../src/world/controllers/resources.ts';
import type { Machine } from '../../../src/world/machines/machine.ts';
import { conditionOf, isReady, isTerminating } from '../../../src/world/objects/meta.ts';
import type { Node, Taint } from '../../../src/world/objects/nodes.ts';
import type { Pod, PodSpec } from '../../../src/world/objects/pods.ts';
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from '../../../src/world/objects/volumes.ts';
import type { ContractTimes, ContractWorld } from './world.ts';

export interface Behaviour {
  name: string;
  /** Nodes that are its alone, in a zone that is its alone. Default: it shares those of the pool. */
  nodes?: number;
  /** Touches everything: runs by itself after the others. */
  alone?: boolean;
  /** Takes minutes with the stock controllers, whose time for it cannot be scaled. */
  slow?: boolean;
  run: (scene: Scene) => Promise<void>;
}

export const poolLabel = 'pool';

export function idOf(behaviour: Behaviour): string {
  return behaviour.name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40)
    .replace(/-$/, '');
}

export class Scene {
  readonly world: ContractWorld;
  readonly namespace: string;
  readonly nodes: readonly string[];
  readonly times: ContractTimes;
  /** Where its pods have to be. */
  readonly selector: Record<string, string>;

  constructor(world: ContractWorld, behaviour: Behaviour) {
    const id = idOf(behaviour);
    this.world = world;
    this.times = world.times;
    this.namespace = id;
    this.nodes = Array.from({ length: behaviour.nodes ?? 0 }, (_, at) => `${id}-${at + 1}`);
    this.selector = { 'contract-test': behaviour.nodes === undefined ? poolLabel : id };
  }

  // Time.

  until<T>(what: string, look: () => T | Promise<T>, withinMs?: number): Promise<Exclude<T, false | undefined>> {
    return this.world.until(`${this.namespace}: ${what}`, look, withinMs);
  }

  /** The same, while `always` holds. */
  untilWhile<T>(what: string, always: () => void, look: () => T): Promise<Exclude<T, false | undefined>> {
    return this.world.until(`${this.namespace}: ${what}`, look, undefined, always);
  }

  /** Where time is exact: that it took no longer than this. */
  atMost(tookMs: number, mostMs: number): void {
    if (this.world.exact) assert.ok(tookMs <= mostMs, `${tookMs} ms`);
  }

  now(): number {
    return this.world.clock.now();
  }

  /** By the server's own record, which is in whole seconds: nobody asked for this before `notBeforeMs`. */
  deletedNotBefore(object: KubeObject, notBeforeMs: number): void {
    const begun = this.world.endings.get(object.metadata.uid ?? '')?.begun;
    const { deletionTimestamp = '', deletionGracePeriodSeconds = 0 } = begun?.metadata ?? {};
    const askedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
    notEarlier(`the deletion of ${object.metadata.name}`, askedMs, notBeforeMs);
  }

  stays(forMs: number, check: () => void | Promise<void>): Promise<void> {
    return this.world.stays(forMs, check);
  }

  // What there is.

  get<T extends KubeObject>(resource: Resource, name: string): T | undefined {
    return this.world.seen.of<T>(resource).get(resource.namespaced ? `${this.namespace}/${name}` : name);
  }

  pod(name: string): Pod | undefined {
    return this.get<Pod>(resources.pods, name);
  }

  /** Those of the namespace with this label `app`. */
  pods(app?: string): Pod[] {
    return [...this.world.seen.of<Pod>(resources.pods).values()].filter(
      ({ metadata }) =>
        metadata.namespace === this.namespace && (app === undefined || metadata.labels?.['app'] === app),
    );
  }

  /** Of its pods, for whoever has to find out why something did not happen. */
  told(): string {
    const lines = this.pods().map(({ metadata, spec, status }) => {
      const conditions = (status?.conditions ?? []).map(
        ({ type, status: is, message = '' }) => `${type}=${is} ${message}`,
      );
      const ending = metadata.deletionTimestamp === undefined ? '' : `, to be gone by ${metadata.deletionTimestamp}`;
      return `${metadata.name}: ${status?.phase} at ${spec.nodeName}${ending}: ${conditions.join('; ')}`;
    });
    return lines.join('\n');
  }

  node(name: string): Node | undefined {
    return this.get<Node>(resources.nodes, name);
  }

  readyOf(nodeName: string): string | undefined {
    return conditionOf(this.node(nodeName), 'Ready')?.status;
  }

  taintsOf(nodeName: string): string[] {
    return (this.node(nodeName)?.spec?.taints ?? []).map(({ key, effect }) => `${key.split('/')[1]}:${effect}`).sort();
  }

  attachments(volume: string): VolumeAttachment[] {
    return [...this.world.seen.of<VolumeAttachment>(resources.volumeAttachments).values()].filter(
      ({ spec }) => spec.source.persistentVolumeName === volume,
    );
  }

  machine(nodeName: string): Machine {
    return this.world.fleet.machine(nodeName);
  }

  /** A pod that runs and is ready; `not`: another one than this. */
  ready(name: string, not?: Pod): Promise<Pod> {
    return this.until(`pod ${name} to be ready`, () => {
      const pod = this.pod(name);
      if (pod === undefined || pod.metadata.uid === not?.metadata.uid || isTerminating(pod)) return undefined;
      return isReady(pod) ? pod : undefined;
    });
  }

  terminating(name: string, withinMs?: number): Promise<Pod> {
    return this.until(
      `pod ${name} to be terminating`,
      () => {
        const pod = this.pod(name);
        return pod !== undefined && isTerminating(pod) ? pod : undefined;
      },
      withinMs,
    );
  }

  unknown(nodeName: string): Promise<unknown> {
    return this.until(`node ${nodeName} to be Unknown`, () => this.readyOf(nodeName) === 'Unknown');
  }

  // What is done to it, as an administrator does.

  async create<T extends KubeObject>(
    resource: Resource,
    object: Omit<T, 'metadata'> & Partial<T>,
    name: string,
  ): Promise<T> {
    const own = resource.namespaced ? { namespace: this.namespace } : {};
    const metadata = { ...object.metadata, name, ...own };
    return valueOf(await this.world.client.create<T>(resource, { ...object, metadata } as unknown as T));
  }

  async patch(resource: Resource, name: string, operations: JsonPatchOperation[], subresource?: string): Promise<void> {
    const ref = this.#ref(resource, name);
    const found = valueOf(await this.world.client.get(ref));
    const options = subresource === undefined ? {} : { subresource };
    valueOf(await this.world.client.patch(ref, { uid: found.metadata.uid ?? '' }, operations, options));
  }

  async delete(
    resource: Resource,
    name: string,
    options: { gracePeriodSeconds?: number; propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' } = {},
  ): Promise<void> {
    const ref = this.#ref(resource, name);
    const found = valueOf(await this.world.client.get(ref));
    valueOf(await this.world.client.delete(ref, { uid: found.metadata.uid ?? '' }, options));
  }

  forceDelete(name: string): Promise<void> {
    return this.delete(resources.pods, name, { gracePeriodSeconds: 0 });
  }

  /** What the server says to an eviction; undefined: it lets the pod go. */
  async evict(name: string): Promise<KubeError | undefined> {
    const ref = this.#ref(resources.pods, name);
    const { metadata } = valueOf(await this.world.client.get(ref));
    const answer = await this.world.client.evict(ref, { uid: metadata.uid ?? '' });
    return answer.ok ? undefined : answer.error;
  }

  async taint(nodeName: string, taint: Taint): Promise<void> {
    await this.#changeTaints(nodeName, (taints) => [...taints, taint]);
  }

  async untaint(nodeName: string, key: string): Promise<void> {
    await this.#changeTaints(nodeName, (taints) => taints.filter((taint) => taint.key !== key));
  }

  async #changeTaints(nodeName: string, change: (taints: Taint[]) => Taint[]): Promise<void> {
    await this.until(`the taints of ${nodeName}`, async () => {
      const ref = { resource: resources.nodes, name: nodeName };
      const { metadata, spec } = valueOf(await this.world.client.get<Node>(ref));
      const only = { uid: metadata.uid ?? '', resourceVersion: metadata.resourceVersion ?? '' };
      const value = change(spec?.taints ?? []);
      return (await this.world.client.patch(ref, only, [{ op: 'add', path: '/spec/taints', value }])).ok;
    });
  }

  /** The node says no more that it uses anything. */
  async clearVolumesInUse(nodeName: string): Promise<void> {
    await this.patch(resources.nodes, nodeName, [{ op: 'add', path: '/status/volumesInUse', value: [] }], 'status');
  }

  // What is made.

  podSpec(spec: Partial<PodSpec> = {}): PodSpec {
    return {
      terminationGracePeriodSeconds: 2,
      nodeSelector: this.selector,
      containers: [{ name: 'main', image: 'example/main:1' }],
      ...spec,
    };
  }

  createPod(name: string, spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): Promise<Pod> {
    return this.create<Pod>(resources.pods, { spec: this.podSpec(spec), metadata: { name, labels } }, name);
  }

  /** A volume of its own driver, for one claim where one is named. */
  createVolume(
    name: string,
    options: { claim?: string; spec?: Partial<PersistentVolume['spec']> } = {},
  ): Promise<PersistentVolume> {
    const reserved =
      options.claim === undefined ? {} : { claimRef: { namespace: this.namespace, name: options.claim } };
    const spec = {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: this.namespace,
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver: 'csi.contract.test', volumeHandle: `${this.namespace}-${name}` },
      ...reserved,
      ...options.spec,
    };
    return this.create<PersistentVolume>(resources.persistentVolumes, { spec }, `${this.namespace}-${name}`);
  }

  claimSpec(
    spec: Partial<NonNullable<PersistentVolumeClaim['spec']>> = {},
  ): NonNullable<PersistentVolumeClaim['spec']> {
    const requests = { storage: '1Gi' };
    return { accessModes: ['ReadWriteOnce'], storageClassName: this.namespace, resources: { requests }, ...spec };
  }

  createClaim(
    name: string,
    spec: Partial<NonNullable<PersistentVolumeClaim['spec']>> = {},
  ): Promise<PersistentVolumeClaim> {
    return this.create<PersistentVolumeClaim>(resources.persistentVolumeClaims, { spec: this.claimSpec(spec) }, name);
  }

  claim(name: string): PersistentVolumeClaim | undefined {
    return this.get<PersistentVolumeClaim>(resources.persistentVolumeClaims, name);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.get<PersistentVolume>(resources.persistentVolumes, `${this.namespace}-${name}`);
  }

  #ref(resource: Resource, name: string): ObjectRef {
    return resource.namespaced ? { resource, namespace: this.namespace, name } : { resource, name };
  }
}

export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

/** `atMs` was written down in whole seconds, cut off. */
export function notEarlier(what: string, atMs: number, notBeforeMs: number): void {
  assert.ok(atMs + 1000 > notBeforeMs, `${what} is ${notBeforeMs - atMs} ms early`);
}

export function same(actual: unknown, expected: unknown): void {
  assert.deepEqual(actual, expected);
}
