/** What the console says of the embedded cluster, in virtual time: the same as the commands, and what is true of its machines. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explainNode } from '../../src/cli/explain.ts';
import { DemoCluster } from '../../src/console/demo-cluster.ts';
import type {
  DevicesPage,
  HeadPicture,
  NodePage,
  NodePicture,
  PoliciesPage,
  RecordPage,
  WorkloadsPage,
} from '../../src/console/picture.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Random } from '../../src/world/random.ts';
import { VirtualClock } from '../../src/world/time/virtual-clock.ts';

class Scene implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly demo = new DemoCluster(this.clock, new Random(1));
  readonly #stop = new AbortController();
  readonly #running = this.demo.start().then(() => this.demo.run(this.#stop.signal));

  static async after(ms: number): Promise<Scene> {
    const scene = new Scene();
    await scene.clock.runFor(ms);
    return scene;
  }

  head(): HeadPicture {
    return this.page<HeadPicture>('now', 'head');
  }

  node(name: string): NodePicture {
    return this.page<NodePicture>('now', `node/${name}`);
  }

  page<T>(page: string, part = 'page'): T {
    return this.demo.source.parts(page).get(part) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.demo.world.stop();
  }
}

const hero = (scene: Scene): string =>
  scene.demo.source.machines().find(({ pods }) => pods.some(({ name }) => name === 'database-0'))?.name ?? '';

describe('the console on the embedded cluster', () => {
  test('[EXP-1] says of a node in trouble what explain says, word by word; and nothing needs a person', async () => {
    await using scene = await Scene.after(45_000);
    assert.equal(scene.head().text, 'Nothing needs you. All nodes are well.');
    const node = hero(scene);
    scene.demo.source.act(node, 'power-off');
    await scene.clock.runFor(18_000);
    const transport = scene.demo.world.server.transport('jane');
    const client = new KubeClient({ transport, clock: scene.clock, userAgent: 'test', fieldManager: 'test' });
    const asked = explainNode(client, node);
    await scene.clock.runFor(100);
    const { at: _, verdict: told, ...explained } = await asked;
    const { explanation, timeline } = scene.page<NodePage>(`node/${node}`);
    const { at: __, verdict: shown, ...seen } = explanation;
    assert.deepEqual(seen, explained);
    assert.deepEqual([shown.is, shown.reason], [told.is, told.reason]);
    const { text, needs, lines } = scene.head();
    assert.deepEqual([text, needs], ['Nothing needs you. 1 node is being looked after.', []]);
    assert.match(lines[0]?.text ?? '', new RegExp(`^${node} is down .*; database-0 runs on node-\\d since `));
    const ran = scene.demo.source
      .machines()
      .find(({ pods }) => pods.some(({ name, ready }) => name === 'database-0' && ready));
    const marks = timeline?.marks.filter(({ lane, kind }) => lane === 'workloads' && kind === 'alive') ?? [];
    assert.deepEqual(
      marks.map(({ label }) => label),
      [`on ${ran?.name}`],
    );
    assert.ok((timeline?.total?.ms ?? Infinity) < 20_000);
  });

  test('[STM-1] a broken switch: the brake is over its limit and holds, marks say so, and nobody is cut', async () => {
    await using scene = await Scene.after(45_000);
    for (const zone of ['z1', 'z2']) scene.demo.source.actZone(zone, 'partition');
    await scene.clock.runFor(40_000);
    const { brake } = scene.head();
    assert.deepEqual([brake?.troubled, brake?.nodes, brake?.allowed, brake?.isOn], [4, 6, 2, true]);
    assert.deepEqual(
      ['node-1', 'node-2', 'node-4', 'node-5'].map((name) => scene.node(name).mark),
      Array(4).fill('held'),
    );
    assert.ok(scene.demo.source.machines().every(({ power }) => power === 'on'));
    for (const zone of ['z1', 'z2']) scene.demo.source.actZone(zone, 'heal');
    await scene.clock.runFor(60_000);
    assert.ok(['node-1', 'node-2', 'node-4', 'node-5'].every((name) => scene.node(name).mark === 'healthy'));
  });

  test('[EXP-4, ADM-4] the other pages: devices that could not fence come first, policies, what would fail over, the record', async () => {
    await using scene = await Scene.after(45_000);
    const node = hero(scene);
    const broken = node === 'node-6' ? 'node-5' : 'node-6';
    scene.demo.source.act(broken, 'device-refuses');
    scene.demo.source.act(node, 'power-off');
    scene.page('workloads');
    await scene.clock.runFor(650_000);
    const { devices } = scene.page<DevicesPage>('devices');
    assert.deepEqual(devices.map(({ node: of, fenceable }) => [of, fenceable])[0], [broken, false]);
    assert.match(scene.head().needs.find((need) => need.node === broken)?.message ?? '', /could not be fenced/);
    assert.match(scene.head().text, /^Nothing needs you now; 1 thing to look at by day\./);
    const { policies, unselected, problems } = scene.page<PoliciesPage>('policies');
    assert.deepEqual([policies[0]?.name, policies[0]?.nodes, unselected], ['demo', 6, []]);
    assert.ok(problems.some((one) => one.node === node && one.condition === 'Ready'));
    const { stateful, findings, stuck } = scene.page<WorkloadsPage>('workloads');
    assert.deepEqual([stateful, findings?.filter(({ failsOver }) => failsOver === 'never'), stuck], [4, [], []]);
    const { entries, deeds } = scene.page<RecordPage>('record');
    const released = deeds.find(({ deed, on }) => deed === 'DeletePod' && on.includes('database-0'));
    assert.deepEqual([released?.node, released?.basis], [node, 'PowerOff'], JSON.stringify(deeds.slice(0, 20)));
    assert.deepEqual([entries[0]?.reason, entries[0]?.node], ['BackInService', node]);
    assert.ok(
      entries.some(({ reason, message }) => reason === 'Releasing' && message.includes('on the basis PowerOff')),
    );
    const { endedAt, marks = [] } = scene.page<NodePage>(`node/${node}`).timeline ?? {};
    assert.ok(endedAt !== undefined && marks.every((mark) => mark.open !== true), 'and the incident stays readable');
  });
});
