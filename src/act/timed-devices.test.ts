import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { DeviceAnswer } from '../devices/device.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { Answered } from './timed-devices.ts';
import { timedDevices } from './timed-devices.ts';

const method: Method = {
  name: 'ipmi-off',
  action: 'off',
  driver: 'agent:fence_ipmilan',
  parameters: { ip: '192.0.2.7' },
  secrets: [],
};

const none = { ok: false, problem: 'none' } as const;

test('[ADM-3] every answer of a device is timed by driver, action and outcome, and nothing else is changed', async () => {
  let nowMs = 0;
  const answers: DeviceAnswer[] = [
    { kind: 'status', power: 'on' },
    { kind: 'accepted' },
    { kind: 'unknown', message: 'silence' },
  ];
  const provider: DeviceProvider = {
    device: async (_node, { name }) =>
      name === 'none'
        ? none
        : {
            ok: true,
            plug: 'plug',
            isCheap: true,
            device: {
              name: 'ipmi at 192.0.2.7',
              ask: async () => {
                nowMs += 250;
                return answers.shift() ?? { kind: 'accepted' };
              },
            },
          },
    defaultConfig: () => undefined,
    allowed: [],
  };
  const heard: Answered[] = [];
  const timed = timedDevices(provider, { monotonic: () => nowMs }, (one) => heard.push(one));
  const found = await timed.device(aNode(), method);
  assert.ok(found.ok);
  assert.deepEqual([found.plug, found.isCheap, found.device.name], ['plug', true, 'ipmi at 192.0.2.7']);
  const { signal } = new AbortController();
  assert.deepEqual(await found.device.ask('status', signal), { kind: 'status', power: 'on' });
  await found.device.ask('off', signal);
  await found.device.ask('status', signal);
  const driver = 'agent:fence_ipmilan';
  assert.deepEqual(heard, [
    { driver, action: 'status', outcome: 'status', tookMs: 250 },
    { driver, action: 'off', outcome: 'accepted', tookMs: 250 },
    { driver, action: 'status', outcome: 'unknown', tookMs: 250 },
  ]);
  assert.deepEqual(await timed.device(aNode(), { ...method, name: 'none' }), none);
  assert.ok('defaultConfig' in timed && 'allowed' in timed);
  assert.ok(!('defaultConfig' in timedDevices({ device: async () => none }, { monotonic: () => 0 }, () => {})));
});
