import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { vsphere as cloud } from '../../src/devices/clouds/vsphere.ts';
import { isSameSystem } from '../../src/api/machine.ts';
import { deviceContract } from './contract.ts';
import { cloudDevice } from './endpoints/cloud.ts';
import { startVsphere, vsphere } from './endpoints/vsphere.ts';
import { useEndpoint } from './use-endpoint.ts';

const never = new AbortController().signal;

deviceContract(vsphere);

describe('vSphere', () => {
  const endpoint = useEndpoint(startVsphere);
  beforeEach(async () => {
    await endpoint().setPower('a', 'on');
    endpoint().asked.length = 0;
  });

  const deviceFor = (instance: string) => {
    const { plain, secret } = endpoint().parameters('a');
    return cloudDevice(cloud, { plain: { ...plain, instance }, secret });
  };

  test('[FEN-9] a machine is found by UUID in either order of bytes, provider ID, path and name', async () => {
    const { uuid, name } = endpoint().machines.a;
    const [one = '', two = '', three = '', ...rest] = uuid.split('-');
    const turn = (field: string): string => (field.match(/../g) ?? []).toReversed().join('');
    const turned = [turn(one), turn(two), turn(three), ...rest].join('-');
    for (const instance of [uuid, turned, `vsphere://${uuid.toUpperCase()}`, `/DC0/vm/${name}`, name]) {
      const answer = await deviceFor(instance).ask('status', never);
      assert.ok(answer.kind === 'status' && answer.power === 'on', `${instance}: ${JSON.stringify(answer)}`);
      assert.ok(isSameSystem(answer.identity?.value ?? '', uuid));
    }
  });

  test('[FEN-9] what does not exist, and a name that two have, is refused and not off', async () => {
    await endpoint().setProperty(endpoint().machines.c.id, 'name', 'twin');
    await endpoint().setProperty(endpoint().machines.d.id, 'name', 'twin');
    for (const [instance, reason] of [
      ['nobody', /there is no machine nobody/],
      ['/DC0/vm/nobody', /there is no machine/],
      ['/DC0/vm', /there is no machine/],
      ['00112233-4455-6677-8899-aabbccddeeff', /there is no machine/],
      ['twin', /there are 2 machines twin/],
    ] as const) {
      const answer = await deviceFor(instance).ask('status', never);
      assert.ok(answer.kind === 'refused', `${instance}: ${JSON.stringify(answer)}`);
      assert.match(answer.message, reason);
    }
  });

  test('[FEN-10] suspended is not off, and of a host that was lost nothing is believed', async () => {
    const { id } = endpoint().machines.a;
    await endpoint().setProperty(id, 'runtime.powerState', 'suspended');
    const suspended = await endpoint().device('a').ask('status', never);
    assert.ok(suspended.kind === 'unknown' && suspended.message.includes('suspended'), JSON.stringify(suspended));
    await endpoint().setPower('a', 'off');
    for (const connection of ['disconnected', 'inaccessible', 'orphaned', 'invalid']) {
      await endpoint().setProperty(id, 'runtime.connectionState', connection);
      const answer = await endpoint().device('a').ask('status', never);
      assert.ok(answer.kind === 'unknown' && answer.message.includes(connection), JSON.stringify(answer));
    }
    await endpoint().setProperty(id, 'runtime.connectionState', 'connected');
    const answer = await endpoint().device('a').ask('status', never);
    assert.ok(answer.kind === 'status' && answer.power === 'off', JSON.stringify(answer));
  });

  test('[FEN-10] a task is read to its end, and one that ends in error is not accepted', async () => {
    for (const [fault, kind] of [
      ['GenericVmConfigFault', 'unknown'],
      ['NoPermission', 'refused'],
      ['InvalidPowerState', 'refused'],
    ] as const) {
      endpoint().endNextTaskWith(fault);
      const answer = await endpoint().device('a').ask('off', never);
      assert.ok(answer.kind === kind && answer.message.includes(fault), JSON.stringify(answer));
    }
  });

  test('[FEN-9] a session that ended is replaced once, and every session is ended', async () => {
    endpoint().endSessionBefore('PowerOffVM_Task');
    assert.deepEqual(await endpoint().device('a').ask('off', never), { kind: 'accepted' });
    assert.equal(await endpoint().power('a'), 'off');
    assert.equal(endpoint().asked.filter((method) => method === 'Login').length, 2);
    assert.equal(endpoint().asked.at(-1), 'Logout');
    endpoint().asked.length = 0;
    await deviceFor('nobody').ask('status', never);
    assert.equal(endpoint().asked.at(-1), 'Logout', 'also after a failure');
  });

  test('[FEN-9] a wrong password is named as the reason', async () => {
    const answer = await endpoint().device('a', { credential: 'wrong' }).ask('status', never);
    assert.ok(answer.kind === 'refused', JSON.stringify(answer));
    assert.match(answer.message, /the credential is not accepted/);
  });
});
