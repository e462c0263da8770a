import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  deviceOf,
  driverOf,
  json,
  on,
  RedfishBmc,
  RESET,
  SYSTEM,
  type Mischief,
} from '../../test/support/redfish-bmc.ts';
import { waitFor } from '../../test/support/wait.ts';

const never = new AbortController().signal;

describe('[EVD-4, FEN-10] a controller that says neither on nor off is unknown, and never off', () => {
  const states = [
    null,
    undefined,
    'PoweringOff',
    'PoweringOn',
    'Paused',
    'off',
    'OFF',
    'Off ',
    '',
    false,
    0,
    ['Off'],
    {},
  ];
  for (const state of states) {
    test(`power state ${JSON.stringify(state)}`, async () => {
      await using bmc = await RedfishBmc.start();
      bmc.power = state;
      const answer = await deviceOf(bmc).ask('status', never);
      assert.ok(answer.kind === 'unknown', JSON.stringify(answer));
      assert.match(answer.message, /^its power state is /);
    });
  }

  const off = { PowerState: 'Off' };
  const chunk = Buffer.alloc(64 * 1024, ' ');
  const hostile: Readonly<Record<string, Mischief>> = {
    'a page instead of JSON': (_, response) => void response.end('<html>PowerState: Off</html>'),
    'a list': (_, response) => json(response, 200, [off]),
    'a text': (_, response) => json(response, 200, 'Off'),
    'half of it': (_, response) => void response.end('{"PowerState": "Off"'),
    nothing: (_, response) => void response.end(),
    'a chassis': (_, response) => json(response, 200, { ...off, '@odata.type': '#Chassis.v1_21_0.Chassis' }),
    'an error that looks like a system': (_, response) => json(response, 500, off),
    'nothing to say yet': (_, response) => json(response, 202, off),
    'part of it': (_, response) => json(response, 206, off),
    'another place on it': (_, response) => void response.writeHead(302, { location: '/redfish/v1/Systems/2' }).end(),
    'itself, for ever': (_, response) => void response.writeHead(301, { location: SYSTEM }).end(JSON.stringify(off)),
    'a length that is not so': (_, response) =>
      void response
        .writeHead(200, { 'content-length': '500' })
        .write('{"PowerState": "Off"}', () => response.destroy()),
    'headers without end': ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const line = `X-More: ${chunk.toString()}\r\n`;
      const more = (): void => void (socket.destroyed || socket.write(line, () => setImmediate(more)));
      more();
    },
    'something that is not HTTP': ({ socket }) => void socket.write('220 ftp.example ready\r\n'),
    'a body in a code that nobody asked for': (_, response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.from('1f8b0800', 'hex')),
    'a depth that no reader stands': (_, response) => void response.end('['.repeat(500_000)),
    'the end of the connection': ({ socket }) => void socket.destroy(),
  };
  for (const [what, mischief] of Object.entries(hostile)) {
    test(`answers with ${what}`, async () => {
      await using bmc = await RedfishBmc.start();
      bmc.mischief = mischief;
      assert.equal((await deviceOf(bmc).ask('status', never)).kind, 'unknown');
      const answer = await deviceOf(bmc).ask('off', never);
      assert.equal(answer.kind, 'unknown', JSON.stringify(answer));
      assert.ok(bmc.requests.length < 6 && bmc.requests.every((one) => one === `GET ${SYSTEM}`), String(bmc.requests));
    });
  }

  test('answers without end: not read to it', async () => {
    await using bmc = await RedfishBmc.start();
    let sentBytes = 0;
    bmc.mischief = (_, response) => {
      response.writeHead(200).write('{"PowerState": "Off"');
      const more = (): void => {
        sentBytes += chunk.length;
        if (!response.destroyed) response.write(chunk, () => setImmediate(more));
      };
      more();
    };
    const answer = await deviceOf(bmc, { timeoutMs: 60_000 }).ask('status', never);
    assert.ok(answer.kind === 'unknown' && /the answer is too long/.test(answer.message), JSON.stringify(answer));
    assert.ok(sentBytes < 32 * 2 ** 20, String(sentBytes));
  });

  test('says nothing, or a byte at a time: given up in time, and the next question by another connection', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc, { timeoutMs: 300 });
    const dripping: Mischief = (_, response) => {
      response.writeHead(200);
      const more = (): void => void (response.destroyed || response.write(' ', () => setTimeout(more, 5)));
      more();
    };
    for (const mischief of [() => {}, dripping] as Mischief[]) {
      bmc.mischief = mischief;
      const answer = await deviceOf(bmc, {}, driver).ask('status', never);
      assert.ok(answer.kind === 'unknown' && /no answer within 0\.3 s/.test(answer.message), JSON.stringify(answer));
      bmc.mischief = () => false;
      assert.deepEqual(await deviceOf(bmc, {}, driverOf(bmc)).ask('status', never), on(bmc));
    }
    await waitFor('what was given up to be closed', async () => (await bmc.open()) <= 2);
  });

  test('whoever asks calls it off', async () => {
    await using bmc = await RedfishBmc.start();
    const limit = new AbortController();
    bmc.mischief = () => limit.abort();
    const answer = await deviceOf(bmc).ask('status', limit.signal);
    assert.ok(answer.kind === 'unknown' && /called off/.test(answer.message), JSON.stringify(answer));
    assert.equal((await deviceOf(bmc).ask('off', limit.signal)).kind, 'unknown');
    assert.equal(bmc.requests.length, 1);
  });

  test('an answer to nothing is not taken for that to the next question', async () => {
    await using bmc = await RedfishBmc.start();
    const driver = driverOf(bmc);
    let socket: { write(text: string): unknown; closed: boolean } | undefined;
    bmc.mischief = (asked) => {
      socket = asked.socket;
      return false;
    };
    assert.deepEqual(await deviceOf(bmc, {}, driver).ask('status', never), on(bmc));
    const body = JSON.stringify({ ...bmc.system(), ...off });
    socket?.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await waitFor('it to be hung up on', () => socket?.closed === true);
    assert.deepEqual(await deviceOf(bmc, {}, driver).ask('status', never), on(bmc));
  });
});

