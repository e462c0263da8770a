/** A StatefulSet on a node that dies, with the times of a real cluster, in virtual time and to the second. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../kube/client.ts';
import { KubeClient } from '../../kube/client.ts';
import { ApiServer } from '../api-server/server.ts';
import { Fleet } from '../fleet.ts';
import { conditionOf, isReady, isTerminating } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import type { StorageClass, VolumeAttachment } from '../objects/volumes.ts';
import type { StatefulSet } from '../objects/workloads.ts';
import { Random } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import type { ControllerManagerOptions } from './controller-manager.ts';
import { ControllerManager } from './controller-manager.ts';
import * as resources from './resources.ts';
import { Scheduler } from './scheduler.ts';

type Settings = Pick<ControllerManagerOptions, 'timings' | 'without' | 'provisioners'>;

class World {
  readonly clock = new VirtualClock();
  readonly client: KubeClient;
  readonly fleet: Fleet;
  readonly manager: ControllerManager;
  readonly #ended = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(settings: Settings = {}) {
    const { clock } = this;
    const random = new Random(1);
    const server = new ApiServer({ clock, random: random.stream('server') });
    const transportFor = (user: string): ReturnType<ApiServer['transport']> => server.transport(user);
    this.client = new KubeClient({ transport: transportFor('test'), clock, userAgent: 'test', fieldManager: 'test' });
    const nodes = ['n1', 'n2', 'n3'].map((name) => ({ name, zone: 'z' }));
    this.fleet = new Fleet({ clock, random: random.stream('fleet'), transportFor, nodes, drivers: ['csi.test'] });
    const common = { clock, random: random.stream('controllers'), transportFor };
    this.manager = new ControllerManager({ ...common, provisioners: ['csi.test'], ...settings });
    const scheduler = new Scheduler({ ...common, informers: this.manager.informers, indexes: this.manager.indexes });
    this.#running = Promise.all([scheduler.run(this.#ended.signal), this.manager.run(this.#ended.signal)]);
    this.fleet.start();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.fleet.stop();
    await this.#running;
  }

  async get<T extends KubeObject>(resource: typeof resources.pods, name: string): Promise<T | undefined> {
    const ref = resource.namespaced ? { resource, namespace: 'default', name } : { resource, name };
    const read = await this.client.get<T>(ref);
    return read.ok ? read.value : undefined;
  }

  pod(): Promise<Pod | undefined> {
    return this.get<Pod>(resources.pods, 'db-0');
  }

  /** A set of one with a volume, running; its node has just been heard of by everyone. */
  async settle(): Promise<{ pod: Pod; nodeName: string }> {
    await this.clock.runFor(1000);
    const storageClass = {
      metadata: { name: 'fast' },
      provisioner: 'csi.test',
      volumeBindingMode: 'WaitForFirstConsumer',
    };
    assert.ok((await this.client.create<StorageClass>(resources.storageClasses, storageClass)).ok);
    const labels = { app: 'db' };
    const claim = {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '1Gi' } },
    };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } };
    const set = await this.client.create<StatefulSet>(resources.statefulSets, {
      metadata: { name: 'db', namespace: 'default' },
      spec: {
        replicas: 1,
        serviceName: 'db',
        selector: { matchLabels: labels },
        template,
        volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
      },
    });
    assert.ok(set.ok, 'the set');
    await this.clock.runFor(29_000);
    const pod = await this.pod();
    assert.ok(pod !== undefined && isReady(pod), 'the pod runs');
    for (const kubelet of this.fleet.kubelets.values()) kubelet.heartbeat();
    await this.clock.runFor(0);
    return { pod, nodeName: pod.spec.nodeName ?? '' };
  }

  /** Seconds from now until it is so, looked at every second. */
  async secondsUntil(limit: number, look: () => Promise<boolean>): Promise<number> {
    for (let seconds = 0; seconds <= limit; seconds += 1) {
      if (await look()) return seconds;
      await this.clock.runFor(1000);
    }
    return Infinity;
  }

  async attachedTo(): Promise<string[]> {
    const listed = await this.client.list<VolumeAttachment>(resources.volumeAttachments);
    return listed.ok ? listed.value.items.map(({ spec }) => spec.nodeName) : ['?'];
  }
}

