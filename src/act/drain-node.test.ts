import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, podRef } from '../../test/support/act-cluster.ts';
import { whileTimePasses } from '../../test/support/while-time-passes.ts';
import type { MayAct } from './device-tasks.ts';
import { drainNode } from './drain-node.ts';
import type { TryOutcome } from './power.ts';

function drained(
  { client, clock }: ActCluster,
  guard = () => true,
  mayAct: MayAct = async () => undefined,
): Promise<TryOutcome> {
  return whileTimePasses(clock, drainNode('node-1', { client, clock, guard, timeoutMs: 1000, mayAct }));
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
    assert.deepEqual(verbs(cluster), ['create pods/eviction'], 'of one pod, once');
    assert.deepEqual(outcome, {
      outcome: 'failed',
      message: 'node-1 could not be drained: 1 pods are still terminating',
    });
    await cluster.remove({ ...podRef });
    assert.equal((await drained(cluster)).outcome, 'succeeded');
  });

  test('whoever does not lead any more evicts nobody', async () => {
    const cluster = await ActCluster.create();
    assert.equal((await drained(cluster, () => false)).outcome, 'failed');
    assert.deepEqual(verbs(cluster), []);
  });
});
