import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../../kube/client.ts';
import { KubeClient } from '../../kube/client.ts';
import { configMaps, nodes } from '../../kube/resources.ts';
import { Document, TransportError } from '../../kube/transport.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import type { AuditRecord } from './server.ts';
import { ApiServer } from './server.ts';

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function setUp(seed = 1) {
  const clock = manualClock();
  const server = new ApiServer({ clock, random: generator(seed) });
  const client = new KubeClient({ transport: server.transport('me'), clock, userAgent: 'test', fieldManager: 'test' });
  const add = async (name: string): Promise<string> => {
    const made = await client.create<KubeObject>(configMaps, { metadata: { name, namespace: 'default' } });
    assert.ok(made.ok, JSON.stringify(made));
    return made.value.metadata.uid ?? '';
  };
  const watch = async (query = ''): Promise<AsyncIterator<Uint8Array>> => {
    const path = `/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=${server.revision}${query}`;
    const { body } = await server.handle({ method: 'GET', path, user: 'me' });
    return body[Symbol.asyncIterator]();
  };
  return { clock, server, client, add, watch };
}

async function nameIn(watch: AsyncIterator<Uint8Array>): Promise<string> {
  const { value } = await watch.next();
  const { type, object } = JSON.parse(Buffer.from(value as Uint8Array).toString('utf8')) as {
    type: string;
    object: { metadata: { name?: string; resourceVersion: string } };
  };
  return `${type} ${object.metadata.name ?? object.metadata.resourceVersion}`;
}

const ref = (name: string) => ({ resource: configMaps, namespace: 'default', name });

test('the same requests with the same chance give the same answers', async () => {
  const uidOf = async (seed: number): Promise<string> => setUp(seed).add('a');
  assert.equal(await uidOf(7), await uidOf(7));
  assert.notEqual(await uidOf(7), await uidOf(8));
});

test('writes are told to those who listen, refused ones too, with what was before and after', async () => {
  const { server, client, add } = setUp();
  const records: AuditRecord[] = [];
  const stop = server.onAudit((record) => records.push(record));
  const uid = await add('a');
  await client.delete(ref('a'), { uid: 'other' });
  await client.get(ref('a'));
  await client.delete(ref('a'), { uid });
  stop();
  await add('b');
  assert.deepEqual(
    records.map(({ user, verb, resource, namespace, name, code }) => [user, verb, resource, namespace, name, code]),
    [
      ['me', 'create', 'configmaps', 'default', 'a', 201],
      ['me', 'delete', 'configmaps', 'default', 'a', 409],
      ['me', 'delete', 'configmaps', 'default', 'a', 200],
    ],
  );
  assert.equal(records[0]?.after?.metadata.uid, uid);
  assert.equal(records[2]?.before?.metadata.uid, uid);
  assert.equal(records[2]?.after, undefined);
});

test('while the server is down calls fail as told and watches break; afterwards it is as it was', async () => {
  const { server, client, add, watch } = setUp();
  await add('a');
  const open = await watch();
  const waiting = open.next();
  server.faults.down('notSent');
  await assert.rejects(waiting, (error) => error instanceof TransportError && error.failure === 'broken');
  const read = await client.get(ref('a'));
  assert.ok(!read.ok && read.error.kind === 'unreachable' && !read.error.mayHaveHappened);
  server.faults.up();
  assert.ok((await client.get(ref('a'))).ok);
});

test('an injected error is answered as often as told, and what matches nothing is not', async () => {
  const { server, client, add } = setUp();
  server.faults.inject({
    matches: ({ verb, resource }) => verb === 'create' && resource === 'configmaps',
    code: 409,
    times: 1,
  });
  const refused = await client.create(configMaps, { metadata: { name: 'a', namespace: 'default' } });
  assert.ok(!refused.ok && refused.error.kind === 'conflict');
  await add('a');
  assert.ok((await client.create(nodes, { metadata: { name: 'n' } })).ok);
});

