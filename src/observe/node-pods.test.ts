import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aPod } from '../../test/support/release-case.ts';
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
