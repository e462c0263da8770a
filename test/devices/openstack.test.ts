import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { openstack as cloud } from '../../src/devices/clouds/openstack.ts';
import { deviceContract } from './contract.ts';
import { cloudDevice } from './endpoints/cloud.ts';
import { ids, openstack, startOpenstack, type ServerState } from './endpoints/openstack.ts';
import { fleetContract } from './fleet-contract.ts';
import { tokenContract } from './token-contract.ts';
import { useEndpoint } from './use-endpoint.ts';

const never = new AbortController().signal;

deviceContract(openstack);

describe('OpenStack', () => {
  const endpoint = useEndpoint(startOpenstack);
  beforeEach(async () => {
    await endpoint().setPower('a', 'on');
    endpoint().fake.names.b = 'machine-b.example';
  });

  fleetContract({
    endpoint,
    cloud,
    machines: ['a', 'b'],
    named: (machine) => `openstack:///${ids[machine]}`,
    absent: 'openstack:///00000000-0000-0000-0000-000000000000',
    unnamed: 'machine-a.example',
    calls: 2,
  });

  const deviceFor = (instance: string) => {
    const { plain, secret } = endpoint().parameters('a');
    return cloudDevice(cloud, { plain: { ...plain, instance }, secret });
  };

  const states: [ServerState, string][] = [
    [{ status: 'ACTIVE', power: 1, task: null }, 'on'],
    [{ status: 'SHUTOFF', power: 4, task: null }, 'off'],
    [{ status: 'SHUTOFF', power: 1, task: null }, 'unknown'],
    [{ status: 'SHUTOFF', power: 4, task: 'powering-on' }, 'unknown'],
    [{ status: 'SHUTOFF', power: 0, task: null }, 'unknown'],
    [{ status: 'SHUTOFF', power: undefined, task: undefined }, 'unknown'],
    [{ status: 'ACTIVE', power: 4, task: null }, 'unknown'],
    [{ status: 'ACTIVE', power: 1, task: 'powering-off' }, 'unknown'],
    [{ status: 'PAUSED', power: 3, task: null }, 'unknown'],
    [{ status: 'SUSPENDED', power: 4, task: null }, 'unknown'],
    [{ status: 'SHELVED_OFFLOADED', power: 4, task: null }, 'unknown'],
    [{ status: 'ERROR', power: 4, task: null }, 'unknown'],
    [{ status: 'DELETED', power: 0, task: null }, 'unknown'],
  ];
  test('[FEN-9, FEN-10] only what Nova, the hypervisor and the absence of a task call off is off', async () => {
    const device = endpoint().device('a');
    for (const [state, expected] of states) {
      endpoint().fake.states.a = state;
      const answer = await device.ask('status', never);
      assert.equal(answer.kind === 'status' ? answer.power : answer.kind, expected, JSON.stringify([state, answer]));
      if (answer.kind === 'unknown') assert.ok(answer.message.includes(state.status));
    }
  });

  test('[FEN-9] a server is found by ID, name and provider ID, with a region in it or without', async () => {
    for (const [instance, value] of [
      [ids.a, `openstack:///${ids.a}`],
      ['machine-a.example', `openstack:///${ids.a}`],
      [`openstack:///${ids.a}`, `openstack:///${ids.a}`],
      [`openstack://one/${ids.a}`, `openstack://one/${ids.a}`],
    ] as const) {
      const identity = { kind: 'providerID', value };
      assert.deepEqual(await deviceFor(instance).ask('status', never), { kind: 'status', power: 'on', identity });
    }
  });

  test('[FEN-9] what does not exist, and a name that two have, is refused and not off', async () => {
    endpoint().fake.names.b = 'machine-a.example';
    for (const [instance, reason] of [
      ['a1b2c3d4-0000-4000-8000-00000000000c', /could not be found/],
      ['machine-c.example', /there is no server/],
      ['machine-aXexample', /there is no server/],
      ['machine-a.example', /there are several servers/],
    ] as const) {
      const answer = await deviceFor(instance).ask('status', never);
      assert.ok(answer.kind === 'refused', JSON.stringify(answer));
      assert.match(answer.message, reason);
    }
  });

  test('[FEN-9] an application credential does as well', async () => {
    const device = cloudDevice(cloud, endpoint().application('a'));
    assert.equal((await device.ask('status', never)).kind, 'status');
    assert.deepEqual(await device.ask('off', never), { kind: 'accepted' });
  });

  test('[FEN-10] a server whose state forbids it refuses, and is not taken for off', async () => {
    endpoint().fake.states.a = { status: 'PAUSED', power: 3, task: null };
    const answer = await endpoint().device('a').ask('off', never);
    assert.ok(answer.kind === 'refused' && /PAUSED/.test(answer.message), JSON.stringify(answer));
  });

  test('[FEN-9] of several regions none is guessed', async () => {
    const before = endpoint().fake.catalogue;
    try {
      const other = { interface: 'public', region: 'two', region_id: 'two', url: 'https://two.invalid/compute/v2.1' };
      endpoint().fake.catalogue = [...before, { type: 'compute', endpoints: [other] }];
      const answer = await endpoint().device('a').ask('status', never);
      assert.ok(answer.kind === 'refused' && /several regions/.test(answer.message), JSON.stringify(answer));
      assert.equal((await cloudDevice(cloud, endpoint().application('a')).ask('status', never)).kind, 'status');
    } finally {
      endpoint().fake.catalogue = before;
    }
  });

  tokenContract(endpoint);
});
