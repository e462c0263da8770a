import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { whyNotAllowed } from '../../src/api/agents.ts';
import { aws as cloud } from '../../src/devices/clouds/aws.ts';
import { cloudDrivers } from '../../src/devices/clouds/index.ts';
import { deviceContract } from './contract.ts';
import { aws, startAws } from './endpoints/aws.ts';
import { cloudDevice } from './endpoints/cloud.ts';
import { fleetContract } from './fleet-contract.ts';
import { useEndpoint } from './use-endpoint.ts';

const never = new AbortController().signal;

deviceContract(aws);

test('[FEN-9] the drivers that are named instead of fence agents exist', () => {
  const agents = ['fence_aws', 'fence_azure_arm', 'fence_gce', 'fence_openstack', 'fence_vmware_rest'];
  const named = agents.map((agent) => /driver=(\w+)/.exec(whyNotAllowed(agent) ?? '')?.[1] ?? '');
  assert.deepEqual([...cloudDrivers.keys()].sort(), named.sort());
});

describe('EC2', () => {
  const endpoint = useEndpoint(startAws);
  beforeEach(() => endpoint().setState('a', 'running'));

  fleetContract({
    endpoint,
    cloud,
    machines: ['a', 'b'],
    named: (machine) => `aws:///${endpoint().instances[machine].zone}/${endpoint().instances[machine].id}`,
    absent: 'aws:///eu-central-1a/i-0123456789abcdef0',
    unnamed: 'machine-a',
    calls: 1,
  });

  const statusBy = (instance: string) => {
    const { plain, secret } = endpoint().parameters('a');
    return cloudDevice(cloud, { plain: { ...plain, instance }, secret }).ask('status', never);
  };

  const states: Record<string, string> = {
    pending: 'unknown',
    running: 'on',
    'shutting-down': 'unknown',
    terminated: 'off',
    stopping: 'unknown',
    stopped: 'off',
    'stopped Client.UserInitiatedHibernate': 'unknown',
  };
  for (const [state, expected] of Object.entries(states)) {
    test(`[FEN-9, FEN-10] ${state} is ${expected}`, async () => {
      await endpoint().setState('a', state);
      const answer = await endpoint().device('a').ask('status', never);
      assert.equal(answer.kind === 'status' ? answer.power : answer.kind, expected, JSON.stringify(answer));
      if (answer.kind === 'unknown' && !state.includes(' ')) assert.ok(answer.message.includes(state));
    });
  }

  test('[FEN-9] an instance is found by ID, provider ID, name and private name, and is always the same', async () => {
    const { id, zone, dns } = endpoint().instances.a;
    for (const instance of [id, `aws:///${zone}/${id}`, `${id}.eu-central-1.compute.internal`, 'machine-a', dns]) {
      const answer = await statusBy(instance);
      const identity = { kind: 'providerID', value: `aws:///${zone}/${id}` };
      assert.deepEqual(answer, { kind: 'status', power: 'on', identity }, instance);
    }
  });

  test('[FEN-9] what does not exist, and a name that two have, is refused and not off', async () => {
    for (const [instance, reason] of [
      ['i-0123456789abcdef0', /NotFound/],
      ['nobody', /there is no instance nobody/],
      ['twin', /there are 2 instances twin/],
    ] as const) {
      const answer = await statusBy(instance);
      assert.ok(answer.kind === 'refused', JSON.stringify(answer));
      assert.match(answer.message, reason);
    }
  });

  test('[FEN-9] a key that may only read says so, and nothing is done', async () => {
    const device = cloudDevice(cloud, endpoint().parameters('a', { key: 'reading' }));
    assert.equal((await device.ask('status', never)).kind, 'status');
    assert.equal((await device.ask('off', never)).kind, 'refused');
    assert.equal(await endpoint().power('a'), 'on');
  });

  test('[FEN-9] a wrong secret key is named as the reason', async () => {
    const answer = await endpoint().device('a', { credential: 'wrong' }).ask('status', never);
    assert.ok(answer.kind === 'refused', JSON.stringify(answer));
    assert.match(answer.message, /the credential is not accepted/);
  });

  test('[FEN-10] a signal ends it in time, with unknown', async () => {
    await endpoint().fault('a', 'hangs');
    const limit = new AbortController();
    const asked = endpoint().device('a').ask('off', limit.signal);
    limit.abort();
    assert.equal((await asked).kind, 'unknown');
    await endpoint().fault('a', 'none');
  });
});
