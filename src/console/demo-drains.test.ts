import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, nodeRef, podRef } from '../../test/support/act-cluster.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { DemoDrains, drainNews } from './demo-drains.ts';

interface Scene {
  cluster: ActCluster;
  drains: DemoDrains;
  story: string[];
  /** What kubectl has asked to evict so far. */
  evictions: () => number;
  cordoned: () => Promise<boolean>;
}

async function scene(): Promise<Scene> {
  const cluster = await ActCluster.create();
  const story: string[] = [];
  const { clock } = cluster;
  const transport = cluster.server.transport('kubectl');
  const client = new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
  const drains = new DemoDrains({ client, clock, tell: (text) => story.push(text) });
  return {
    cluster,
    drains,
    story,
    evictions: () => cluster.writes.filter(({ subresource }) => subresource === 'eviction').length,
    cordoned: async () =>
      (await cluster.read<KubeObject & { spec?: { unschedulable?: boolean } }>(nodeRef)).spec?.unschedulable === true,
  };
}

/** Time passes, and everybody who waits for it may act. */
async function passes(cluster: ActCluster, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    cluster.clock.advance(1000);
    await new Promise(setImmediate);
  }
}

function refuseEvictions({ cluster }: Scene): () => void {
  const budget = { code: 429, reason: 'TooManyRequests', message: 'a budget forbids it' };
  return cluster.server.faults.inject({ matches: ({ path }) => path.endsWith('/eviction'), ...budget });
}

describe('drains of the page', () => {
  test('the node is cordoned, a refused eviction is tried again, and the end is told', async () => {
    const it = await scene();
    const allow = refuseEvictions(it);
    it.drains.begin('node-1');
    it.drains.begin('node-1');
    await waitFor('a refusal', () => it.evictions() === 1);
    assert.equal(await it.cordoned(), true);
    allow();
    await passes(it.cluster, 6);
    await waitFor('the eviction', () => it.evictions() === 2);
    await it.cluster.remove(podRef);
    await waitFor('the end', async () => {
      await passes(it.cluster, 1);
      return it.story.length === 2;
    });
    assert.deepEqual(it.story, ['node-1: somebody drains it', 'node-1: drained']);
    it.drains.begin('node-1');
    assert.equal(it.story.length, 3, 'what has ended can be begun again');
  });

  test('an uncordon gives up the drain that waits: nothing is evicted any more', async () => {
    const it = await scene();
    const allow = refuseEvictions(it);
    it.drains.begin('node-1');
    await waitFor('a refusal', () => it.evictions() === 1);
    it.drains.uncordon('node-1');
    allow();
    await waitFor('the uncordon', () => it.story.length === 2);
    assert.equal(await it.cordoned(), false);
    await passes(it.cluster, 60);
    assert.equal(it.evictions(), 1);
    assert.deepEqual(it.story, ['node-1: somebody drains it', 'node-1: uncordoned'], 'and it has not failed');
  });

  test('the end of the demo is the end of its drains', async () => {
    const it = await scene();
    refuseEvictions(it);
    it.drains.begin('node-1');
    await waitFor('a refusal', () => it.evictions() === 1);
    it.drains.end();
    await passes(it.cluster, 60);
    assert.equal(it.evictions(), 1);
  });

  test('what cannot be done is told', async () => {
    const it = await scene();
    it.cluster.server.faults.down();
    it.drains.begin('node-1');
    await waitFor('the failure', () => it.story.includes('node-1: its drain has failed'));
    it.drains.uncordon('node-1');
    await waitFor('the problem', () => it.story.some((text) => /^node-1: not uncordoned: ./.test(text)));
  });

  test('of what the operator does, replicas and the way out are news, standing budgets are not', () => {
    assert.equal(drainNews('requestEviction', 'v-r-1'), 'replica v-r-1 is to be rebuilt elsewhere first');
    assert.equal(drainNews('withdrawEviction', 'v-r-1'), 'replica v-r-1 may stay');
    assert.equal(drainNews('createBudget', 'b'), undefined);
  });
});
