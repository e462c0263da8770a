/** An embedded API server with a node in trouble, for tests of what is done to it. */
import assert from 'node:assert/strict';
import type { LongActsOptions } from '../../src/act/long-acts.ts';
import { LongActs } from '../../src/act/long-acts.ts';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import type { LiveNode, PodFacts } from '../../src/api/release-view.ts';
import type { Grounds } from '../../src/api/steps.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { ObjectRef, Resource } from '../../src/kube/resources.ts';
import {
  csiDrivers,
  leases,
  nodeFences,
  nodes,
  pods,
  remedyPolicies,
  volumeAttachments,
} from '../../src/kube/resources.ts';
import { liveNode, projectPod } from '../../src/observe/project-release.ts';
import type { AuditRecord } from '../../src/world/api-server/server.ts';
import { ApiServer } from '../../src/world/api-server/server.ts';
import { doubtByReady, heardBefore } from './doubt.ts';
import { manualClock } from './manual-clock.ts';
import { driver, entry, quarantine } from './release-case.ts';

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

export const nodeRef: ObjectRef = { resource: nodes, name: 'node-1' };
export const leaseRef: ObjectRef = { resource: leases, namespace: 'kube-node-lease', name: 'node-1' };
export const fenceRef: ObjectRef = { resource: nodeFences, name: 'node-fence-node-1' };
export const policyRef: ObjectRef = { resource: remedyPolicies, name: 'release' };
export const driverRef: ObjectRef = { resource: csiDrivers, name: driver };
export const attachmentRef: ObjectRef = { resource: volumeAttachments, name: 'csi-0' };
export const podRef: ObjectRef = { resource: pods, namespace: 'default', name: 'web-0' };
export const renewTime = '2026-01-01T00:00:00.000000Z';

type Json = Record<string, unknown>;

/** What the grounds of every basis have in common. */
export type CommonGrounds = Omit<Extract<Grounds, { basis: 'Remedy' }>, 'basis'>;

export class ActCluster {
  readonly clock = manualClock();
  readonly server = new ApiServer({ clock: this.clock, random: generator() });
  readonly client = new KubeClient({
    transport: this.server.transport('me'),
    clock: this.clock,
    userAgent: 'test',
    fieldManager: 'fenceline',
  });
  readonly writes: AuditRecord[] = [];

