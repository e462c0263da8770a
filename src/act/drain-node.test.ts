import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, nodeRef, podRef } from '../../test/support/act-cluster.ts';
import { whileTimePasses } from '../../test/support/while-time-passes.ts';
import type { MayAct } from './device-tasks.ts';
import { cordonFirst, drainNode, Leavers } from './drain-node.ts';
import type { TryOutcome } from './power.ts';

interface Drained {
  guard?: () => boolean;
  mayAct?: MayAct;
  leavers?: Leavers;
}

async function drained(
  cluster: ActCluster,
  { guard = () => true, mayAct = async () => undefined, leavers = new Leavers() }: Drained = {},
): Promise<TryOutcome> {
  const { client, clock } = cluster;
  const node = await cluster.node();
  const calls = { client, clock, guard, timeoutMs: 1000, mayAct, leavers };
  return (await cordonFirst(node, calls)) ?? whileTimePasses(clock, drainNode(node.name, calls));
}

const verbs = ({ writes }: ActCluster): string[] =>
  writes.map(
    ({ verb, resource, subresource }) => `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`,
  );

describe('a drain', () => {
  test('S24: evicts what has to leave, and gives up in the end on what does not go', async () => {
    const cluster = await ActCluster.create();
    const daemon = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd', controller: true };
    await cluster.addPod('daemon', { ownerReferences: [daemon] });
    await cluster.addPod('mirror', { annotations: { 'kubernetes.io/config.mirror': 'x' } });
    cluster.writes.length = 0;
    const outcome = await drained(cluster);
    assert.deepEqual(verbs(cluster), ['patch nodes', 'create pods/eviction'], 'cordoned first; of one pod, once');
    assert.equal((await cluster.node()).isOurCordon, true);
    assert.deepEqual(outcome, {
      outcome: 'failed',
      message: 'node-1 could not be drained: 1 pods are still terminating',
    });
    await cluster.remove({ ...podRef });
    assert.equal((await drained(cluster)).outcome, 'succeeded');
  });

  test('[SAF-9] of those that came later one of each controller leaves, and no other holds it up, nor does another try', async () => {
    const cluster = await ActCluster.create();
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop', uid: 'shop', controller: true };
    const come = (name: string): Promise<void> => cluster.addPod(name, { ownerReferences: [owner] });
    await cluster.remove(podRef);
    await come('first');
    const leavers = new Leavers();
    const evicted: string[] = [];
    let last = 0;
    const mayAct: MayAct = async () => {
      const seen = cluster.writes.slice(last).filter(({ subresource }) => subresource === 'eviction');
      last = cluster.writes.length;
      evicted.push(...seen.map(({ name = '' }) => name));
      for (const { name = '' } of seen) await cluster.remove({ ...podRef, name });
      if (seen.length > 0) await Promise.all(['one', 'two'].map((one) => come(`${one}-${evicted.length}`)));
      return evicted.length > 1 ? 'somebody has stopped it' : undefined;
    };
    assert.deepEqual(await drained(cluster, { mayAct, leavers }), {
      outcome: 'dropped',
      message: 'somebody has stopped it',
    });
    assert.deepEqual(await drained(cluster, { leavers }), {
      outcome: 'succeeded',
      message: 'node-1 is empty, but for 3 pods that came while it was drained',
    });
    assert.deepEqual(evicted, ['first', 'one-1']);
  });

  test('[RET-2] what others have cordoned stays theirs, and what cannot be cordoned is not drained', async () => {
    const theirs = await ActCluster.create();
    await theirs.patch(nodeRef, '/spec/unschedulable', true);
    await drained(theirs);
    assert.equal((await theirs.node()).isOurCordon, undefined);
    const gone = await ActCluster.create();
    const node = { ...(await gone.node()), uid: 'another' };
    gone.writes.length = 0;
    const { client, clock } = gone;
    const calls = { client, clock, guard: () => true, timeoutMs: 1000, leavers: new Leavers() };
    const outcome = await cordonFirst(node, { ...calls, mayAct: async () => undefined });
    assert.match(outcome?.message ?? '', /^node-1 could not be drained, because it could not be cordoned: /);
    assert.equal(outcome?.outcome, 'failed');
    assert.equal((await cordonFirst(node, { ...calls, mayAct: async () => 'no' }))?.outcome, 'dropped');
  });

  test('whoever does not lead any more evicts nobody', async () => {
    const cluster = await ActCluster.create();
    assert.equal((await drained(cluster, { guard: () => false })).outcome, 'failed');
    assert.deepEqual(verbs(cluster), []);
  });
});
