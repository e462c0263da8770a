import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import type { Method } from '../api/fence-config.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { Grounds, LongAct } from '../api/steps.ts';
import { commandKey } from '../api/task.ts';
import type { DeviceAction } from '../devices/device.ts';

const at = '2026-01-01T00:06:00.000Z';
const method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] } satisfies Method;
const off: LongAct = { do: 'switch', key: 'k', what: 'power', method, sent: { at, isFirst: true } };

interface Switching {
  task: NodeCase['task'];
  /** What its process has recorded and not sent: before it is begun, and after. */
  unsent: (string | undefined)[];
  asked: DeviceAction[];
}

/** Switches node-1 from a process that runs on this node. */
async function switchedFrom(nodeName: string, act: LongAct): Promise<Switching> {
  const cluster = await ActCluster.create();
  const node = await cluster.node();
  const asked: DeviceAction[] = [];
  let power: 'on' | 'off' = 'on';
  const ask = async (action: DeviceAction) => {
    asked.push(action);
    if (action === 'status') return { kind: 'status', power } as const;
    power = action === 'off' ? 'off' : 'on';
    return { kind: 'accepted' } as const;
  };
  const acts = cluster.longActs({
    provider: { device: async () => ({ ok: true, device: { name: 'puppet', ask } }) },
    nodeName,
  });
  const grounds: Grounds = { ...(await cluster.grounds()), basis: 'Remedy' };
  acts.want(node.name, [{ grounds, begins: act }]);
  const unsent = [acts.of(node.name).unsent];
  await acts.begin(node, act, grounds);
  for (let round = 0; round < 500 && acts.of(node.name).task?.outcome === 'running'; round += 1) {
    await new Promise(setImmediate);
    cluster.clock.advance(500);
  }
  return { task: acts.of(node.name).task, unsent: [...unsent, acts.of(node.name).unsent], asked };
}

describe('the machine that this process runs on', () => {
  test('[STM-8] S22: is not told to go off, whatever was decided, and that is on record as not sent', async () => {
    const { task, asked, unsent } = await switchedFrom('node-1', off);
    assert.deepEqual([task?.outcome, task?.told], ['dropped', false]);
    assert.match(task?.message ?? '', /this process runs on it$/);
    assert.ok(!asked.includes('off'));
    assert.deepEqual(unsent, [commandKey('pdu-off', at), commandKey('pdu-off', at)]);
  });

  test('[STM-8] others are told, and what was recorded for them is sent then; its own may be switched on', async () => {
    const { task, asked, unsent } = await switchedFrom('node-2', off);
    assert.deepEqual([task?.outcome, task?.told], ['succeeded', true]);
    assert.ok(asked.includes('off'));
    assert.deepEqual(unsent, [commandKey('pdu-off', at), undefined]);
    const on: LongAct = { do: 'switch', key: 'on', what: 'power', method: { ...method, name: 'pdu-on', action: 'on' } };
    assert.equal((await switchedFrom('node-1', on)).task?.outcome, 'succeeded');
  });
});
