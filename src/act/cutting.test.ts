import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import type { Method } from '../api/fence-config.ts';
import type { Grounds, LongAct } from '../api/steps.ts';
import type { DeviceAction, DeviceAnswer } from '../devices/device.ts';

const off: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
const switching: LongAct = { do: 'switch', key: 'k', what: 'power', method: off };

test('[STM-4] what a device was told to cut is known until the try is over, whoever forgets the node', async () => {
  const cluster = await ActCluster.create();
  const node = await cluster.node();
  const grounds: Grounds = { ...(await cluster.grounds()), basis: 'Remedy' };
  let seen: string[][] = [];
  let was: 'on' | 'off' = 'on';
  /** It has changed at the second question after the command. */
  const ask = async (action: DeviceAction): Promise<DeviceAnswer> => {
    seen.push([action, ...acts.cutting]);
    if (action === 'status') return { kind: 'status', power: seen.length < 4 === (was === 'on') ? 'on' : 'off' };
    acts.forget('node-1');
    return { kind: 'accepted' };
  };
  const acts = cluster.longActs({ provider: { device: async () => ({ ok: true, device: { name: 'puppet', ask } }) } });
  const run = async (act: LongAct): Promise<void> => {
    await acts.begin(node, act, grounds);
    for (let round = 0; round < 500 && acts.of('node-1').task?.outcome === 'running'; round += 1) {
      await new Promise(setImmediate);
      cluster.clock.advance(500);
    }
  };
  await run(switching);
  assert.deepEqual(seen, [['status'], ['off', 'node-1'], ['status', 'node-1'], ['status', 'node-1']]);
  assert.deepEqual([...acts.cutting], []);
  acts.forget('node-1');
  [seen, was] = [[], 'off'];
  await run({ ...switching, key: 'on', method: { ...off, action: 'on' } });
  assert.deepEqual(seen, [['status'], ['on'], ['status'], ['status']], 'what is switched on has no slot');
});
