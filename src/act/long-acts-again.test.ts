import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster, podRef } from '../../test/support/act-cluster.ts';
import type { Method } from '../api/fence-config.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Grounds, LongAct } from '../api/steps.ts';
import type { DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { LongActs } from './long-acts.ts';

const method: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
const off: LongAct = { do: 'switch', key: 'off', what: 'power', method };
const on: LongAct = { do: 'switch', key: 'on', what: 'power', method: { ...method, name: 'pdu-on', action: 'on' } };

interface Bench {
  cluster: ActCluster;
  acts: LongActs;
  asked: DeviceAction[];
  /** Begins it, and moves the clock on until it has ended. */
  run: (act: LongAct, grounds: Grounds) => Promise<NodeCase['task']>;
}

async function bench(power: 'on' | 'off'): Promise<Bench> {
  const cluster = await ActCluster.create();
  const asked: DeviceAction[] = [];
  let at = power;
  const ask = async (action: DeviceAction): Promise<DeviceAnswer> => {
    asked.push(action);
    if (action === 'status') return { kind: 'status', power: at };
    at = action === 'off' ? 'off' : 'on';
    return { kind: 'accepted' };
  };
  const acts = cluster.longActs({ provider: { device: async () => ({ ok: true, device: { name: 'puppet', ask } }) } });
  return {
    cluster,
    acts,
    asked,
    async run(act, grounds) {
      await acts.begin(await cluster.node(), act, grounds);
      for (let round = 0; round < 500 && acts.of('node-1').task?.outcome === 'running'; round += 1) {
        await new Promise(setImmediate);
        cluster.clock.advance(500);
      }
      return acts.of('node-1').task;
    },
  };
}

async function withoutCause(cluster: ActCluster): Promise<Grounds> {
  const { leaseRenewTime: _, ...rest } = await cluster.grounds();
  return { ...rest, basis: 'Remedy' };
}

test('[SAF-7] S39: a device is not told to cut where nobody says for what; to switch on needs no cause', async () => {
  const { cluster, asked, run } = await bench('on');
  const grounds = await withoutCause(cluster);
  const task = await run(off, grounds);
  assert.deepEqual([task?.outcome, task?.outcome === 'dropped' && task.told], ['dropped', false]);
  assert.match(JSON.stringify(task), /nobody says what it is for/);
  assert.deepEqual(asked, ['status']);
  assert.equal((await run({ ...off, key: 'asked' }, { ...grounds, isAsked: true } as Grounds))?.outcome, 'succeeded');
  assert.equal((await run(on, grounds))?.outcome, 'succeeded');
});

test('S40: what devices said before a command counts no more after it', async () => {
  for (const [act, before] of [
    [off, 'on'],
    [on, 'off'],
  ] as const) {
    const { cluster, acts, run } = await bench(before);
    const node = await cluster.node();
    acts.wonder(node, [method], 5000);
    acts.wonderAboutStorage(node, [method], 5000);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    const { power, storage } = acts.of('node-1');
    assert.deepEqual(
      [power, storage].map((one) => one?.answers?.[0]?.power),
      [before, before],
    );
    assert.equal((await run(act, { ...(await cluster.grounds()), basis: 'Remedy' }))?.outcome, 'succeeded');
    assert.deepEqual([acts.of('node-1').power, acts.of('node-1').storage], [undefined, undefined], act.key);
  }
});

test('[SAF-9] who has left is the same for every try of one drain', async () => {
  const { cluster, acts, run } = await bench('on');
  const grounds: Grounds = { ...(await cluster.grounds()), basis: 'Remedy' };
  const drain: LongAct = { do: 'drain', key: 'drain-1' };
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs-1', controller: true }];
  const evicted: string[] = [];
  /** Who was there goes; its controller makes another one, which takes its time. */
  cluster.server.onAudit(({ subresource, name = '' }) => {
    if (subresource !== 'eviction') return;
    evicted.push(name);
    if (evicted.length === 1) {
      void cluster.remove({ ...podRef, name });
      void cluster.addPod('late-1', { ownerReferences });
    }
    // Somebody stops it meanwhile.
    else acts.want('node-1', []);
  });
  assert.equal(await run(drain, grounds), undefined, 'decided otherwise');
  await cluster.remove({ ...podRef, name: 'late-1' });
  await cluster.addPod('late-2', { ownerReferences });
  acts.want('node-1', [{ grounds, begins: drain }]);
  assert.match(JSON.stringify(await run(drain, grounds)), /node-1 is empty, but for 1 pods/);
  assert.deepEqual(evicted, ['web-0', 'late-1']);
});
