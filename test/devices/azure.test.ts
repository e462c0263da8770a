import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { azure as cloud } from '../../src/devices/clouds/azure.ts';
import { deviceContract } from './contract.ts';
import { azure, ids, startAzure } from './endpoints/azure.ts';
import { cloudDevice } from './endpoints/cloud.ts';
import { fleetContract } from './fleet-contract.ts';
import { tokenContract } from './token-contract.ts';
import { useEndpoint } from './use-endpoint.ts';

const never = new AbortController().signal;

deviceContract(azure);

describe('Azure', () => {
  const endpoint = useEndpoint(startAzure);
  beforeEach(async () => {
    await endpoint().setPower('a', 'on');
    await endpoint().setPower('b', 'on');
  });

  fleetContract({
    endpoint,
    cloud,
    machines: ['a'],
    named: (machine) => `azure://${ids[machine]}`,
    absent: `azure://${ids.a.replace('machine-a', 'nobody')}`,
    elsewhere: `azure://${ids.a.replace(/subscriptions\/[^/]+/, 'subscriptions/00000000-0000-0000-0000-000000000000')}`,
    // In a scale set.
    unnamed: ids.b,
    calls: 3,
  });

  const deviceFor = (plain: Record<string, string>) => {
    const { plain: usual, secret } = endpoint().parameters('a');
    return cloudDevice(cloud, { plain: { ...usual, ...plain }, secret });
  };

  const states: Record<string, string> = {
    'PowerState/running': 'on',
    'PowerState/stopped': 'off',
    'PowerState/deallocated': 'off',
    'PowerState/stopping': 'unknown',
    'PowerState/deallocating': 'unknown',
    'PowerState/starting': 'unknown',
    'PowerState/unknown': 'unknown',
    'PowerState/deallocated HibernationState/Hibernated': 'unknown',
    'PowerState/stopped PowerState/running': 'unknown',
    'VMAgent/ready': 'unknown',
  };
  test('[FEN-9, FEN-10] only what is certainly off is off', async () => {
    const device = endpoint().device('a');
    for (const [state, expected] of Object.entries(states)) {
      endpoint().fake.states.a = state.split(' ');
      const answer = await device.ask('status', never);
      assert.equal(
        answer.kind === 'status' ? answer.power : answer.kind,
        expected,
        `${state}: ${JSON.stringify(answer)}`,
      );
    }
  });

  test('[FEN-9] a machine is found by its name alone, in a group, by ID and by provider ID', async () => {
    const subscription_id = ids.a.split('/')[2] ?? '';
    for (const plain of [
      { instance: 'machine-a', subscription_id },
      { instance: 'machine-a', subscription_id, resource_group: 'Nodes' },
      { instance: ids.a },
      { instance: `azure://${ids.a}` },
    ] as Record<string, string>[]) {
      const identity = { kind: 'providerID', value: `azure://${ids.a}` };
      assert.deepEqual(await deviceFor(plain).ask('status', never), { kind: 'status', power: 'on', identity });
    }
    for (const plain of [
      { instance: 'nobody', subscription_id },
      { instance: 'machine-a', subscription_id, resource_group: 'Other' },
    ] as Record<string, string>[]) {
      assert.equal((await deviceFor(plain).ask('status', never)).kind, 'refused');
    }
  });

  test('[FEN-9] a list is read to its last page: who is there twice is nobody, and no page is on another host', async () => {
    const { fake } = endpoint();
    const usual = fake.listed;
    const device = deviceFor({ instance: 'machine-a', subscription_id: ids.a.split('/')[2] ?? '' });
    try {
      fake.listed = [ids.a, ids.a.replace('Nodes', 'Other')];
      const twice = await device.ask('status', never);
      assert.ok(twice.kind === 'refused' && twice.message.includes('several'), JSON.stringify(twice));
      fake.listed = [ids.a, ids.a.replace('machine-a', 'machine-c')];
      fake.elsewhere = 'https://127.0.0.1:1';
      const led = await device.ask('status', never);
      assert.ok(led.kind === 'unknown' && led.message.includes('another host'), JSON.stringify(led));
    } finally {
      fake.listed = usual;
      fake.elsewhere = undefined;
    }
  });

  test('[FEN-10] an operation is read to its end, wherever that is', async () => {
    for (const machine of ['a', 'b'] as const) {
      assert.deepEqual(await endpoint().device(machine).ask('off', never), { kind: 'accepted' });
      const [operation] = [...endpoint().fake.operations.values()].slice(-1);
      assert.equal(operation?.readsLeft, 0);
      assert.equal(await endpoint().power(machine), 'off');
    }
  });

  test('[FEN-10] an operation that ends in error is refused only where it cannot have acted', async () => {
    for (const [machine, code, hasActed, kind] of [
      ['a', 'OperationNotAllowed', false, 'refused'],
      ['a', 'InternalExecutionError', true, 'unknown'],
      ['b', 'InternalExecutionError', true, 'unknown'],
    ] as const) {
      await endpoint().setPower(machine, 'on');
      endpoint().fake.nextError = { code, hasActed };
      const answer = await endpoint().device(machine).ask('off', never);
      assert.ok(answer.kind === kind && answer.message.includes('it is not to be'), JSON.stringify(answer));
    }
  });

  test('[FEN-9] what the state forbids because it is so already is success', async () => {
    endpoint().fake.states.a = ['PowerState/deallocated'];
    endpoint().fake.nextError = { code: 'OperationNotAllowed', hasActed: false };
    assert.deepEqual(await endpoint().device('a').ask('off', never), { kind: 'accepted' });
  });

  test('[FEN-8] a secret that an answer quotes is taken out of it', async () => {
    const answer = await endpoint().device('a', { credential: 'wrong' }).ask('status', never);
    assert.ok(answer.kind === 'refused' && /AADSTS7000215/.test(answer.message), JSON.stringify(answer));
    assert.ok(!answer.message.includes(azure.canary.toLowerCase()), answer.message);
  });

  test('[FEN-8] the token goes to no other host, whatever an answer says', async () => {
    const other = await startAzure();
    try {
      endpoint().fake.elsewhere = other.fake.url;
      const answer = await endpoint().device('a').ask('off', never);
      assert.ok(answer.kind === 'unknown' && /another host/.test(answer.message), JSON.stringify(answer));
    } finally {
      endpoint().fake.elsewhere = undefined;
      await other.stop();
    }
  });

  tokenContract(endpoint);
});