async function deadSince(world: World, nodeName: string): Promise<number> {
  world.fleet.machine(nodeName).powerOff();
  return world.secondsUntil(120, async () => {
    const node = await world.get<Node>(resources.nodes, nodeName);
    return conditionOf(node, 'Ready')?.status === 'Unknown';
  });
}

test('Kubernetes alone: Unknown after the grace period, evicted five minutes later, stuck for ever', async () => {
  const world = new World({ timings: { nodeMonitorGraceMs: 40_000 } });
  const { pod, nodeName } = await world.settle();
  const unknownAfter = await deadSince(world, nodeName);
  assert.ok(unknownAfter >= 40 && unknownAfter <= 45, `Unknown after ${unknownAfter} s`);
  const evictedAfter = await world.secondsUntil(400, async () => isTerminating((await world.pod()) ?? pod));
  assert.ok(evictedAfter >= 299 && evictedAfter <= 301, `evicted after ${evictedAfter} s more`);
  await world.clock.runFor(3_600_000);
  const later = await world.pod();
  assert.deepEqual([later?.metadata.uid, later?.status?.phase], [pod.metadata.uid, 'Running']);
  assert.deepEqual(await world.attachedTo(), [nodeName]);
  await world.stop();
});

test('a force-deleted pod waits six minutes for its volume', async () => {
  const world = new World();
  const { pod, nodeName } = await world.settle();
  await deadSince(world, nodeName);
  const ref = { resource: resources.pods, namespace: 'default', name: 'db-0' };
  await world.client.delete(ref, { uid: pod.metadata.uid ?? '' }, { gracePeriodSeconds: 0 });
  const detachedAfter = await world.secondsUntil(400, async () => !(await world.attachedTo()).includes(nodeName));
  assert.ok(detachedAfter >= 360 && detachedAfter <= 362, `detached after ${detachedAfter} s`);
  await world.clock.runFor(5000);
  assert.equal(isReady(await world.pod()), true);
  await world.stop();
});

test('with forced detaching disabled it waits for ever', async () => {
  const world = new World({ timings: { forceDetachOnTimeout: false } });
  const { pod, nodeName } = await world.settle();
  await deadSince(world, nodeName);
  const ref = { resource: resources.pods, namespace: 'default', name: 'db-0' };
  await world.client.delete(ref, { uid: pod.metadata.uid ?? '' }, { gracePeriodSeconds: 0 });
  await world.clock.runFor(3_600_000);
  assert.deepEqual(await world.attachedTo(), [nodeName]);
  assert.equal(isReady(await world.pod()), false);
  await world.stop();
});

test('a volume of a simulated provisioner goes with its claim', async () => {
  const world = new World();
  await world.settle();
  const volumes = async (): Promise<number> => {
    const listed = await world.client.list(resources.persistentVolumes);
    return listed.ok ? listed.value.items.length : -1;
  };
  assert.equal(await volumes(), 1);
  for (const [resource, name] of [
    [resources.statefulSets, 'db'],
    [resources.persistentVolumeClaims, 'data-db-0'],
  ] as const) {
    const found = await world.get(resource, name);
    const ref = { resource, namespace: 'default', name };
    await world.client.delete(ref, { uid: found?.metadata.uid ?? '' }, { propagationPolicy: 'Background' });
  }
  await world.clock.runFor(60_000);
  assert.equal(await volumes(), 0);
  await world.stop();
});

test('a controller that is left out does nothing', async () => {
  const world = new World({ without: ['taintEviction'] });
  const { nodeName, pod } = await world.settle();
  await deadSince(world, nodeName);
  await world.clock.runFor(600_000);
  assert.equal(isTerminating((await world.pod()) ?? pod), false);
  await world.stop();
});
