import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { deviceOf, driverOf, json, on, RedfishBmc, RESET, SYSTEM } from '../../test/support/redfish-bmc.ts';
import { waitFor } from '../../test/support/wait.ts';
import { realClock } from '../clock.ts';
import type { DeviceAction, DeviceAnswer } from './device.ts';
import { RedfishDriver } from './redfish.ts';

const never = new AbortController().signal;

describe('[EVD-4] Redfish without an agent', () => {
  test('[EVD-4, FEN-10] status with whose power it is, off, off again and on, by one connection', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc);
    // Each question has a device of its own, as in a cluster; what is kept is kept by the driver.
    const ask = (action: DeviceAction): Promise<DeviceAnswer> => deviceOf(bmc, {}, driver).ask(action, never);
    assert.deepEqual(await ask('status'), on(bmc));
    assert.deepEqual(await ask('off'), { kind: 'accepted' });
    assert.deepEqual(await ask('status'), { ...on(bmc), power: 'off' });
    assert.deepEqual(await ask('off'), { kind: 'accepted' }, 'already off is success');
    assert.deepEqual(await ask('on'), { kind: 'accepted' });
    assert.deepEqual(await ask('status'), on(bmc));
    const posted = bmc.requests.filter((one) => one.startsWith('POST'));
    assert.deepEqual(posted, [`POST ${RESET} {"ResetType":"ForceOff"}`, `POST ${RESET} {"ResetType":"On"}`]);
    assert.equal(bmc.connections, 1);
    assert.ok(!bmc.requests.some((one) => one.includes('Session')), 'nothing is left behind on the controller');
  });

  test('[EVD-4] who finds the connection busy gets another one, which is not kept', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc);
    const held: ServerResponse[] = [];
    bmc.mischief = (_, response) => void held.push(response);
    const asked = Array.from({ length: 3 }, () => deviceOf(bmc, {}, driver).ask('status', never));
    await waitFor('three questions', () => held.length === 3);
    for (const response of held) json(response, 200, bmc.system());
    assert.deepEqual(await Promise.all(asked), [on(bmc), on(bmc), on(bmc)]);
    await waitFor('one to be left', async () => (await bmc.open()) === 1);
  });

  test('[EVD-4] a connection that the controller has closed costs no answer', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc);
    await deviceOf(bmc, {}, driver).ask('status', never);
    bmc.mischief = (asked) => {
      bmc.mischief = () => false;
      asked.socket.destroy();
    };
    assert.deepEqual(await deviceOf(bmc, {}, driver).ask('status', never), on(bmc));
    bmc.dropConnections();
    assert.deepEqual(await deviceOf(bmc, {}, driver).ask('off', never), { kind: 'accepted' });
    assert.equal(bmc.connections, 3);
  });

  test('[FEN-10] a command that gets no answer may have been carried out, and is not sent twice', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc);
    await deviceOf(bmc, {}, driver).ask('status', never);
    bmc.mischief = ({ method, socket }) => (method === 'POST' ? void socket.destroy() : false);
    assert.equal((await deviceOf(bmc, {}, driver).ask('off', never)).kind, 'unknown');
    assert.equal(bmc.requests.filter((one) => one.startsWith('POST')).length, 1);
  });
});

describe('[EVD-4, FEN-10] a controller that refuses', () => {
  test('a wrong credential, a system that is not there, a user who may not', async () => {
    await using bmc = await RedfishBmc.start();
    for (const action of ['status', 'off'] as const) {
      const wrong = await deviceOf(bmc, { password: 'canary1984' }).ask(action, never);
      assert.ok(wrong.kind === 'refused' && /not accepted: who are you\? \(status 401\)/.test(wrong.message));
      assert.ok(!wrong.message.includes('canary1984'));
      const absent = await deviceOf(bmc, { plain: { systems_uri: `${SYSTEM}0` } }).ask(action, never);
      assert.ok(absent.kind === 'refused' && /no such thing.*404/.test(absent.message), JSON.stringify(absent));
    }
    bmc.mischief = ({ method }, response) => {
      const info = [{ Message: `not for ${bmc.credential.password}` }];
      const error = { message: 'See ExtendedInfo.', '@Message.ExtendedInfo': info };
      return method === 'GET' ? false : json(response, 403, { error });
    };
    const denied = await deviceOf(bmc).ask('off', never);
    assert.ok(
      denied.kind === 'refused' && /not for \[redacted\] \(status 403\)/.test(denied.message),
      JSON.stringify(denied),
    );
    assert.equal(bmc.power, 'On');
  });

  test('a certificate of somebody else, for another host, or out of date: nothing is sent', async () => {
    const past = { notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') };
    for (const [certificate, trust] of [
      [{}, 'strangerFile'],
      [{ hosts: ['bmc.example'] }, 'trustFile'],
      [past, 'trustFile'],
    ] as const) {
      await using bmc = await RedfishBmc.start(certificate);
      for (const action of ['status', 'off'] as const) {
        const answer = await deviceOf(bmc, { trustFile: bmc[trust] }).ask(action, never);
        assert.ok(
          answer.kind === 'refused' && /not trusted, and nothing was sent/.test(answer.message),
          JSON.stringify(answer),
        );
        assert.doesNotMatch(answer.message, /use-system-ca/, 'a flag that nobody can give');
        const isAdvised = answer.message.endsWith('; name its authority by --agent-trust-file');
        assert.equal(isAdvised, trust === 'strangerFile');
      }
      assert.deepEqual(bmc.requests, []);
      const insecure = deviceOf(bmc, { trustFile: bmc[trust], plain: { ssl_insecure: '1' } });
      assert.deepEqual(await insecure.ask('status', never), on(bmc), 'unless it is said that this does not matter');
      const zero = deviceOf(bmc, { trustFile: bmc[trust], plain: { ssl_insecure: '0' } });
      assert.equal((await zero.ask('status', never)).kind, 'refused');
    }
  });

  test('an answer that was not checked is no reason to trust the connection later', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc, { trustFile: bmc.strangerFile });
    assert.deepEqual(await deviceOf(bmc, { plain: { ssl_insecure: '1' } }, driver).ask('status', never), on(bmc));
    assert.equal((await deviceOf(bmc, {}, driver).ask('status', never)).kind, 'refused');
  });

  test('whom to trust cannot be read', async () => {
    await using bmc = await RedfishBmc.start();
    const answer = await deviceOf(bmc, { trustFile: `${bmc.trustFile}.gone` }).ask('off', never);
    assert.ok(answer.kind === 'refused' && /whom to trust cannot be read/.test(answer.message), JSON.stringify(answer));
    assert.equal(bmc.connections, 0);
  });
});

