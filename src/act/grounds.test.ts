/** [S15] What a decision rests on is read right before the act; whatever is different then stops it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ActCluster,
  driverRef,
  fenceRef,
  leaseRef,
  nodeRef,
  podRef,
  policyRef,
} from '../../test/support/act-cluster.ts';
import { but, every, found, groundsOf, own, seen } from '../../test/support/act-grounds.ts';
import { aStored, entryOf } from '../../test/support/fenced-case.ts';
import { driver, entry } from '../../test/support/release-case.ts';
import { nodeFenceName } from '../api/fence-names.ts';
import { plansOf } from '../api/plans.ts';
import { writtenPause } from '../api/seen-pause.ts';
import type { Method } from '../api/fence-config.ts';
import type { AskedElsewhere, Basis, Grounds, SeenPod } from '../api/steps.ts';
import type { Device } from '../devices/device.ts';
import type { KubeObject } from '../kube/client.ts';
import type { Knocked } from '../kube/knock.ts';
import { configMaps, nodeFences } from '../kube/resources.ts';
import type { AskDevices, LookElsewhere } from './grounds.ts';
import { namesCause, verify } from './grounds.ts';
import { LiveReads } from './live-reads.ts';

describe('the grounds of an act', () => {
  test('stand as long as nothing has changed', async () => {
    const cluster = await ActCluster.create();
    for (const basis of every) assert.equal(await found(cluster, await groundsOf(cluster, basis)), 'nothing', basis);
  });

  const ready = (status: string): object[] => [{ type: 'Ready', status }];
  /** Each with the bases whose grounds it takes away; the others stand. */
  const rows: [string, RegExp, (cluster: ActCluster) => Promise<void>, readonly Basis[]][] = [
    [
      'the node is Ready',
      /Ready of node-1 is True/,
      (c) => c.patch(nodeRef, '/status/conditions', ready('True'), 'status'),
      but('Return', 'PowerOff', 'Unmark'),
    ],
    [
      'it reports nothing',
      /Ready of node-1 is not reported/,
      (c) => c.patch(nodeRef, '/status/conditions', [], 'status'),
      but('Return', 'PowerOff', 'Unmark'),
    ],
    ['it was booted', /booted again/, (c) => c.patch(nodeRef, '/status/nodeInfo/bootID', 'boot-2', 'status'), every],
    [
      'the quarantine was taken away',
      /taint fenceline\.dev\/quarantine:NoSchedule is not on/,
      (c) => c.patch(nodeRef, '/spec/taints', []),
      every,
    ],
    ['the node is gone', /node node-1 is gone/, (c) => c.remove(nodeRef), every],
    [
      'the Lease was renewed',
      /renewed its Lease/,
      (c) => c.patch(leaseRef, '/spec/renewTime', '2026-01-01T00:09:00.000000Z'),
      but('Return', 'Unmark'),
    ],
    [
      'the kubelet has reported that it is not Ready',
      /has written its status/,
      (c) => c.patch(nodeRef, '/status/conditions', [{ ...ready('False')[0], lastHeartbeatTime: 'now' }], 'status'),
      but('Return', 'Unmark'),
    ],
    ['another instance took over', /taken over/, (c) => c.patch(fenceRef, '/status/epoch', 4, 'status'), but('Unmark')],
    ['somebody stopped it', /is stopped/, (c) => c.patch(fenceRef, '/spec/stop', true), but('Unmark')],
    ['the record is gone', /NodeFence node-fence-node-1 is gone/, (c) => c.remove(fenceRef), but('Unmark')],
    [
      'the policy was edited',
      /RemedyPolicy release was edited/,
      (c) => c.patch(policyRef, '/spec/mode', 'Paused'),
      but('Unmark'),
    ],
    [
      'everything was paused',
      /the pause for all in default is another one now/,
      (c) => c.make(configMaps, { metadata: { name: 'fenceline-pause', namespace: 'default' } }),
      but('Unmark'),
    ],
    ['the policy is gone', /RemedyPolicy release is gone/, (c) => c.remove(policyRef), but('Unmark')],
    [
      'the driver takes its word back',
      /does not detach safely any more/,
      (c) => c.patch(driverRef, '/metadata/annotations', { 'fenceline.dev/safe-detach': 'false' }),
      ['StorageSafeDetach'],
    ],
    [
      'the driver was installed anew, and attaches nothing any more',
      /does not detach safely any more/,
      (c) => c.replaceDriver({ attachRequired: false }),
      ['StorageSafeDetach'],
    ],
    ['the driver is gone', /CSIDriver driver\.longhorn\.io is gone/, (c) => c.remove(driverRef), ['StorageSafeDetach']],
  ];
  for (const [when, message, change, stopped] of rows) {
    test(`fall when ${when}`, async () => {
      const cluster = await ActCluster.create();
      const grounds = await Promise.all(every.map((basis) => groundsOf(cluster, basis)));
      await change(cluster);
      for (const one of grounds) {
        assert.match(await found(cluster, one), stopped.includes(one.basis) ? message : /^nothing$/, one.basis);
      }
    });
  }

  test('[NGS-1] of a driver that a policy declares safe fall when the driver itself says otherwise, or is gone', async () => {
    const cluster = await ActCluster.create();
    const common = await cluster.grounds();
    const grounds: Grounds = { ...common, basis: 'StorageSafeDetach', safeDrivers: [], declaredDrivers: [driver] };
    await cluster.patch(driverRef, '/metadata/annotations', {});
    assert.equal(await found(cluster, grounds), 'nothing');
    for (const says of ['false', 'yes']) {
      await cluster.patch(driverRef, '/metadata/annotations', { 'fenceline.dev/safe-detach': says });
      assert.match(await found(cluster, grounds), /does not detach safely any more/, says);
    }
    await cluster.remove(driverRef);
    assert.match(await found(cluster, grounds), /CSIDriver driver\.longhorn\.io is gone/);
  });

  test('[ADM-5] of what was decided under a pause fall when it is over, or is written otherwise', async () => {
    const cluster = await ActCluster.create();
    const map = { metadata: { name: 'fenceline-pause', namespace: 'default' }, data: { by: 'alice' } };
    await cluster.make(configMaps, map);
    const ref = { resource: configMaps, namespace: 'default', name: 'fenceline-pause' };
    const written = writtenPause(await cluster.read(ref));
    const grounds = { ...(await groundsOf(cluster, 'Remedy')), pause: { namespace: 'default', written } };
    assert.equal(await found(cluster, grounds), 'nothing');
    await cluster.patch(ref, '/data', { by: 'alice', until: '2026-01-01T00:00:00Z' });
    assert.match(await found(cluster, grounds), /the pause for all in default is another one now/);
    await cluster.remove(ref);
    assert.match(await found(cluster, grounds), /the pause for all in default is another one now/);
  });

  test('[ADM-5] whether there is a pause cannot be read: that is not to say that there is none', async () => {
    const cluster = await ActCluster.create();
    const grounds = await Promise.all(every.map((basis) => groundsOf(cluster, basis)));
    cluster.server.faults.inject({
      matches: ({ resource }) => resource === 'configmaps',
      code: 403,
      reason: 'Forbidden',
    });
    for (const one of grounds) {
      const isHeeded = one.basis !== 'Unmark';
      assert.equal(await found(cluster, one), isHeeded ? 'unreadable: forbidden' : 'nothing', one.basis);
    }
  });

  test('[SAF-12] of what switches on stand whether or not anybody can read that all is paused', async () => {
    const cluster = await ActCluster.create();
    const grounds: Grounds = { ...(await cluster.grounds()), basis: 'Remedy', pause: 'any' };
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'configmaps', code: 403 });
    assert.equal(await found(cluster, grounds), 'nothing');
  });

  test('of a fence that has begun do not fall with the trouble, nor with a Lease that is renewed', async () => {
    const cluster = await ActCluster.create();
    const { leaseRenewTime: _, ...common } = await cluster.grounds();
    const grounds: Grounds = { ...common, basis: 'Remedy' };
    await cluster.patch(nodeRef, '/status/conditions', ready('True'), 'status');
    await cluster.patch(leaseRef, '/spec/renewTime', '2026-01-01T00:09:00.000000Z');
    assert.equal(await found(cluster, grounds), 'nothing');
  });

  test('[STM-4] of what begins fall when as many others have a slot as may; its own is none of them', async () => {
    const cluster = await ActCluster.create();
    const holding = { epoch: 3, fence: aStored('poweringOff', { switched: [entryOf('power-management')] }) };
    const slotted = async (max: number): Promise<string> => {
      const slot = { kind: 'fence', max } as const;
      return found(cluster, { ...(await groundsOf(cluster, 'Remedy')), slot });
    };
    await cluster.patchStatus(fenceRef, holding);
    assert.equal(await slotted(1), 'nothing', 'it is on record itself by then');
    const name = nodeFenceName('node-2');
    await cluster.client.create(nodeFences, {
      metadata: { name },
      spec: { node: 'node-2', stop: false },
    } as KubeObject);
    assert.equal(await slotted(1), 'nothing', 'one that has begun nothing has none');
    await cluster.patchStatus({ resource: nodeFences, name }, holding);
    assert.match(await slotted(1), /node-2.* came first, and maxConcurrent is 1/);
    assert.equal(await slotted(2), 'nothing');
  });

  test('S7: of the end of a quarantine fall when the node is not Ready', async () => {
    const cluster = await ActCluster.create();
    const { leaseRenewTime: _, ...common } = await cluster.grounds();
    const grounds: Grounds = { ...common, basis: 'Return', isReady: true, pods: [await seen(cluster)] };
    assert.match(await found(cluster, grounds), /Ready of node-1 is Unknown/);
    await cluster.patch(nodeRef, '/status/conditions', ready('True'), 'status');
    assert.equal(await found(cluster, grounds), 'nothing');
  });

  test('[NGS-7, SAF-4] fall when a pod is there that was not counted on, or one is not in service that was', async () => {
    const cluster = await ActCluster.create();
    await cluster.addPod('held', { finalizers: ['example.com/held'] });
    const there = [await seen(cluster), await seen(cluster, 'held')];
    const falls = async (pods: readonly SeenPod[]): Promise<string> =>
      found(cluster, { ...(await groundsOf(cluster, 'Remedy')), pods });
    assert.equal(await falls(there), 'nothing');
    assert.equal(await falls(there.slice(0, 1)), 'pod default/held is new on node-1');
    const held = { ...podRef, name: 'held' };
    await cluster.patch(held, '/status/phase', 'Failed', 'status');
    assert.equal(await falls(there), 'pod default/held is not in service on node-1 any more');
    await cluster.patch(held, '/status/phase', 'Running', 'status');
    await cluster.remove(held);
    assert.equal(
      await falls(there),
      'pod default/held is not in service on node-1 any more',
      'somebody has deleted it',
    );
    await cluster.remove(podRef);
    assert.match(await falls(there), /^pod [0-9a-f-]+ is not in service on node-1 any more$/, 'it is gone');
    const ending = there.map((pod) => ({ ...pod, isInService: false }));
    assert.equal(await falls(ending), 'nothing', 'who was on the way out may have gone');
  });

  test('[NGS-11] nobody knows who is there: so much the less', async () => {
    const cluster = await ActCluster.create();
    const grounds = { ...(await groundsOf(cluster, 'Remedy')), pods: [await seen(cluster)] };
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'pods', code: 500 });
    assert.match(await found(cluster, grounds), /^unreadable: /);
  });

  test('fall when a newcomer has the name of the node', async () => {
    const cluster = await ActCluster.create();
    for (const basis of every) {
      const grounds = { ...(await groundsOf(cluster, basis)), nodeUid: 'earlier' };
      assert.match(await found(cluster, grounds), /another node of the same name/, basis);
    }
  });

  test('fall when somebody has made another policy of the same name, in whatever version', async () => {
    const cluster = await ActCluster.create();
    for (const basis of but('Unmark')) {
      const grounds = await groundsOf(cluster, basis);
      const policy = { ...(grounds.policy ?? assert.fail()), uid: 'earlier' };
      assert.match(await found(cluster, { ...grounds, policy }), /RemedyPolicy release was edited/, basis);
    }
  });

  test('[NGS-4] fall when what was freed is in use again: a kubelet wrote it', async () => {
    const cluster = await ActCluster.create();
    for (const basis of every) {
      const grounds = { ...(await groundsOf(cluster, basis)), freed: [entry] };
      assert.match(await found(cluster, grounds), /in volumesInUse of node-1: a kubelet wrote it/, basis);
    }
  });

  test('[POD-3] without a Node object it has to be absent still', async () => {
    const cluster = await ActCluster.create();
    const { nodeUid: _, bootId: __, leaseRenewTime: ___, ...grounds } = await groundsOf(cluster);
    assert.match(await found(cluster, { ...grounds, taints: [] }), /there is a node node-1 again/);
    await cluster.remove(nodeRef);
    assert.equal(await found(cluster, { ...grounds, taints: [] }), 'nothing');
  });

  test('[NGS-11] unknown is not no: what cannot be read stops the act', async () => {
    const cluster = await ActCluster.create();
    const grounds = await Promise.all(every.map((basis) => groundsOf(cluster, basis)));
    cluster.server.faults.down();
    for (const one of grounds) assert.match(await found(cluster, one), /^unreadable: /, one.basis);
  });

  test('a Lease that was never there is no sign of life', async () => {
    const cluster = await ActCluster.create();
    const grounds = await groundsOf(cluster);
    await cluster.remove(leaseRef);
    assert.equal(await found(cluster, grounds), 'nothing');
  });

  test('[SAF-18] of a cut fall when its machine answers that nobody listens there, and by no other answer', async () => {
    const cluster = await ActCluster.create();
    const plans = plansOf(await cluster.read(nodeRef));
    const door = { address: '10.0.0.1', port: 10250 };
    const remedy = await groundsOf(cluster, 'Remedy');
    const falls = async (says: Knocked, worth: object = { door }): Promise<boolean> => {
      const reads = new LiveReads(cluster.client, {});
      const grounds = { ...remedy, worth: { plans, ...worth } };
      return (await verify(reads, grounds, { ask: async () => undefined, knock: async () => says })) !== undefined;
    };
    assert.equal(await falls('refused'), true);
    assert.equal(await falls('refused', {}), false, 'it has had its time');
    for (const says of ['open', 'silent', 'unknown'] as const) assert.equal(await falls(says), false, says);
  });

  test('[ADM-6] of a cut fall when somebody else has begun to work on the node since, or nobody can say', async () => {
    const cluster = await ActCluster.create();
    const plans = plansOf(await cluster.read(nodeRef));
    const far = {
      by: 'Fence Agents Remediation',
      does: 'remedies',
      object: 'FenceAgentsRemediation x/node-1',
    } as const;
    const failed = { kind: 'timeout', message: '', mayHaveHappened: false } as const;
    const remedy = await groundsOf(cluster, 'Remedy');
    const asked: AskedElsewhere[] = [];
    const falls = async (now: Awaited<ReturnType<LookElsewhere>>, worth: object = {}): Promise<string | undefined> => {
      const grounds = {
        ...remedy,
        worth: { plans, elsewhere: { name: 'node-1', machine: 'a/b', found: [] }, ...worth },
      };
      const elsewhere: LookElsewhere = async (node) => (asked.push(node), now);
      return (await verify(new LiveReads(cluster.client, {}), grounds, { ask: async () => undefined, elsewhere }))
        ?.kind;
    };
    assert.equal(await falls({ ok: true, value: [] }), undefined);
    assert.equal(await falls({ ok: true, value: [far] }), 'changed');
    assert.equal(await falls({ ok: false, error: failed }), 'unreadable');
    assert.deepEqual(new Set(asked.map((one) => JSON.stringify(one))), new Set(['{"name":"node-1","machine":"a/b"}']));
    assert.equal(
      await falls({ ok: true, value: [far] }, { elsewhere: undefined }),
      undefined,
      'it rests on nothing of it',
    );
  });

  test('S4: fall when the devices do not say off, which is asked before anything is read', async () => {
    for (const [basis, what, message] of [
      ['PowerOff', 'power', 'node-1 is not known to be off: silence'],
      ['StorageFenced', 'storage', 'node-1 is not known to be cut off from its storage: silence'],
    ] as const) {
      const cluster = await ActCluster.create();
      const grounds = await groundsOf(cluster, basis);
      const asked: unknown[] = [];
      const refusal = await verify(new LiveReads(cluster.client, {}), grounds, {
        ask: async (question) => {
          asked.push(question);
          return 'silence';
        },
      });
      assert.deepEqual([refusal, asked], [{ kind: 'unconfirmed', what: message }, [{ what, methods: [] }]]);
      const meanwhile: AskDevices = async () => {
        await cluster.patch(fenceRef, '/spec/stop', true);
        return undefined;
      };
      assert.match(await found(cluster, grounds, meanwhile), /is stopped/, 'what came while they were asked is seen');
    }
  });
});

