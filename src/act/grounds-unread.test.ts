/** [S26] What a decision rests on and cannot be read is not taken for unchanged, whichever of it that is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, nodeRef } from '../../test/support/act-cluster.ts';
import type { Compared } from '../../test/support/act-grounds.ts';
import { every, found, groundsOf, seen } from '../../test/support/act-grounds.ts';
import { plansOf } from '../api/plans.ts';
import type { Basis, Grounds } from '../api/steps.ts';

/** With everything that they may name beside what is theirs. */
async function fullGrounds(cluster: ActCluster, basis: Compared): Promise<Grounds> {
  const { uid, labels } = await cluster.pod();
  return {
    ...(await groundsOf(cluster, basis)),
    pods: [await seen(cluster)],
    budgeted: [{ namespace: 'default', name: 'web-0', labels }],
    worth: {
      plans: plansOf(await cluster.read(nodeRef)),
      gain: { kind: 'pod', namespace: 'default', name: 'web-0', uid },
    },
    slot: { kind: 'fence', max: 1 },
  };
}

/** Every path that is read for them. */
async function pathsOf(cluster: ActCluster, grounds: Grounds): Promise<string[]> {
  const paths = new Set<string>();
  const stop = cluster.server.faults.inject({ matches: ({ path }) => paths.add(path).size === 0, code: 500 });
  assert.equal(await found(cluster, grounds), 'nothing', grounds.basis);
  stop();
  return [...paths];
}

async function withUnreadable(cluster: ActCluster, path: string, grounds: Grounds): Promise<string> {
  const stop = cluster.server.faults.inject({ matches: (request) => request.path === path, code: 500 });
  const refusal = await found(cluster, grounds);
  stop();
  return refusal;
}

describe('grounds that cannot be read', () => {
  test('[NGS-11] unknown is not no, whichever read it is that fails', async () => {
    const cluster = await ActCluster.create();
    const counts = new Map<Basis, number>();
    for (const basis of every) {
      const grounds = await fullGrounds(cluster, basis);
      const paths = await pathsOf(cluster, grounds);
      counts.set(basis, paths.length);
      for (const path of paths) {
        assert.match(await withUnreadable(cluster, path, grounds), /^unreadable: /, `${basis} without ${path}`);
      }
    }
    assert.ok((counts.get('Remedy') ?? 0) >= 8, 'node, lease, record, policy, slots, gain, budgets, pause, pods');
    assert.ok((counts.get('StorageSafeDetach') ?? 0) >= 8, 'and the driver');
  });

  test('[NGS-11, POD-3] whether a node is gone cannot be read: that is not to say that it is', async () => {
    const cluster = await ActCluster.create();
    const { nodeUid: _, bootId: __, leaseRenewTime: ___, ...grounds } = await groundsOf(cluster);
    await cluster.remove(nodeRef);
    const gone: Grounds = { ...grounds, taints: [] };
    assert.match(await withUnreadable(cluster, '/api/v1/nodes/node-1', gone), /^unreadable: /);
    assert.equal(await found(cluster, gone), 'nothing');
  });
});
