import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef, nodeRef, podRef, policyRef } from '../../test/support/act-cluster.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { Method } from '../api/fence-config.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import type { DeviceQuestion, Grounds, JobOrder, LongAct } from '../api/steps.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { jobs } from '../kube/resources.ts';
import type { LongActs, LongActsOptions } from './long-acts.ts';

const off: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
const switching: LongAct = { do: 'switch', key: 'k', what: 'power', method: off };
const power: DeviceQuestion = { what: 'power', methods: [off] };
const since = '2026-01-01T00:05:00.000Z';

interface Bench {
  cluster: ActCluster;
  node: LiveNode;
  grounds: Grounds;
  acts: LongActs;
  asked: DeviceAction[];
  /** Nodes about which something was told. */
  told: string[];
  begin: (act: LongAct) => Promise<void>;
  /** Moves the clock on until what was begun has ended, and answers how it stands. */
  ended: () => Promise<NodeCase['task']>;
}

/** A machine that is on until its device is told otherwise. */
async function bench(change: Partial<LongActsOptions> = {}): Promise<Bench> {
  const cluster = await ActCluster.create();
  const node = await cluster.node();
  const asked: DeviceAction[] = [];
  const told: string[] = [];
  const device = aDevice(asked);
  const acts = cluster.longActs({
    provider: { device: async () => ({ ok: true, device }) },
    onNode: (name) => told.push(name),
    ...change,
  });
  const grounds: Grounds = { ...(await cluster.grounds()), basis: 'Remedy' };
  return {
    cluster,
    node,
    grounds,
    acts,
    asked,
    told,
    begin: (act) => acts.begin(node, act, grounds),
    async ended() {
      for (let round = 0; round < 500 && acts.of('node-1').task?.outcome === 'running'; round += 1) {
        await new Promise(setImmediate);
        cluster.clock.advance(500);
      }
      return acts.of('node-1').task;
    },
  };
}

function aDevice(asked: DeviceAction[]): Device {
  let at: 'on' | 'off' = 'on';
  const ask = async (action: DeviceAction): Promise<DeviceAnswer> => {
    asked.push(action);
    if (action === 'status') return { kind: 'status', power: at };
    at = action === 'off' ? 'off' : 'on';
    return { kind: 'accepted' };
  };
  return { name: 'puppet', ask };
}