describe('[EVD-4, FEN-7] what is written for fence_redfish', () => {
  const driver = new RedfishDriver({ timeoutMs: 1000, allowed: [] });
  const plain = { ip: '10.0.0.1', username: 'admin', systems_uri: SYSTEM };
  const secret = { password: 'canary' };

  test('is understood as far as it means something without the agent', () => {
    const names = {
      ipaddr: '[fd00::1]',
      login: 'admin',
      'systems-uri': SYSTEM,
      'redfish-uri': '/redfish/v1',
      ssl: '1',
    };
    for (const known of [plain, { ...plain, ipport: '8443', ssl_insecure: '1', ssl_secure: '0' }, names]) {
      assert.ok(driver.understands({ plain: known, secret }), JSON.stringify(known));
      assert.deepEqual(driver.check({ plain: known, secret }), []);
    }
    for (const own of ['power_timeout', 'delay', 'login_timeout', 'retry_on', 'plug', 'sytems_uri']) {
      assert.ok(!driver.understands({ plain: { ...plain, [own]: '1' }, secret }), own);
    }
    assert.ok(!driver.understands({ plain: { ...plain, ip: 'fe80::1%eth0' }, secret }), 'only the agent knows zones');
  });

  test('is checked as it is for the agent, and a device of what is wrong refuses', async () => {
    for (const [change, key] of [
      [{ systems_uri: '' }, 'systems_uri'],
      [{ systems_uri: 'https://elsewhere/redfish/v1/Systems/1' }, 'systems_uri'],
      [{ systems_uri: '/redfish/v1/../../login' }, 'systems_uri'],
      [{ systems_uri: '/redfish/v1/%2E%2e/login' }, 'systems_uri'],
      [{ systems_uri: `${SYSTEM}?x=1` }, 'systems_uri'],
      [{ ip: 'user@elsewhere' }, 'ip'],
      [{ ip: 'bmc/x?' }, 'ip'],
      [{ ipport: '443/x' }, 'ipport'],
      [{ username: 'a\r\nhost: b' }, 'username'],
      [{ username: 'a:b' }, 'username'],
      [{ ssl_insecure: 'maybe' }, 'ssl_insecure'],
      [{ passwd: 'canary' }, 'passwd'],
    ] as const) {
      const parameters = { plain: { ...plain, ...change }, secret };
      assert.ok(driver.understands(parameters), 'said here, and not by an agent that may not be there');
      const problems = driver.check(parameters);
      assert.ok(
        problems.some((one) => one.key === key),
        JSON.stringify([change, problems]),
      );
      const answer = await driver.device(parameters, realClock).ask('status', never);
      assert.equal(answer.kind, 'refused', JSON.stringify(answer));
      assert.ok(!JSON.stringify([problems, answer]).includes('canary'));
    }
    const { systems_uri: _, ...without } = plain;
    assert.match(driver.check({ plain: without, secret })[0]?.problem ?? '', /may be another machine/);
    assert.match(driver.check({ plain, secret: {} })[0]?.problem ?? '', /needs it/);
  });

  test('names its device by where it is, without credentials', () => {
    const name = (change: Record<string, string>, password = 'canary'): string =>
      driver.device({ plain: { ...plain, ...change }, secret: { password } }, realClock).name;
    assert.equal(name({}), `redfish 10.0.0.1 ${SYSTEM}`);
    assert.equal(name({ ip: 'fd00::1', ipport: '8443' }), `redfish [fd00::1]:8443 ${SYSTEM}`);
    assert.equal(name({ ip: 'bmc.example:8443' }), `redfish bmc.example:8443 ${SYSTEM}`);
    assert.ok(!name({ ip: 'canary.example' }).includes('canary'));
  });
});