test('an error after the fact leaves the write done', async () => {
  const { server, client } = setUp();
  server.faults.inject({ matches: ({ verb }) => verb === 'create', code: 500, when: 'after', times: 1 });
  const lost = await client.create(configMaps, { metadata: { name: 'a', namespace: 'default' } });
  assert.ok(!lost.ok && lost.error.mayHaveHappened);
  assert.ok((await client.get(ref('a'))).ok);
});

test('events can be dropped and doubled', async () => {
  const { server, add, watch } = setUp();
  const open = await watch();
  const stopDropping = server.faults.dropEvents(({ version }) => version.object.metadata.name === 'a');
  await add('a');
  stopDropping();
  const stopDoubling = server.faults.duplicateEvents(() => true);
  await add('b');
  stopDoubling();
  await add('c');
  assert.deepEqual([await nameIn(open), await nameIn(open), await nameIn(open)], ['ADDED b', 'ADDED b', 'ADDED c']);
});

test('a watch that lags tells everything later and in order, and claims nothing meanwhile', async () => {
  const { clock, server, add, watch } = setUp();
  const open = await watch('&allowWatchBookmarks=true');
  server.faults.lag(90_000);
  await add('a');
  clock.advance(1000);
  server.faults.lag(10_000);
  await add('b');
  clock.advance(60_000);
  const then = server.revision;
  await add('c');
  clock.advance(30_000);
  const told = [await nameIn(open), await nameIn(open), await nameIn(open), await nameIn(open)];
  assert.deepEqual(told, ['ADDED a', 'ADDED b', `BOOKMARK ${then}`, 'ADDED c']);
});

test('a lagging server answers cached lists from behind, and quorum reads from now', async () => {
  const { clock, server, client, add } = setUp();
  await add('a');
  clock.advance(20_000);
  server.faults.lag(10_000);
  await add('b');
  const count = async (query: string): Promise<number> => {
    const path = `/api/v1/namespaces/default/configmaps${query}`;
    const { body } = await server.handle({ method: 'GET', path, user: 'me' });
    for await (const chunk of body)
      return (JSON.parse(Buffer.from(chunk).toString('utf8')) as { items: [] }).items.length;
    return -1;
  };
  assert.equal(await count('?resourceVersion=0'), 1);
  assert.equal(await count(''), 2);
  assert.ok((await client.get(ref('b'))).ok);
});

test('after a compaction old versions are gone', async () => {
  const { server, add } = setUp();
  await add('a');
  const old = server.revision;
  await add('b');
  server.faults.compact();
  const path = `/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=${old}`;
  const { body } = await server.handle({ method: 'GET', path, user: 'me' });
  const { value } = await body[Symbol.asyncIterator]().next();
  assert.match(Buffer.from(value as Uint8Array).toString('utf8'), /"type":"ERROR".*"code":410/);
});

test('a slow answer comes late, and too late is a time-out', async () => {
  const { clock, server, client, add } = setUp();
  await add('a');
  server.faults.slow(5000);
  const slow = client.get(ref('a'), { timeoutMs: 10_000 });
  const tooSlow = client.get(ref('a'), { timeoutMs: 1000 });
  await Promise.resolve();
  clock.advance(1000);
  const late = await tooSlow;
  assert.ok(!late.ok && late.error.kind === 'timeout');
  clock.advance(4000);
  assert.ok((await slow).ok);
});

test('a replacement by somebody in this process is stored as one that was sent, and not past a fault', async () => {
  const clock = manualClock();
  const server = new ApiServer({ clock, random: generator(1), without: ['managedFields'] });
  const client = new KubeClient({ transport: server.transport('me'), clock, userAgent: 'test', fieldManager: 'test' });
  assert.ok((await client.create(configMaps, { metadata: { name: 'a', namespace: 'default' } })).ok);
  const path = `/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=${server.revision}`;
  const { body } = await server.handle({ method: 'GET', path, user: 'me' });
  const amend = (value: string, name = 'a'): boolean =>
    server.amend('', 'configmaps', `default/${name}`, (live) => ({
      ...live,
      metadata: { ...live.metadata },
      data: { value },
    }));
  const valueNow = (): unknown => server.peek('', 'configmaps', 'default/a')?.['data'];
  const before = server.revision;
  assert.equal(amend('1'), true);
  assert.deepEqual([valueNow(), server.revision], [{ value: '1' }, before + 1]);
  assert.equal(await nameIn(body[Symbol.asyncIterator]()), 'MODIFIED a');
  assert.equal(amend('2', 'b'), false);
  server.faults.slow(1000);
  assert.equal(amend('3'), false);
  server.faults.slow(0);
  const mend = server.faults.inject({ matches: () => true, code: 500 });
  assert.equal(amend('4'), false);
  mend();
  server.faults.down();
  assert.equal(amend('5'), false);
  server.faults.up();
  assert.deepEqual(valueNow(), { value: '1' });
  assert.equal(amend('6'), true);
  const { server: keeping, add } = setUp();
  await add('a');
  assert.equal(
    keeping.amend('', 'configmaps', 'default/a', (live) => live),
    false,
  );
});