describe('a switch', () => {
  test('S27: nobody waits for it; how it stands is known, and its end is told', async () => {
    const { acts, asked, told, begin, ended } = await bench();
    assert.deepEqual(acts.of('node-1'), {});
    await begin(switching);
    assert.deepEqual(acts.of('node-1'), { task: { key: 'k', outcome: 'running' } });
    assert.deepEqual(await ended(), {
      key: 'k',
      outcome: 'succeeded',
      message: 'pdu-off: puppet says off',
      told: true,
    });
    assert.deepEqual([asked, told], [['status', 'off', 'status'], ['node-1']]);
    acts.forget('node-1');
    assert.deepEqual(acts.of('node-1'), {});
  });

  test('[STM-1] what was only to be confirmed off is not told anything when it is on, and its word is forgotten', async () => {
    const { acts, node, asked, begin, ended } = await bench();
    acts.wonder(node, [off], 5000);
    await begin({ ...switching, isQuestion: true });
    assert.deepEqual(await ended(), {
      key: 'k',
      outcome: 'failed',
      message: 'pdu-off: it is only asked',
      told: false,
    });
    assert.deepEqual(asked, ['status', 'status']);
    assert.equal(acts.of('node-1').power?.answers, undefined);
    // What rests on something else is told, on the same device.
    await begin({ ...switching, key: 'next' });
    assert.equal((await ended())?.outcome, 'succeeded');
  });

  test('S20: one act for each node: asked again, or for another, nothing begins while it runs', async () => {
    const { cluster, node, acts, asked, begin, ended } = await bench();
    await begin(switching);
    await begin(switching);
    await begin({ ...switching, key: 'next' });
    await acts.cordon(node, { do: 'cordon', key: 'c' });
    assert.deepEqual(acts.of('node-1'), { task: { key: 'k', outcome: 'running' } });
    await ended();
    await begin(switching);
    assert.deepEqual(asked, ['status', 'off', 'status'], 'its answer is there');
    assert.equal((await cluster.node()).isCordoned, false);
  });

  const changes: [string, (cluster: ActCluster) => Promise<void>][] = [
    ['somebody has stopped it', (c) => c.patch(fenceRef, '/spec/stop', true)],
    ['another instance took over', (c) => c.patch(fenceRef, '/status/epoch', 4, 'status')],
    ['the policy was edited', (c) => c.patch(policyRef, '/spec/mode', 'Paused')],
    ['the node was booted', (c) => c.patch(nodeRef, '/status/nodeInfo/bootID', 'boot-2', 'status')],
    ['another machine has its name', (c) => c.replaceNode()],
    ['the server does not answer', async (c) => c.server.faults.down()],
  ];
  for (const [when, change] of changes) {
    test(`S15: dropped, the device not told, when ${when} while it said how it is`, async () => {
      const asked: DeviceAction[] = [];
      const slow: Device = {
        name: 'puppet',
        ask: async (action, signal) => {
          await change(cluster);
          return aDevice(asked).ask(action, signal);
        },
      };
      const { cluster, acts, told, begin, ended } = await bench({
        provider: { device: async () => ({ ok: true, device: slow }) },
      });
      await begin(switching);
      const { outcome, told: wasTold } = (await ended()) ?? {};
      assert.deepEqual([outcome, wasTold], ['dropped', false]);
      assert.deepEqual([asked, told, acts.of('node-1').task?.outcome], [['status'], ['node-1'], 'dropped']);
    });
  }

  test('S15: nor what the latest decision does not call for any more, as when another policy is in force', async () => {
    const { acts, asked, grounds, begin, ended } = await bench();
    await begin(switching);
    acts.want('node-1', [{ grounds, begins: { ...switching, key: 'other' } }]);
    assert.equal((await ended())?.outcome, 'dropped');
    acts.want('node-1', [{ grounds, begins: switching }]);
    await begin(switching);
    assert.deepEqual(await ended(), {
      key: 'k',
      outcome: 'succeeded',
      message: 'pdu-off: puppet says off',
      told: true,
    });
    assert.deepEqual(asked, ['status', 'status', 'off', 'status']);
  });

  test('S39: nor that of a node that nobody attends to any more; it is known as under way until then', async () => {
    const { acts, asked, begin, ended } = await bench();
    await begin(switching);
    acts.forget('node-1');
    assert.deepEqual(acts.of('node-1'), { task: { key: 'k', outcome: 'running' } });
    assert.equal((await ended())?.outcome, 'dropped');
    assert.deepEqual(asked, ['status']);
  });

  test('S19: whoever does not lead any more tells no device', async () => {
    const { asked, begin, ended } = await bench({ isLeading: () => false });
    await begin(switching);
    assert.equal((await ended())?.outcome, 'dropped');
    assert.deepEqual(asked, ['status']);
  });
});

describe('scheduling', () => {
  test('S17: a cordon is written when it is said to be begun, and so is its end', async () => {
    const { cluster, node, acts, told, begin } = await bench();
    await acts.cordon(node, { do: 'cordon', key: 'c' });
    assert.equal((await cluster.node()).isCordoned, true);
    assert.deepEqual(acts.of('node-1').task, { key: 'c', outcome: 'succeeded', message: 'cordon' });
    await begin({ do: 'uncordon', key: 'u' });
    assert.equal((await cluster.node()).isCordoned, false);
    assert.deepEqual(acts.of('node-1').task, { key: 'u', outcome: 'succeeded', message: 'uncordon' });
    assert.deepEqual(told, ['node-1', 'node-1']);
  });

  test('S8: the cordon of somebody else stays', async () => {
    const { cluster, begin } = await bench();
    await cluster.patch(nodeRef, '/spec/unschedulable', true);
    await begin({ do: 'uncordon', key: 'u' });
    assert.equal((await cluster.node()).isCordoned, true);
  });

  test('S14, S19: a newcomer of the same name is not cordoned, nor any node by an instance that does not lead', async () => {
    const { cluster, node, acts } = await bench();
    await cluster.replaceNode();
    await acts.cordon(node, { do: 'cordon', key: 'c' });
    assert.equal(acts.of('node-1').task?.outcome, 'failed');
    assert.equal((await cluster.node()).isCordoned, false);
    const deposed = await bench({ isLeading: () => false });
    await deposed.acts.cordon(deposed.node, { do: 'cordon', key: 'c' });
    assert.deepEqual([(await deposed.cluster.node()).isCordoned, deposed.cluster.writes], [false, []]);
  });
});

