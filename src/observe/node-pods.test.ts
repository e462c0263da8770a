import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aPod } from '../../test/support/release-case.ts';
import { ScriptedServer, settle } from '../../test/support/scripted-server.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import type { HttpRequest, HttpResponse } from '../kube/transport.ts';
import { NodePods } from './node-pods.ts';

function podsWith(answer: (path: string) => { status: number; body: object }): NodePods {
  const clock = manualClock();
  const send = async ({ path }: HttpRequest): Promise<HttpResponse> => {
    // What it watches by itself is not asked for here.
    if (path.includes('nodeName')) return new Promise(() => {});
    const { status, body } = answer(path);
    return {
      status,
      headers: {},
      body: (async function* () {
        yield Buffer.from(JSON.stringify(body));
      })(),
    };
  };
  const client = new KubeClient({
    transport: { send, close: () => {} },
    clock,
    userAgent: 'test',
    fieldManager: 'test',
  });
  return new NodePods({ client, clock, random: () => 0, node: 'node-1', onChange: () => {}, onProblem: () => {} });
}

const pending = (name: string, claimName: string, more: object = {}): object => ({
  metadata: { name, namespace: 'a' },
  spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }], ...more },
});

test('[POD-7] a claim is awaited by a pending pod that is not on this node', async () => {
  const items = [pending('new', 'vol'), pending('here', 'own', { nodeName: 'node-1' }), pending('other', 'strange')];
  const pods = podsWith(() => ({ status: 200, body: { metadata: {}, items } }));
  const awaited = await pods.awaitedOf(new Set(['a/vol', 'a/own']));
  assert.deepEqual(awaited, { ok: true, value: new Set(['a/vol']) });
  pods.close();
});

test('[SAF-13] a volume of the old kind may be attached under a name of its driver of today; one that is only mounted is not', async () => {
  const isInTree = async (source: object): Promise<unknown> => {
    const claim = { metadata: { name: 'vol', namespace: 'a' }, spec: { volumeName: 'pv' } };
    const volume = { metadata: { name: 'pv' }, spec: { accessModes: ['ReadWriteOnce'], capacity: {}, ...source } };
    const pods = podsWith((path) => ({ status: 200, body: path.includes('claims') ? claim : volume }));
    const here = { ...aPod(), namespace: 'a', claims: [{ volume: 'data', claim: 'vol' }] };
    const facts = (await pods.volumesOf([here])).get('a/vol');
    pods.close();
    return facts?.known && facts.inTree;
  };
  for (const kind of ['gcePersistentDisk', 'awsElasticBlockStore', 'azureDisk', 'cinder', 'vsphereVolume'])
    assert.equal(await isInTree({ [kind]: {} }), true, kind);
  for (const kind of ['nfs', 'local', 'hostPath']) assert.equal(await isInTree({ [kind]: {} }), undefined, kind);
  assert.equal(await isInTree({ csi: { driver: 'x', volumeHandle: 'y' } }), undefined);
  assert.equal(await isInTree({}), true, 'what cannot be told is not no');
});

test('S26: where pending pods cannot be read, nobody says that none waits', async () => {
  const pods = podsWith((path) =>
    path.includes('/b/') ? { status: 403, body: {} } : { status: 200, body: { metadata: {}, items: [] } },
  );
  const awaited = await pods.awaitedOf(new Set(['a/vol', 'b/vol']));
  assert.equal(awaited.ok, false);
  pods.close();
});

test('[POD-6] a pod that we have deleted is seen to be so when it is gone, or when finalizers alone keep it', async () => {
  const server = new ScriptedServer();
  const clock = manualClock();
  const transport = { send: server.send, close: () => {} };
  const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  const quiet = { onChange: () => {}, onProblem: () => {} };
  const pods = new NodePods({ client, clock, random: () => 0, node: 'node-1', ...quiet });
  const pod = (name: string, resourceVersion: string, grace: number, finalizers: string[] = []): KubeObject => {
    const ending = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: grace };
    return { metadata: { name, namespace: 'a', uid: name, resourceVersion, finalizers, ...ending } };
  };
  await server.list('10', [pod('plain', '1', 30), pod('kept', '2', 30, ['example.com/it'])], undefined, '/pods');
  const watch = await server.watch('/pods');
  const seen: boolean[] = [pods.showsOwnWrites];
  const after = async (type: 'MODIFIED' | 'DELETED', object: KubeObject): Promise<void> => {
    await watch.event(type, object);
    seen.push(pods.showsOwnWrites);
  };
  pods.wrote('kept', undefined);
  seen.push(pods.showsOwnWrites);
  await after('MODIFIED', pod('kept', '11', 0, ['example.com/it']));
  // The API server takes its grace away first, and then the pod: in between it looks like one that somebody keeps.
  pods.wrote('plain', undefined);
  await after('MODIFIED', pod('plain', '12', 0));
  await after('DELETED', pod('plain', '13', 0));
  assert.deepEqual(seen, [true, false, true, false, true]);
  pods.close();
});

