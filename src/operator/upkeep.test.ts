import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef, nodeRef } from '../../test/support/act-cluster.ts';
import { aFence, anIncident, aRecord } from '../../test/support/release-case.ts';
import type { StoredDevice } from '../act/device-records.ts';
import { DeviceRecords } from '../act/device-records.ts';
import { timeOf } from '../api/facts.ts';
import { FenceStore } from '../act/fence-store.ts';
import type { NodeFence } from '../api/node-fence.ts';
import { upkeepOf } from '../decide/upkeep.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { fenceDevices, namespaces } from '../kube/resources.ts';
import type { Transport } from '../kube/transport.ts';
import { TransportError } from '../kube/transport.ts';
import type { Log } from '../report/log.ts';
import { RecordUpkeep } from './upkeep.ts';

const dayMs = 24 * 3_600_000;
const silent = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} } as unknown as Log;

function upkeepIn(
  { clock, ...cluster }: ActCluster,
  client = cluster.client,
): { sweep: () => Promise<void>; problems: string[] } {
  const problems: string[] = [];
  const upkeep = new RecordUpkeep({
    client,
    clock,
    log: silent,
    store: new FenceStore({ client, guard: () => true, timeoutMs: 1000 }),
    devices: new DeviceRecords({ client, clock, namespace: 'fenceline', isLeading: () => true, onProblem: () => {} }),
    isSeen: () => false,
    onProblem: (source, { kind }) => problems.push(`${source} ${kind}`),
  });
  return { sweep: () => upkeep.sweep(new AbortController().signal), problems };
}

describe('[SAF-20] records of nodes that are gone', () => {
  test('are deleted after seven days, however often the operator was restarted meanwhile', async () => {
    const cluster = await ActCluster.create();
    await upkeepIn(cluster).sweep();
    await cluster.remove(nodeRef);
    for (let day = 0; day < 7; day += 1) {
      await upkeepIn(cluster).sweep();
      cluster.clock.advance(dayMs - 1000);
    }
    await upkeepIn(cluster).sweep();
    assert.equal(await cluster.exists(fenceRef), true, 'some seconds are missing');
    cluster.clock.advance(7000);
    const { sweep, problems } = upkeepIn(cluster);
    await sweep();
    assert.equal(await cluster.exists(fenceRef), false);
    assert.deepEqual(problems, []);
    const deletion = cluster.writes.find(({ verb, resource }) => verb === 'delete' && resource === 'nodefences');
    const { preconditions } = JSON.parse(deletion?.body ?? '{}') as { preconditions?: Record<string, string> };
    assert.deepEqual(Object.keys(preconditions ?? {}).toSorted(), ['resourceVersion', 'uid']);
  });

  test('count anew when the node was there in between', async () => {
    const cluster = await ActCluster.create();
    await cluster.remove(nodeRef);
    await upkeepIn(cluster).sweep();
    await cluster.makeNodeAgain();
    await upkeepIn(cluster).sweep();
    const { status } = await cluster.read<NodeFence & KubeObject>(fenceRef);
    assert.equal(status.goneSince, undefined);
  });

  const longAgo = '2026-01-01T00:00:00Z';
  const nowMs = Date.parse(longAgo) + 30 * dayMs;
  const gone = (status: Partial<NodeFence['status']>): string =>
    upkeepOf(aFence({ goneSince: longAgo, ...status }), { isThere: false, nowMs });

  test('in which something is open stay', () => {
    assert.equal(gone({}), 'delete');
    assert.equal(gone({ incident: anIncident() }), 'nothing');
    assert.equal(gone({ releases: [aRecord()] }), 'nothing');
    assert.equal(gone({ releases: [aRecord({ endedAt: longAgo })] }), 'delete');
    const taint = { kind: 'Taint', key: 'x', effect: 'NoSchedule', recordedAt: longAgo } as const;
    assert.equal(gone({ applied: [taint] }), 'nothing');
    const stopped = aFence({ goneSince: longAgo });
    assert.equal(upkeepOf({ ...stopped, spec: { ...stopped.spec, stop: true } }, { isThere: false, nowMs }), 'nothing');
  });
});

