import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { cloudDriver } from '../../src/devices/clouds/cloud.ts';
import { gce as cloud } from '../../src/devices/clouds/gce.ts';
import { waitFor } from '../support/wait.ts';
import { deviceContract } from './contract.ts';
import { cloudDevice } from './endpoints/cloud.ts';
import { gce, startGce } from './endpoints/gce.ts';
import { fleetContract } from './fleet-contract.ts';
import { tokenContract } from './token-contract.ts';
import { useEndpoint } from './use-endpoint.ts';

const never = new AbortController().signal;

deviceContract(gce);

describe('Compute Engine', () => {
  const endpoint = useEndpoint(startGce);
  beforeEach(() => endpoint().setPower('a', 'on'));

  fleetContract({
    endpoint,
    cloud,
    machines: ['a', 'b'],
    named: (machine) => `gce://example-project/europe-west3-a/machine-${machine}`,
    absent: 'gce://example-project/europe-west3-a/nobody',
    elsewhere: 'gce://another-project/europe-west3-a/machine-a',
    unnamed: 'machine-a',
    calls: 3,
  });

  const deviceFor = (plain: Record<string, string>) => {
    const { plain: usual, secret } = endpoint().parameters('a');
    const { zone: _zone, ...others } = usual;
    return cloudDevice(cloud, { plain: { ...others, ...plain }, secret });
  };

  const states: Record<string, string> = {
    RUNNING: 'on',
    TERMINATED: 'off',
    STOPPED: 'off',
    STOPPING: 'unknown',
    PENDING_STOP: 'unknown',
    SUSPENDING: 'unknown',
    SUSPENDED: 'unknown',
    PROVISIONING: 'unknown',
    STAGING: 'unknown',
    REPAIRING: 'unknown',
    DEPROVISIONING: 'unknown',
    SOMETHING_NEW: 'unknown',
  };
  test('[FEN-9, FEN-10] only what is certainly off is off', async () => {
    const device = endpoint().device('a');
    for (const [state, expected] of Object.entries(states)) {
      endpoint().fake.states.a = state;
      const answer = await device.ask('status', never);
      assert.equal(answer.kind === 'status' ? answer.power : answer.kind, expected, JSON.stringify(answer));
      if (answer.kind === 'unknown') assert.ok(answer.message.includes(state));
    }
  });

  test('[FEN-9] an instance is found by its name alone, in a zone, and by provider ID', async () => {
    const identity = { kind: 'providerID', value: 'gce://example-project/europe-west3-a/machine-a' };
    for (const plain of [{}, { zone: 'europe-west3-a' }, { instance: identity.value }] as Record<string, string>[]) {
      assert.deepEqual(await deviceFor(plain).ask('status', never), { kind: 'status', power: 'on', identity });
    }
    for (const plain of [{ instance: 'nobody' }, { zone: 'us-east1-b' }] as Record<string, string>[]) {
      assert.equal((await deviceFor(plain).ask('status', never)).kind, 'refused');
    }
  });

  test('[FEN-10] an operation is read to its end', async () => {
    assert.deepEqual(await endpoint().device('a').ask('off', never), { kind: 'accepted' });
    const [operation] = [...endpoint().fake.operations.values()].slice(-1);
    assert.equal(operation?.readsLeft, 0);
    assert.equal(await endpoint().power('a'), 'off');
  });

  test('[FEN-10] an operation that ends in error is refused only where it cannot have acted', async () => {
    for (const [code, hasActed, kind] of [
      ['PERMISSIONS_ERROR', false, 'refused'],
      ['INTERNAL_ERROR', true, 'unknown'],
    ] as const) {
      endpoint().fake.nextError = { code, hasActed };
      const answer = await endpoint().device('a').ask('off', never);
      assert.ok(answer.kind === kind && answer.message.includes(code), JSON.stringify(answer));
    }
  });

  tokenContract(endpoint);

  test('[FEN-10] a signal ends the wait for an operation, with unknown', async () => {
    await endpoint().fault('a', 'late');
    const limit = new AbortController();
    const asked = endpoint().device('a', { timeoutMs: 60_000 }).ask('off', limit.signal);
    await waitFor('the operation to be begun', () => endpoint().fake.faults.held.a !== undefined);
    limit.abort();
    assert.equal((await asked).kind, 'unknown');
    await endpoint().fault('a', 'none');
  });

  test('[FEN-7] credentials that are none are found, and not repeated', () => {
    const { plain, secret } = endpoint().parameters('a');
    const check = (credentials: string) =>
      JSON.stringify(cloudDriver(cloud).check({ plain, secret: { ...secret, credentials } }));
    for (const credentials of ['canary', '{}', '{"client_email":"x","private_key":"canary"}']) {
      assert.match(check(credentials), /"credentials"/);
      assert.ok(!check(credentials).includes('canary'));
    }
  });
});