describe('[EVD-4, SEC-1] what a controller says leads nowhere else', () => {
  test('a redirection is followed for a slash at the end, and for nothing else', async () => {
    await using bmc = await RedfishBmc.start();
    await using other = await RedfishBmc.start();
    other.power = 'Off';
    bmc.mischief = ({ url }, response) =>
      url === SYSTEM
        ? void response.writeHead(308, { location: `${SYSTEM}/` }).end()
        : json(response, 200, bmc.system());
    assert.deepEqual(await deviceOf(bmc).ask('status', never), on(bmc));
    for (const location of [
      `https://127.0.0.1:${other.port}${SYSTEM}`,
      `//127.0.0.1:${other.port}${SYSTEM}/`,
      `http://127.0.0.1:${bmc.port}${SYSTEM}/`,
      `${SYSTEM}/?x`,
      '/elsewhere',
      '',
    ]) {
      bmc.requests.splice(0);
      bmc.mischief = (_, response) => void response.writeHead(307, { location }).end();
      const answer = await deviceOf(bmc).ask('status', never);
      assert.ok(answer.kind === 'unknown' && /where we do not go/.test(answer.message), JSON.stringify(answer));
      assert.deepEqual(bmc.requests, [`GET ${SYSTEM}`]);
    }
    assert.deepEqual(other.requests, []);
  });

  test('a target on another host, of another system or of none is not used', async () => {
    await using bmc = await RedfishBmc.start();
    for (const target of [
      `https://127.0.0.1:9${RESET}`,
      `//127.0.0.1:9${RESET}`,
      '/redfish/v1/Systems/2/Actions/ComputerSystem.Reset',
      `${SYSTEM}0/Actions/ComputerSystem.Reset`,
      `${SYSTEM}/../2/Actions/ComputerSystem.Reset`,
      `${SYSTEM}/%2e%2e/2/Actions/ComputerSystem.Reset`,
      '/login',
      '',
      undefined,
      7,
    ]) {
      bmc.more = { Actions: { '#ComputerSystem.Reset': { target } } };
      const answer = await deviceOf(bmc).ask('off', never);
      assert.ok(
        answer.kind === 'refused' && /where its power is switched/.test(answer.message),
        JSON.stringify(answer),
      );
    }
    assert.equal(bmc.power, 'On');
    assert.ok(bmc.requests.every((one) => one === `GET ${SYSTEM}`));
  });

  test('only what the system may be told is said to it', async () => {
    await using bmc = await RedfishBmc.start();
    const key = 'ResetType@Redfish.AllowableValues';
    const told = async (power: unknown, action: 'on' | 'off', reset: Record<string, unknown>): Promise<string> => {
      bmc.power = power;
      bmc.more = { Actions: { '#ComputerSystem.Reset': { target: RESET, ...reset } } };
      bmc.requests.splice(0);
      const answer = await deviceOf(bmc).ask(action, never);
      return answer.kind === 'accepted'
        ? (/"ResetType":"(.*)"/.exec(String(bmc.requests.at(-1)))?.[1] ?? '')
        : answer.kind;
    };
    assert.equal(await told('On', 'off', { [key]: ['On', 'GracefulShutdown', 'ForceOff'] }), 'ForceOff');
    assert.equal(await told('Off', 'on', { [key]: ['ForceOn'] }), 'ForceOn');
    assert.equal(await told('On', 'off', { [key]: ['On', 'PushPowerButton', 'GracefulShutdown'] }), 'refused');
    assert.equal(await told('PoweringOff', 'off', {}), 'ForceOff', 'a state in between is told all the same');

    const info = `${SYSTEM}/ResetActionInfo`;
    bmc.mischief = ({ url }, response) => {
      const Parameters = [{ Name: 'ResetType', AllowableValues: ['ForceOn'] }];
      return url === info ? json(response, 200, { Parameters }) : false;
    };
    assert.equal(await told('Off', 'on', { '@Redfish.ActionInfo': info }), 'ForceOn');
    assert.equal(await told('On', 'off', { '@Redfish.ActionInfo': info }), 'refused');
    for (const path of [`${SYSTEM}/Gone`, 'https://127.0.0.1:9/redfish/v1/x', '/x']) {
      assert.equal(await told('On', 'off', { '@Redfish.ActionInfo': path }), 'ForceOff');
    }
  });

  test('[SAF-2] an identity is a UUID, and one that was never set is none', async () => {
    await using bmc = await RedfishBmc.start();
    for (const UUID of [
      '00000000-0000-0000-0000-000000000000',
      'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
      'x',
      '',
      null,
      7,
    ]) {
      bmc.more = { UUID };
      assert.deepEqual(await deviceOf(bmc).ask('status', never), { kind: 'status', power: 'on' });
    }
    bmc.more = { UUID: bmc.uuid.toUpperCase() };
    assert.deepEqual(await deviceOf(bmc).ask('status', never), on(bmc));
  });
});
