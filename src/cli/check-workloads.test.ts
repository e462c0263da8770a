import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { fenceDevices } from '../kube/resources.ts';
import { render, workloadReport } from './check-workloads.ts';

test('[EXP-4] pods whose nodes could not be fenced when last asked are not said to fail over', async () => {
  const cluster = await ActCluster.create();
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true };
  await cluster.addPod('db-0', { ownerReferences: [owner] });
  const device = {
    metadata: { name: 'node-1-ipmi', namespace: 'default' },
    spec: { node: 'node-1', agent: 'fence_ipmilan' },
  };
  await cluster.make(fenceDevices, device);
  const told = async (status: Record<string, unknown>): Promise<[string, number]> => {
    await cluster.patchStatus({ resource: fenceDevices, namespace: 'default', name: 'node-1-ipmi' }, status);
    const flags = { allowAgentParameters: [] };
    const report = await workloadReport(cluster.client, 'default', { names: [], flags });
    return [await render({ ...report, stateful: 1, findings: [] }, undefined), report.unfenceable.length];
  };
  const silent = await told({ fenceable: false, reason: 'DeviceSilent', message: 'it timed out' });
  assert.deepEqual(silent, [
    'The one stateful pod would fail over if its node could be fenced.\n\n' +
      'COULD NOT BE FENCED   BY            REASON         WHY\n' +
      'node-1                node-1-ipmi   DeviceSilent   it timed out\n',
    1,
  ]);
  const [text, count] = await told({ fenceable: true });
  assert.equal(count, 0);
  assert.equal(
    text,
    'The one stateful pod would fail over, as far as can be told without trying, provided that the devices answer: fenceline check\n',
  );
});

test('[EXP-4] several pods, and none', async () => {
  const of = (stateful: number): Promise<string> =>
    render({ stateful, findings: [], unfenceable: [], unread: [] }, undefined);
  assert.match(await of(3), /^All 3 stateful pods would fail over, /);
  assert.equal(await of(0), 'No stateful pod is found.\n');
});