test('[RET-2] a write of ours that does not come is not waited for: after a while the pods are listed anew', async () => {
  const server = new ScriptedServer();
  const clock = manualClock();
  const transport = { send: server.send, close: () => {} };
  const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
  const quiet = { onChange: () => {}, onProblem: () => {} };
  const pods = new NodePods({ client, clock, random: () => 0, node: 'node-1', ...quiet });
  const gone = { metadata: { name: 'gone', namespace: 'a', uid: 'gone', resourceVersion: '1' } };
  await server.list('10', [gone], undefined, '/pods');
  await server.watch('/pods');
  clock.advance(3000);
  pods.wrote('gone', undefined);
  clock.advance(1500);
  pods.awaitOwnWrites();
  await settle();
  assert.equal(pods.showsOwnWrites, false, 'it may be on its way');
  clock.advance(3500);
  pods.awaitOwnWrites();
  await settle();
  clock.advance(200);
  await server.list('12', [], undefined, '/pods');
  await settle();
  assert.equal(pods.showsOwnWrites, true);
  pods.close();
});

test('[NGS-11] a claim that cannot be read is not missing, and is read again at once; what is known holds for a while', async () => {
  let status = 500;
  let reads = 0;
  const claim = { metadata: { name: 'vol', namespace: 'a' }, spec: { volumeName: 'pv' } };
  const volume = { metadata: { name: 'pv' }, spec: { csi: { driver: 'd', volumeHandle: 'h' } } };
  const pods = podsWith((path) => {
    reads += 1;
    const body = path.includes('claims') ? claim : volume;
    return { status, body: status === 200 ? body : { kind: 'Status', code: status, message: 'no' } };
  });
  const here = { ...aPod(), namespace: 'a', claims: [{ volume: 'data', claim: 'vol' }] };
  const reasonOf = async (code: number): Promise<string> => {
    status = code;
    const facts = (await pods.volumesOf([here])).get('a/vol');
    return facts === undefined ? 'nothing' : facts.known ? 'known' : facts.reason;
  };
  assert.equal(await reasonOf(500), 'Unreadable');
  assert.equal(await reasonOf(403), 'Unreadable');
  assert.equal(await reasonOf(404), 'ClaimMissing');
  assert.equal(await reasonOf(200), 'known');
  const before = reads;
  assert.equal(await reasonOf(500), 'known');
  assert.equal(reads, before);
  pods.close();
});

test('[STM-5] budgets that are obeyed are read each time, others once in a while; what cannot be read is not empty', async () => {
  let status = 200;
  let reads = 0;
  const spent = { metadata: { name: 'b', namespace: 'a' }, spec: { selector: {} }, status: { disruptionsAllowed: 0 } };
  const pods = podsWith(() => {
    reads += 1;
    return { status, body: status === 200 ? { metadata: {}, items: [spent] } : { kind: 'Status', code: status } };
  });
  const read = async (isLive: boolean, namespace = 'a'): Promise<unknown> => {
    const found = await pods.budgetsIn(new Set([namespace]), isLive);
    return found.ok ? found.value.length : 'unread';
  };
  assert.deepEqual([await read(false), await read(false), reads], [1, 1, 1]);
  assert.deepEqual([await read(false, 'other'), reads], [1, 2], 'of another namespace nothing is known');
  assert.deepEqual([await read(true, 'other'), reads], [1, 3]);
  status = 403;
  assert.equal(await read(true, 'other'), 'unread');
  pods.close();
});