describe('[SAF-20] FenceDevices of nodes that are gone', () => {
  const refOf = (name: string) => ({ resource: fenceDevices, namespace: 'fenceline', name });

  async function withDevices(specs: Record<string, object>): Promise<ActCluster> {
    const cluster = await ActCluster.create();
    await cluster.client.create(namespaces, { metadata: { name: 'fenceline' } });
    for (const [name, spec] of Object.entries(specs)) {
      const object = { metadata: { name, namespace: 'fenceline' }, spec };
      assert.ok((await cluster.client.create(fenceDevices, object)).ok, name);
    }
    return cluster;
  }

  test('are deleted after seven days where the operator has made them, and never where somebody has written them', async () => {
    const cluster = await withDevices({
      'node-1.pdu': { node: 'node-1' },
      bmc: { node: 'node-1', driver: 'simulated' },
      redfish: { selector: { matchLabels: { a: 'b' } }, driver: 'simulated' },
    });
    await upkeepIn(cluster).sweep();
    assert.equal((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince, undefined);
    await cluster.remove(nodeRef);
    await upkeepIn(cluster).sweep();
    assert.ok((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince !== undefined);
    cluster.clock.advance(7 * dayMs - 5000);
    await upkeepIn(cluster).sweep();
    assert.equal(await cluster.exists(refOf('node-1.pdu')), true, 'some seconds are missing');
    cluster.clock.advance(7000);
    const { sweep, problems } = upkeepIn(cluster);
    await sweep();
    assert.equal(await cluster.exists(refOf('node-1.pdu')), false);
    assert.equal(await cluster.exists(refOf('bmc')), true);
    assert.equal((await cluster.read<StoredDevice>(refOf('bmc'))).status?.goneSince, undefined);
    assert.equal(await cluster.exists(refOf('redfish')), true);
    assert.deepEqual(problems, []);
    const deletion = cluster.writes.find(({ verb, resource }) => verb === 'delete' && resource === 'fencedevices');
    const { preconditions } = JSON.parse(deletion?.body ?? '{}') as { preconditions?: Record<string, string> };
    assert.deepEqual(Object.keys(preconditions ?? {}).toSorted(), ['resourceVersion', 'uid']);
  });

  test('are deleted an hour after the last configuration named them, and not while anything of them is needed', async () => {
    const names = ['node-1.left', 'node-1.named', 'node-1.wrong', 'node-1.shown'];
    const cluster = await withDevices({
      ...Object.fromEntries(names.map((name) => [name, { node: 'node-1' }])),
      bmc: { node: 'node-1', driver: 'simulated' },
    });
    const unnamed = { unnamedSince: timeOf(cluster.clock.now()), configuration: 'of-before' };
    for (const name of ['node-1.left', 'bmc', 'node-1.shown']) await cluster.patchStatus(refOf(name), unnamed);
    await cluster.patchStatus(refOf('node-1.named'), { configuration: 'of-today' });
    const wrong = { since: '2026-01-01T00:00:00Z', reason: 'OutletsSwapped', message: 'node-2 fell silent' };
    await cluster.patchStatus(refOf('node-1.wrong'), { ...unnamed, wrong });
    const { metadata } = await cluster.read(refOf('node-1.shown'));
    const shown = { op: 'add' as const, path: '/spec/shown', value: { by: 'jane', configuration: 'of-before' } };
    assert.ok((await cluster.client.patch(refOf('node-1.shown'), { uid: metadata.uid ?? '' }, [shown])).ok);
    const left = async (): Promise<string[]> => {
      await upkeepIn(cluster).sweep();
      const listed = await cluster.client.list(fenceDevices, { namespace: 'fenceline' });
      return listed.ok ? listed.value.items.map(({ metadata: { name } }) => name).toSorted() : [];
    };
    cluster.clock.advance(3_500_000);
    assert.deepEqual(await left(), [...names, 'bmc'].toSorted(), 'somebody may put back what was there');
    cluster.clock.advance(200_000);
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident: anIncident() });
    assert.deepEqual(await left(), [...names, 'bmc'].toSorted(), 'something is open');
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me' });
    assert.deepEqual(await left(), ['bmc', 'node-1.named', 'node-1.shown', 'node-1.wrong']);
  });

  test('stay while something is open in the record of the node, and count anew when it was there', async () => {
    const cluster = await withDevices({ 'node-1.pdu': { node: 'node-1' } });
    await cluster.remove(nodeRef);
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident: anIncident() });
    await upkeepIn(cluster).sweep();
    assert.equal((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince, undefined);
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me' });
    await upkeepIn(cluster).sweep();
    assert.ok((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince !== undefined);
    await cluster.makeNodeAgain();
    await upkeepIn(cluster).sweep();
    assert.equal((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince, undefined);
  });

  test('are not taken for gone because nobody could read them', async () => {
    const cluster = await withDevices({ 'node-1.pdu': { node: 'node-1' } });
    const { clock } = cluster;
    const inner = cluster.server.transport('operator');
    const transport: Transport = {
      send: async (request) => {
        if (request.path.startsWith('/api/v1/nodes/')) throw new TransportError('broken', 'the connection broke');
        return inner.send(request);
      },
      close: () => inner.close(),
    };
    const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'fenceline' });
    const { sweep, problems } = upkeepIn(cluster, client);
    await sweep();
    assert.equal(problems.length, 2, 'one for its record, one for its device');
    assert.equal((await cluster.read<NodeFence & KubeObject>(fenceRef)).status.goneSince, undefined);
    assert.equal((await cluster.read<StoredDevice>(refOf('node-1.pdu'))).status?.goneSince, undefined);
    // It was gone for long, and is not looked for in vain: it may be back.
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', goneSince: '2025-01-01T00:00:00Z' });
    await cluster.patchStatus(refOf('node-1.pdu'), { goneSince: '2025-01-01T00:00:00Z' });
    await sweep();
    assert.deepEqual([await cluster.exists(fenceRef), await cluster.exists(refOf('node-1.pdu'))], [true, true]);
  });
});
