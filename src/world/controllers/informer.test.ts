import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../kube/client.ts';
import { KubeClient } from '../../kube/client.ts';
import { configMaps } from '../../kube/resources.ts';
import { ApiServer } from '../api-server/server.ts';
import { Random } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import type { Informer } from './informer.ts';
import { Informers } from './informer.ts';

interface Setting {
  clock: VirtualClock;
  client: KubeClient;
  server: ApiServer;
  informer: Informer<KubeObject>;
  /** `+` added, `~` changed, `-` gone. */
  changes: string[];
  stop: () => Promise<void>;
}

async function setUp(): Promise<Setting> {
  const clock = new VirtualClock();
  const random = new Random(7).stream('test');
  const server = new ApiServer({ clock, random });
  const client = new KubeClient({
    transport: server.transport('test'),
    clock,
    userAgent: 'test',
    fieldManager: 'test',
  });
  const informers = new Informers({ client, clock, random, onProblem: () => {} });
  const informer = informers.of(configMaps);
  const changes: string[] = [];
  informer.on(({ key, object, previous }) =>
    changes.push(`${object === undefined ? '-' : previous === undefined ? '+' : '~'}${key}`),
  );
  const ended = new AbortController();
  const running = informers.run(ended.signal);
  await clock.runFor(100);
  const stop = async (): Promise<void> => {
    ended.abort();
    await clock.runFor(100);
    await running;
  };
  return { clock, client, server, informer, changes, stop };
}

const configMap = (name: string): KubeObject => ({ metadata: { name, namespace: 'default' } });
const ref = { resource: configMaps, namespace: 'default', name: 'a' };

test('an answer of our own is there at once, and told once', async () => {
  const { clock, client, informer, changes, stop } = await setUp();
  const created = await client.create(configMaps, configMap('a'));
  assert.ok(created.ok);
  informer.observe(created.value);
  assert.equal(informer.get('default/a')?.metadata.uid, created.value.metadata.uid);
  await clock.runFor(1000);
  assert.deepEqual(changes, ['+default/a']);
  await stop();
});

test('an answer that the watch has passed changes nothing, least of all after a deletion', async () => {
  const { clock, client, informer, changes, stop } = await setUp();
  const created = await client.create(configMaps, configMap('a'));
  assert.ok(created.ok);
  await client.delete(ref, { uid: created.value.metadata.uid ?? '' });
  await clock.runFor(1000);
  informer.observe(created.value);
  assert.equal(informer.get('default/a'), undefined);
  assert.deepEqual(changes, ['+default/a', '-default/a']);
  await stop();
});

test('what we deleted is gone at once, and a newcomer of its name is another one', async () => {
  const { clock, client, informer, changes, stop } = await setUp();
  const created = await client.create(configMaps, configMap('a'));
  assert.ok(created.ok);
  await clock.runFor(1000);
  await client.delete(ref, { uid: created.value.metadata.uid ?? '' });
  informer.forget(created.value);
  assert.equal(informer.get('default/a'), undefined);
  const second = await client.create(configMaps, configMap('a'));
  assert.ok(second.ok);
  informer.observe(second.value);
  await clock.runFor(1000);
  assert.equal(informer.get('default/a')?.metadata.uid, second.value.metadata.uid);
  assert.deepEqual(changes, ['+default/a', '-default/a', '+default/a']);
  await stop();
});

test('an index follows every change', async () => {
  const { clock, client, informer, stop } = await setUp();
  const byColour = informer.indexBy(({ metadata }) => Object.values(metadata.labels ?? {}));
  const metadata = { name: 'a', namespace: 'default', labels: { c: 'red' } };
  const created = await client.create<KubeObject>(configMaps, { metadata });
  assert.ok(created.ok);
  await clock.runFor(100);
  assert.deepEqual([...byColour.of('red').keys()], ['default/a']);
  const only = { uid: created.value.metadata.uid ?? '' };
  await client.patch(ref, only, [{ op: 'replace', path: '/metadata/labels/c', value: 'blue' }]);
  await clock.runFor(100);
  assert.deepEqual([byColour.of('red').size, [...byColour.of('blue').keys()]], [0, ['default/a']]);
  await client.delete(ref, only);
  await clock.runFor(100);
  assert.equal(byColour.of('blue').size, 0);
  await stop();
});

test('a break of the watch loses nothing', async () => {
  const { clock, client, server, informer, stop } = await setUp();
  const created = await client.create(configMaps, configMap('a'));
  assert.ok(created.ok);
  informer.observe(created.value);
  server.faults.compact();
  server.faults.breakWatches();
  await client.delete(ref, { uid: created.value.metadata.uid ?? '' });
  await client.create(configMaps, configMap('b'));
  await clock.runFor(60_000);
  assert.deepEqual(
    [...informer.values()].map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt'),
    ['b'],
  );
  await stop();
});
