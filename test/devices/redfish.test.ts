import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Device, DeviceAnswer } from '../../src/devices/device.ts';
import { deviceContract } from './contract.ts';
import { driverDevices, redfishByAgent, redfishByDriver, startRedfish } from './endpoints/redfish.ts';
import { agentDevices } from './endpoints/workshop.ts';
import { useEndpoint } from './use-endpoint.ts';

deviceContract(redfishByAgent);
deviceContract(redfishByDriver);

describe('Redfish by the agent and by our driver', () => {
  const endpoint = useEndpoint(() => startRedfish(driverDevices()));
  const status = (device: Device): Promise<DeviceAnswer> => device.ask('status', new AbortController().signal);

  test('[EVD-4, FEN-8, FEN-10] the same power and the same machine, and off by both or by none', async () => {
    const [agent, driver] = [endpoint().by(await agentDevices('fence_redfish')), endpoint()];
    for (const state of ['On', 'Off', 'PoweringOn', 'PoweringOff', 'Paused', null, 7, '']) {
      endpoint().claim('a', state);
      const [byAgent, byDriver] = [await status(agent.device('a')), await status(driver.device('a'))];
      const isClear = state === 'On' || state === 'Off';
      if (isClear) assert.deepEqual(byDriver, byAgent);
      // The agent calls everything on that is not off.
      else assert.equal(byDriver.kind, 'unknown', JSON.stringify([state, byAgent, byDriver]));
      const isOff = (answer: DeviceAnswer): boolean => answer.kind === 'status' && answer.power === 'off';
      assert.deepEqual([isOff(byAgent), isOff(byDriver)], [state === 'Off', state === 'Off'], JSON.stringify(state));
    }
    endpoint().claim('a', undefined);
  });

  test('[EVD-4, FEN-8] refused by both: a wrong credential, a certificate of somebody else', async () => {
    const [agent, driver] = [endpoint().by(await agentDevices('fence_redfish')), endpoint()];
    for (const variant of [{ credential: 'wrong' }, { trust: 'missing' }] as const) {
      const kinds = await Promise.all([agent, driver].map(async (by) => (await status(by.device('a', variant))).kind));
      assert.deepEqual(kinds, ['refused', 'refused'], JSON.stringify(variant));
    }
  });
});