describe('a Job', () => {
  const job: JobOrder = {
    name: 'repair-1',
    remedy: 'repair',
    template: 'hash-1',
    node: { name: 'node-1', uid: 'uid-1' },
    trouble: 'Ready=NotTrue',
    incident: 'node-1-1',
  };
  const running: LongAct = { do: 'runJob', key: 'j', job, wasMade: false };
  const ref: ObjectRef = { resource: jobs, namespace: 'default', name: 'repair-1' };
  const label = { key: 'fenceline.dev/remedied-node-uid', value: 'uid-1' };
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } };
  const object = { metadata: { labels: { [label.key]: label.value } }, spec: { template } };

  test('[REM-5] is known by its UID while it runs, and no longer', async () => {
    const ordered: JobOrder[] = [];
    const jobObject: LongActsOptions['jobObject'] = (order) => {
      ordered.push(order);
      return { object, label };
    };
    const { cluster, acts, told, begin, ended } = await bench({ jobObject });
    await begin(running);
    await waitFor('the Job', () => told.length > 0, { intervalMs: 1 });
    const known = acts.of('node-1');
    assert.deepEqual(known, {
      task: { key: 'j', outcome: 'running' },
      job: { name: 'repair-1', uid: await cluster.uidOf(ref) },
    });
    await cluster.patchStatus(ref, { conditions: [{ type: 'Complete', status: 'True' }] });
    await ended();
    const end = { key: 'j', outcome: 'succeeded', message: 'Job repair-1 is complete' };
    assert.deepEqual([acts.of('node-1'), ordered], [{ task: end }, [job]]);
  });

  test('of which nobody knows the template any more has failed, and none is made', async () => {
    const { cluster, begin, ended } = await bench();
    await begin(running);
    const message = 'the template of remedy repair is gone';
    assert.deepEqual(await ended(), { key: 'j', outcome: 'failed', message });
    assert.deepEqual(cluster.writes, []);
  });
});

test('S24: a drain evicts, and ends when nothing is left', async () => {
  const { cluster, begin, ended } = await bench();
  await begin({ do: 'drain', key: 'd' });
  await waitFor('the eviction', () => cluster.writes.length > 1, { intervalMs: 1 });
  assert.deepEqual(
    cluster.writes.map(({ verb, subresource }) => `${verb} ${subresource}`),
    ['patch undefined', 'create eviction'],
  );
  await cluster.remove(podRef);
  assert.deepEqual(await ended(), { key: 'd', outcome: 'succeeded', message: 'node-1 is empty' });
});

test('S15: a drain evicts no more once it is stopped, or the trouble that it is for is over', async () => {
  const stopped = await bench();
  await stopped.cluster.patch(fenceRef, '/spec/stop', true);
  stopped.cluster.writes.length = 0;
  await stopped.begin({ do: 'drain', key: 'd' });
  assert.equal(await stopped.ended(), undefined, 'decided anew');
  assert.deepEqual(stopped.cluster.writes, []);

  const { cluster, ended, acts, node, grounds } = await bench();
  await cluster.addPod('second', {});
  const trouble = { type: 'Ready', status: 'NotTrue' };
  await acts.begin(node, { do: 'drain', key: 'd' }, { ...grounds, basis: 'Remedy', trouble });
  await waitFor('the evictions', () => cluster.writes.some(({ subresource }) => subresource === 'eviction'));
  await cluster.patch(nodeRef, '/status/conditions', [{ type: 'Ready', status: 'True' }], 'status');
  await cluster.addPod('third', {});
  cluster.writes.length = 0;
  assert.equal(await ended(), undefined);
  assert.deepEqual(cluster.writes, [], 'who came meanwhile stays');
});

test('S15: a Job is not made, and our cordon stays, once they are not wanted any more', async () => {
  const { cluster, begin, ended } = await bench({ jobObject: () => ({ object: {}, label: { key: 'k', value: 'v' } }) });
  await cluster.patch(policyRef, '/spec/mode', 'Paused');
  cluster.writes.length = 0;
  const job: JobOrder = {
    name: 'repair-1',
    remedy: 'repair',
    template: 'hash-1',
    node: { name: 'node-1', uid: 'uid-1' },
    trouble: 'Ready=NotTrue',
    incident: 'node-1-1',
  };
  await begin({ do: 'runJob', key: 'j', job, wasMade: false });
  assert.equal(await ended(), undefined);
  await begin({ do: 'uncordon', key: 'u' });
  assert.equal(await ended(), undefined);
  assert.deepEqual(cluster.writes, []);
});

