import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import type { StoredFence } from '../cli/node-fence.ts';
import type { KubeClient } from '../kube/client.ts';
import { actAs } from './acts.ts';
import { allowedActs } from './rights.ts';

test('[SAF-6, ADM-4] what may cut a machine wants its name typed, whatever the page has asked for', async () => {
  const cluster = await ActCluster.create();
  const before = cluster.writes.length;
  for (const typed of [undefined, '', 'node-2', ' node-1']) {
    const told = await actAs(cluster.client, {
      act: 'fence',
      node: 'node-1',
      ...(typed === undefined ? {} : { typed }),
    });
    assert.deepEqual(told, { ok: false, text: 'type the name of the node first; nothing was done' });
  }
  assert.equal(cluster.writes.length, before);
  assert.equal((await actAs(cluster.client, { act: 'stop', node: 'node-1' })).ok, true, 'a stop is one press');
  assert.equal((await cluster.read<StoredFence>(fenceRef)).spec.stop, true);
});

test('[ADM-4] what is offered is what the API server allows, and nothing where it does not say', async () => {
  const answering = (
    allowed: (resource: { verb?: string; subresource?: string }) => boolean | undefined,
  ): KubeClient => {
    const create = async (_: unknown, object: unknown): Promise<unknown> => {
      const { resourceAttributes } = (object as { spec: { resourceAttributes: object } }).spec;
      const is = allowed(resourceAttributes);
      return is === undefined ? { ok: false, error: {} } : { ok: true, value: { status: { allowed: is } } };
    };
    return { create } as unknown as KubeClient;
  };
  assert.deepEqual(await allowedActs(answering(() => false)), []);
  assert.deepEqual(await allowedActs(answering(() => undefined)), []);
  assert.deepEqual(await allowedActs(answering(({ subresource }) => subresource === 'status')), ['approve']);
  assert.equal((await allowedActs(answering(() => true))).length, 4);
});
