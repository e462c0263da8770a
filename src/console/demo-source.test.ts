import assert from 'node:assert/strict';
import { evictingNode } from '../../test/support/drain-case.ts';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import { customResourceDefinitions } from '../api/crds.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import { customResourceDefinitions as definitions, drainPolicies, nodes } from '../kube/resources.ts';
import { Random } from '../world/random.ts';
import { World } from '../world/world.ts';
import { DemoNews } from './demo-news.ts';
import { DemoSource } from './demo-source.ts';
import type { NodePicture } from './picture.ts';

test('[DRN-14] a node that is auto-evicting is shown as such beside unschedulable, until it is uncordoned', async () => {
  const clock = manualClock();
  const random = new Random(1);
  const volumes = [{ name: 'v', sizeGiB: 1, replicas: ['node-1'] }];
  const longhorn = { diskGiB: 10, rebuildMiBps: 100, softAntiAffinity: false, volumes };
  const world = new World({ clock, random, nodes: [{ name: 'node-1' }, { name: 'node-2' }], longhorn });
  const transport = world.server.transport('admin');
  const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  const make = async (resource: Resource, object: object): Promise<void> => {
    const made = await client.create(resource, object as KubeObject);
    assert.ok(made.ok, JSON.stringify(made));
  };
  const patch = async (ref: ObjectRef, path: string, value: unknown, subresource?: string): Promise<void> => {
    const read = await client.get<KubeObject>(ref);
    assert.ok(read.ok);
    const { uid = '' } = read.value.metadata;
    const patched = await client.patch(ref, { uid }, [{ op: 'add', path, value }], {
      ...(subresource && { subresource }),
    });
    assert.ok(patched.ok, JSON.stringify(patched));
  };
  for (const definition of customResourceDefinitions()) await make(definitions, definition);
  for (const name of ['node-1', 'node-2']) {
    await make(nodes, { metadata: { name }, spec: { unschedulable: name === 'node-1' } });
  }
  await make(drainPolicies, { metadata: { name: 'default' }, spec: { allNodes: true } });
  await patch({ resource: drainPolicies, name: 'default' }, '/status', { draining: [evictingNode] }, 'status');

  const source = new DemoSource({
    world,
    clock,
    client,
    random: random.stream('console'),
    news: new DemoNews(),
  });
  const stop = new AbortController();
  const running = source.run(stop.signal);
  const shown = (name: string): NodePicture | undefined => source.parts('now').get(`node/${name}`) as NodePicture;
  const replicas = (name: string): unknown => source.machines().find((machine) => machine.name === name)?.replicas;
  const { node: _, ...drain } = evictingNode;
  const first = await waitFor('the drain', () => {
    const node = shown('node-1');
    return node?.drain && node;
  });
  assert.deepEqual([first.schedulable, first.cordoned, first.drain], [false, true, drain]);
  assert.deepEqual(replicas('node-1'), [{ volume: 'v', state: 'healthy' }]);
  const other = shown('node-2');
  assert.deepEqual([other?.cordoned, other?.drain, replicas('node-2')], [false, undefined, []]);

  assert.equal(source.act('node-1', 'uncordon'), true);
  assert.equal(source.act('node-7', 'drain'), false);
  assert.equal(source.act('node-1', 'explode'), false);
  assert.equal(source.actZone('z9', 'partition'), false);
  const after = await waitFor('the uncordon', () => {
    const node = shown('node-1');
    return node?.cordoned === false && node;
  });
  assert.equal(after.drain, undefined, 'the policy still says so, but the node is in use again');
  stop.abort();
  await running;
});
