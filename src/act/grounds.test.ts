/** [S15] What a decision rests on is read right before the act; whatever is different then stops it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ActCluster,
  driverRef,
  fenceRef,
  leaseRef,
  nodeRef,
  policyRef,
  renewTime,
} from '../../test/support/act-cluster.ts';
import { driver, entry, quarantine } from '../../test/support/release-case.ts';
import type { Grounds } from '../api/release-view.ts';
import type { Refusal } from './grounds.ts';
import { verify } from './grounds.ts';

async function groundsOf(cluster: ActCluster): Promise<Grounds> {
  const policy = await cluster.read(policyRef);
  return {
    node: 'node-1',
    nodeUid: await cluster.uidOf(nodeRef),
    bootId: 'boot-1',
    taints: [quarantine],
    leaseRenewTime: renewTime,
    policy: { name: 'release', uid: policy.metadata.uid ?? '', generation: policy.metadata.generation ?? 0 },
    safeDrivers: [driver],
    freed: [],
    epoch: 3,
  };
}

function said(refusal: Refusal | undefined): string {
  if (refusal === undefined) return 'nothing';
  return refusal.kind === 'unreadable' ? `unreadable: ${refusal.error.kind}` : refusal.what;
}

describe('the grounds of an act', () => {
  test('stand as long as nothing has changed', async () => {
    const cluster = await ActCluster.create();
    assert.equal(said(await verify(cluster.client, await groundsOf(cluster), {})), 'nothing');
  });

  const ready = (status: string): object[] => [{ type: 'Ready', status }];
  const rows: [string, RegExp, (cluster: ActCluster) => Promise<void>][] = [
    [
      'the node is Ready',
      /Ready of node-1 is True/,
      (c) => c.patch(nodeRef, '/status/conditions', ready('True'), 'status'),
    ],
    [
      'it reports nothing',
      /Ready of node-1 is not reported/,
      (c) => c.patch(nodeRef, '/status/conditions', [], 'status'),
    ],
    ['it was booted', /booted again/, (c) => c.patch(nodeRef, '/status/nodeInfo/bootID', 'boot-2', 'status')],
    [
      'the quarantine was taken away',
      /taint fenceline\.dev\/quarantine:NoSchedule is not on/,
      (c) => c.patch(nodeRef, '/spec/taints', []),
    ],
    ['the node is gone', /node node-1 is gone/, (c) => c.remove(nodeRef)],
    [
      'the Lease was renewed',
      /renewed its Lease/,
      (c) => c.patch(leaseRef, '/spec/renewTime', '2026-01-01T00:09:00.000000Z'),
    ],
    ['another instance took over', /taken over/, (c) => c.patch(fenceRef, '/status/epoch', 4, 'status')],
    ['somebody stopped it', /is stopped/, (c) => c.patch(fenceRef, '/spec/stop', true)],
    ['the record is gone', /NodeFence node-fence-node-1 is gone/, (c) => c.remove(fenceRef)],
    ['the policy was edited', /RemedyPolicy release was edited/, (c) => c.patch(policyRef, '/spec/mode', 'Paused')],
    ['the policy is gone', /RemedyPolicy release is gone/, (c) => c.remove(policyRef)],
    [
      'the driver takes its word back',
      /does not detach safely any more/,
      (c) => c.patch(driverRef, '/metadata/annotations', { 'fenceline.dev/safe-detach': 'false' }),
    ],
    ['the driver is gone', /CSIDriver driver\.longhorn\.io is gone/, (c) => c.remove(driverRef)],
  ];
  for (const [when, message, change] of rows) {
    test(`fall when ${when}`, async () => {
      const cluster = await ActCluster.create();
      const grounds = await groundsOf(cluster);
      await change(cluster);
      assert.match(said(await verify(cluster.client, grounds, {})), message);
    });
  }

  test('fall when a newcomer has the name of the node', async () => {
    const cluster = await ActCluster.create();
    const grounds = { ...(await groundsOf(cluster)), nodeUid: 'earlier' };
    assert.match(said(await verify(cluster.client, grounds, {})), /another node of the same name/);
  });

  test('[NGS-4] fall when what was freed is in use again: a kubelet wrote it', async () => {
    const cluster = await ActCluster.create();
    const grounds = { ...(await groundsOf(cluster)), freed: [entry] };
    assert.match(said(await verify(cluster.client, grounds, {})), /in volumesInUse of node-1: a kubelet wrote it/);
  });

  test('[POD-3] without a Node object it has to be absent still', async () => {
    const cluster = await ActCluster.create();
    const { nodeUid: _, bootId: __, leaseRenewTime: ___, ...grounds } = await groundsOf(cluster);
    assert.match(said(await verify(cluster.client, { ...grounds, taints: [] }, {})), /there is a node node-1 again/);
    await cluster.remove(nodeRef);
    assert.equal(said(await verify(cluster.client, { ...grounds, taints: [] }, {})), 'nothing');
  });

  test('[NGS-11] unknown is not no: what cannot be read stops the act', async () => {
    const cluster = await ActCluster.create();
    const grounds = await groundsOf(cluster);
    cluster.server.faults.down();
    assert.match(said(await verify(cluster.client, grounds, { timeoutMs: 1000 })), /^unreadable: /);
  });

  test('a Lease that was never there is no sign of life', async () => {
    const cluster = await ActCluster.create();
    const grounds = await groundsOf(cluster);
    await cluster.remove(leaseRef);
    assert.equal(said(await verify(cluster.client, grounds, {})), 'nothing');
  });
});