test('a client that has stopped reading costs nothing more', async () => {
  const { server, watch } = setUp();
  const open = await watch();
  assert.equal(server.openWatches, 1);
  await open.return?.();
  assert.equal(server.openWatches, 0);
  const abort = new AbortController();
  const path = '/api/v1/nodes?watch=1';
  const { body } = await server.handle({ method: 'GET', path, user: 'me', signal: abort.signal });
  abort.abort();
  await assert.rejects(
    body[Symbol.asyncIterator]().next(),
    (error) => error instanceof TransportError && error.failure === 'aborted',
  );
  assert.equal(server.openWatches, 0);
});

test('a request whose guard no longer holds is not carried out', async () => {
  const { client } = setUp();
  const made = await client.create(
    configMaps,
    { metadata: { name: 'a', namespace: 'default' } },
    { guard: () => false },
  );
  assert.ok(!made.ok && !made.error.mayHaveHappened);
  assert.ok(!(await client.get(ref('a'))).ok);
});

test('those who ask for it read what is stored itself, in answers and watches; others read copies', async () => {
  const { clock, server, client, add } = setUp();
  await add('a');
  const stored = (): unknown => server.peek('', 'configmaps', 'default/a');
  const options = { clock, userAgent: 'test', fieldManager: 'test' };
  const sharing = new KubeClient({ transport: server.transport('me', { shares: true }), ...options });
  const [shared, copied] = [await sharing.get(ref('a')), await client.get(ref('a'))];
  assert.ok(shared.ok && copied.ok);
  assert.equal(shared.value, stored());
  assert.notEqual(copied.value, stored());
  assert.deepEqual(copied.value, stored());

  const path = `/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=${server.revision}`;
  const watch = await sharing.stream(path, 'watch', { signal: new AbortController().signal });
  assert.ok(watch.ok);
  const uid = shared.value.metadata.uid ?? '';
  const patched = await sharing.patch(ref('a'), { uid }, [{ op: 'add', path: '/data', value: { key: 'value' } }]);
  assert.ok(patched.ok);
  assert.equal(patched.value, stored());
  const { value } = await watch.value.body[Symbol.asyncIterator]().next();
  assert.ok(value instanceof Document);
  assert.deepEqual(value.value, { type: 'MODIFIED', object: stored() });

  const missing = await sharing.get(ref('b'));
  assert.ok(!missing.ok && missing.error.kind === 'notFound');
});

test('a null in a patch leaves what is stored as it was', async () => {
  const { server, client, add } = setUp();
  const uid = await add('a');
  await client.patch(ref('a'), { uid }, [{ op: 'add', path: '/data', value: { one: '1', two: '2' } }]);
  const before = structuredClone(server.peek('', 'configmaps', 'default/a'));
  const kept = server.peek('', 'configmaps', 'default/a');
  await client.patch(ref('a'), { uid }, [
    { op: 'add', path: '/data/two', value: null },
    { op: 'add', path: '/binaryData', value: [{ deep: null, rest: 1 }] },
  ]);
  assert.deepEqual(kept, before);
  const after = server.peek('', 'configmaps', 'default/a');
  assert.deepEqual([after?.['data'], after?.['binaryData']], [{ one: '1' }, [{ rest: 1 }]]);
});