  /** The node is down and in quarantine, its pod terminating, its record written in epoch 3. */
  static async create(): Promise<ActCluster> {
    const cluster = new ActCluster();
    for (const definition of customResourceDefinitions()) await cluster.#make(definitions, definition);
    await cluster.#makeNode();
    const spec = { holderIdentity: 'node-1', renewTime };
    await cluster.#make(leases, { metadata: { name: 'node-1', namespace: 'kube-node-lease' }, spec });
    await cluster.#make(nodeFences, { metadata: { name: fenceRef.name }, spec: { node: 'node-1' } });
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me' });
    await cluster.#make(remedyPolicies, { metadata: { name: 'release' }, spec: { allNodes: true } });
    await cluster.#makeDriver({ attachRequired: true });
    await cluster.#make(volumeAttachments, {
      metadata: { name: 'csi-0' },
      spec: { attacher: driver, nodeName: 'node-1', source: { persistentVolumeName: 'pv-0' } },
    });
    await cluster.addPod('web-0');
    cluster.server.onAudit((record) => cluster.writes.push(record));
    return cluster;
  }

  /** Somebody deletes the Node and registers another machine under its name; its writes are not among `writes`. */
  async replaceNode(): Promise<void> {
    await this.remove(nodeRef);
    await this.#makeNode();
    this.writes.length = 0;
  }

  /** The node registers again. */
  async makeNodeAgain(): Promise<void> {
    await this.#makeNode();
  }

  /** Whether it attaches cannot be edited: somebody installs it anew. */
  async replaceDriver(spec: object): Promise<void> {
    await this.remove({ resource: csiDrivers, name: driver });
    await this.#makeDriver(spec);
  }

  /** Somebody writes it. */
  make(resource: Resource, object: Json): Promise<void> {
    return this.#make(resource, object);
  }

  async #makeDriver(spec: object): Promise<void> {
    const annotations = { 'fenceline.dev/safe-detach': 'true' };
    await this.#make(csiDrivers, { metadata: { name: driver, annotations }, spec });
  }

  async #makeNode(): Promise<void> {
    await this.#make(nodes, { metadata: { name: 'node-1' }, spec: { taints: [quarantine] } });
    await this.patchStatus(nodeRef, {
      conditions: [{ type: 'Ready', status: 'Unknown' }],
      nodeInfo: { bootID: 'boot-1' },
      volumesInUse: [entry, 'kubernetes.io/csi/other^x'],
    });
  }

  async addPod(name: string, metadata: Json = {}): Promise<void> {
    const spec = { nodeName: 'node-1', containers: [{ name: 'main', image: 'x' }] };
    await this.#make(pods, { metadata: { name, namespace: 'default', ...metadata }, spec });
    const conditions = ['Ready', 'DisruptionTarget'].map((type) => ({ type, status: 'True', reason: 'Before' }));
    await this.patchStatus({ ...podRef, name }, { phase: 'Running', conditions });
  }

  async read<T extends KubeObject>(ref: ObjectRef): Promise<T> {
    const read = await this.client.get<T>(ref);
    assert.ok(read.ok, JSON.stringify(read));
    return read.value;
  }

  async exists(ref: ObjectRef): Promise<boolean> {
    return (await this.client.get(ref)).ok;
  }

  async node(): Promise<LiveNode> {
    return liveNode(await this.read(nodeRef));
  }

  /** They stand as long as nobody changes anything. */
  async grounds(): Promise<CommonGrounds> {
    const { name, uid = '', generation = 0 } = (await this.read(policyRef)).metadata;
    return {
      node: 'node-1',
      nodeUid: await this.uidOf(nodeRef),
      bootId: 'boot-1',
      taints: [quarantine],
      leaseRenewTime: renewTime,
      heartbeatTime: (await this.node()).heartbeatTime ?? '',
      policy: { name, uid, generation },
      freed: [],
      pause: { namespace: 'default' },
      epoch: 3,
    };
  }

  /** Without devices and Jobs, unless the test has some. */
  longActs(change: Partial<LongActsOptions> = {}): LongActs {
    return new LongActs({
      client: this.client,
      clock: this.clock,
      provider: { device: async () => ({ ok: false, problem: 'no such device' }) },
      namespace: 'default',
      isLeading: () => true,
      timeoutMs: 5000,
      knock: async () => 'silent',
      doubt: doubtByReady,
      hear: heardBefore,
      onCut: () => {},
      jobObject: () => undefined,
      random: () => 0.5,
      isFenced: () => false,
      onWatch: () => {},
      onNode: () => {},
      onChanged: () => {},
      ...change,
    });
  }

  async pod(name = 'web-0'): Promise<PodFacts> {
    return projectPod(await this.read({ ...podRef, name }));
  }

  async uidsOfPods(): Promise<string[]> {
    const listed = await this.client.list(pods);
    assert.ok(listed.ok, JSON.stringify(listed));
    return listed.value.items.map(({ metadata }) => metadata.uid ?? '');
  }

  async uidOf(ref: ObjectRef): Promise<string> {
    return (await this.read(ref)).metadata.uid ?? '';
  }

  async patch(ref: ObjectRef, path: string, value: unknown, subresource?: string): Promise<void> {
    const uid = await this.uidOf(ref);
    const options = subresource === undefined ? {} : { subresource };
    const patched = await this.client.patch(ref, { uid }, [{ op: 'add', path, value }], options);
    assert.ok(patched.ok, JSON.stringify(patched));
  }

  async patchStatus(ref: ObjectRef, status: Json): Promise<void> {
    await this.patch(ref, '/status', status, 'status');
  }

  async remove(ref: ObjectRef): Promise<void> {
    const deleted = await this.client.delete(ref, { uid: await this.uidOf(ref) }, { gracePeriodSeconds: 0 });
    assert.ok(deleted.ok, JSON.stringify(deleted));
  }

  async #make(resource: Resource, object: object): Promise<void> {
    const made = await this.client.create(resource, object as KubeObject);
    assert.ok(made.ok, JSON.stringify(made));
  }
}

function generator(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