test('[SAF-7] a cut is for a silent Lease, for trouble or for a person who asks: without any of them no device is told', async () => {
  const cluster = await ActCluster.create();
  const { leaseRenewTime = '', ...rest } = await cluster.grounds();
  const rows: [Grounds, boolean][] = [
    [{ ...rest, basis: 'Remedy' }, false],
    [{ ...rest, basis: 'Remedy', isAsked: false }, false],
    [{ ...rest, basis: 'Asserted', leaseRenewTime }, false],
    [{ ...rest, basis: 'Remedy', isAsked: true }, true],
    [{ ...rest, basis: 'Remedy', trouble: own.Remedy.trouble }, true],
    [{ ...rest, basis: 'Remedy', leaseRenewTime }, true],
  ];
  for (const [grounds, isNamed] of rows) assert.equal(namesCause(grounds), isNamed);
  const asked: string[] = [];
  const ask: Device['ask'] = async (action) => {
    asked.push(action);
    return { kind: 'status', power: 'on' };
  };
  const acts = cluster.longActs({ provider: { device: async () => ({ ok: true, device: { name: 'puppet', ask } }) } });
  const method: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
  const node = await cluster.node();
  await acts.begin(node, { do: 'switch', key: 'k', what: 'power', method }, { ...rest, basis: 'Remedy' });
  for (let round = 0; round < 100 && acts.of(node.name).task?.outcome === 'running'; round += 1) {
    await new Promise(setImmediate);
  }
  assert.deepEqual([acts.of(node.name).task?.outcome, asked], ['dropped', ['status']]);
});