test('S13: the machine of a node that was not off is not removed; one that was off is asked for', async () => {
  const { cluster, begin, ended } = await bench();
  await cluster.patch(nodeRef, '/metadata/annotations', {
    'cluster.x-k8s.io/machine': 'm-1',
    'cluster.x-k8s.io/cluster-namespace': 'default',
  });
  cluster.writes.length = 0;
  await begin({ do: 'deleteMachine', key: 'm', wasOff: false });
  const message = 'node-1 was not switched off before: put a fence before it on the ladder';
  assert.deepEqual(await ended(), { key: 'm', outcome: 'failed', message });
  await begin({ do: 'deleteMachine', key: 'm2', wasOff: true });
  assert.deepEqual(await ended(), { key: 'm2', outcome: 'failed', message: 'there is no Machine default/m-1' });
  assert.deepEqual(cluster.writes, []);
});

describe('whether it is off', () => {
  test('S4: is what its devices say; without a Node or a device nobody knows', async () => {
    const { node, acts, begin, ended } = await bench();
    assert.equal(await acts.notOff(undefined, power, since), 'there is no Node object');
    assert.equal(
      await acts.notOff(node, { what: 'power', methods: [] }, since),
      'no device is known to have switched it off',
    );
    assert.equal(await acts.notOff(node, power, since), 'pdu-off: puppet: it says on');
    await begin(switching);
    await ended();
    assert.equal(await acts.notOff(node, power, since), undefined);
  });

  test('[FEN-11] S4: a machine that says on is noted with the phase of its fence; a way to its storage only as not closed', async () => {
    const { node, acts } = await bench();
    await acts.notOff(node, { what: 'storage', methods: [off] }, since);
    const message = 'pdu-off: puppet: it says on';
    assert.deepEqual(acts.of('node-1'), { unconfirmed: { since, message, isDisbelieved: false, forMs: 0 } });
    await acts.notOff(node, power, since);
    assert.deepEqual(acts.of('node-1'), { onAgain: { since, message } });
    acts.forget('node-1');
    assert.deepEqual(acts.of('node-1'), {});
    const silent = await bench({ provider: { device: async () => ({ ok: false, problem: 'no route' }) } });
    const said = await silent.acts.notOff(silent.node, power, since);
    assert.deepEqual([said, silent.acts.of('node-1').onAgain], ['pdu-off: no route', undefined]);
  });

  test('[SAF-10] since when nobody says off any more is counted in a row, in one phase; who says so ends it', async () => {
    let says: DeviceAnswer = { kind: 'unknown', message: 'no route' };
    const device: Device = { name: 'puppet', ask: async () => says };
    const { acts, node, cluster } = await bench({ provider: { device: async () => ({ ok: true, device }) } });
    const forMs = async (phase: string): Promise<number | undefined> => {
      await acts.notOff(node, power, phase);
      return acts.of('node-1').unconfirmed?.forMs;
    };
    assert.equal(await forMs(since), 0);
    cluster.clock.advance(5000);
    assert.equal(await forMs(since), 5000);
    assert.equal(await forMs('2026-01-01T00:07:00.000Z'), 0);
    says = { kind: 'status', power: 'off' };
    assert.equal(await forMs('2026-01-01T00:07:00.000Z'), undefined);
  });
});

describe('whether a command may have been sent', () => {
  const at = '2026-01-01T00:06:00.000Z';
  const begun = (isFirst: boolean): LongAct => ({ ...switching, sent: { at, isFirst } });

  test('[SAF-8] a try that recorded it, and was dropped before its command, says that nothing was sent', async () => {
    const { begin, ended, acts, grounds, node } = await bench();
    acts.want(node.name, [{ grounds, begins: begun(true) }]);
    acts.want(node.name, []);
    await begin(begun(true));
    assert.deepEqual([(await ended())?.outcome, (await ended())?.told], ['dropped', false]);
  });

  test('[SAF-8] what another leader has recorded may have been sent, whatever becomes of this try', async () => {
    const { begin, ended, acts, grounds, node } = await bench();
    acts.want(node.name, [{ grounds, begins: begun(false) }]);
    acts.want(node.name, []);
    await begin(begun(false));
    assert.deepEqual([(await ended())?.outcome, (await ended())?.told], ['dropped', true]);
  });

  test('[SAF-8, RET-2] what was sent once stays sent in the next try, also when another was recorded in that second', async () => {
    const { begin, ended, acts, asked, grounds, node } = await bench();
    acts.want(node.name, [{ grounds, begins: begun(true) }]);
    await begin(begun(true));
    assert.equal((await ended())?.told, true);
    assert.ok(asked.includes('off'));
    const other = { ...begun(true), key: 'other', method: { ...off, name: 'bmc-off' } } as LongAct;
    const again: LongAct = { ...begun(false), key: 'k2' };
    for (const begins of [other, again]) acts.want(node.name, [{ grounds, begins }]);
    acts.want(node.name, []);
    await begin(again);
    assert.equal((await ended())?.told, true);
  });
});
