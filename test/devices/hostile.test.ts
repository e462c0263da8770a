/**
 * Every parameter of the agents with values that name a program, an option or a file (SEC-1). What the door does not let
 * through starts nothing; what it does let through, credentials alone, is taken literally by the real agent.
 *
 * The known offenders here, all agents with `FENCELINE_EXHAUSTIVE=1` (`make soak`).
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { isSecretName } from '../../src/devices/agent-metadata.ts';
import { runProgram } from '../../src/devices/agent-process.ts';
import { agentEnvironment, AgentCatalogue, defaultAgentSettings } from '../../src/devices/agent.ts';
import type { DeviceDriver, DeviceParameters } from '../../src/devices/device.ts';
import { Canaries, Doors, rudeDevice } from './hostile.ts';

const isExhaustive = process.env['FENCELINE_EXHAUSTIVE'] === '1';
/** Of which it is known: programs by ssh and telnet, remote shells, command lines that are split. */
const offenders = ['fence_brocade', 'fence_virsh', 'fence_lpar', 'fence_ipmilan', 'fence_apc_snmp', 'fence_netio'];
const installed = readdirSync(defaultAgentSettings.directory).filter((name) => name.startsWith('fence_'));
const agents = isExhaustive ? installed : offenders;

let rude: Awaited<ReturnType<typeof rudeDevice>>;
before(async () => {
  rude = await rudeDevice();
});
after(() => rude.server.close());

/** As far as an agent gets with them, it gets to the rude device. */
function harmless(driver: DeviceDriver): DeviceParameters {
  const wanted: Record<string, string> = {
    ip: '127.0.0.1',
    ipport: String(rude.port),
    username: 'admin',
    plug: '1',
    login_timeout: '1',
    shell_timeout: '1',
    power_timeout: '1',
    retry_on: '0',
    systems_uri: '/redfish/v1/Systems/1',
    session_url: `https://127.0.0.1:${rude.port}/`,
    auth_url: `https://127.0.0.1:${rude.port}/`,
    region: 'eu',
    instance: 'one',
    crn: 'crn:v1',
    ssl_insecure: '1',
  };
  const known = (key: string, value: string): boolean =>
    !driver.check({ plain: { [key]: value }, secret: {} }).some((one) => one.key === key);
  const plain = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => known(key, value)));
  return { plain, secret: { password: 'correct-horse' } };
}

function withValue({ plain, secret }: DeviceParameters, key: string, value: string): DeviceParameters {
  return isSecretName(key)
    ? { plain, secret: { ...secret, [key]: value } }
    : { plain: { ...plain, [key]: value }, secret };
}

async function parametersOf(agent: string): Promise<string[]> {
  const end = await runProgram(
    {
      file: `${defaultAgentSettings.directory}/${agent}`,
      input: 'action=metadata\n',
      environment: agentEnvironment(defaultAgentSettings),
      signal: new AbortController().signal,
      timeoutMs: 30_000,
      outputLimitBytes: 2 ** 20,
    },
    realClock,
  );
  assert.ok(end.kind === 'exited', agent);
  return [...end.stdout.matchAll(/<parameter\s+name="([^"]+)"/g)].map(([, name = '']) => name);
}

/** A credential that is let through is given to the real agent, which takes its time: here those that quoting is for. */
function worthARun(value: string): boolean {
  return isExhaustive || /[$'"!]/.test(value);
}

async function tryAgent(agent: string, canaries: Canaries, doors: Doors): Promise<void> {
  const settings = { ...defaultAgentSettings, directory: doors.directory, timeoutMs: 10_000 };
  const found = await new AgentCatalogue(settings, realClock).driver(agent);
  // What is not on the list is not even asked what it knows.
  if (found.kind === 'problem') return assert.equal(await doors.written(), '');
  const { driver } = found;
  const base = harmless(driver);
  await doors.written();
  for (const key of await parametersOf(agent)) {
    for (const value of canaries.values) {
      const parameters = withValue(base, key, value);
      const isLetThrough = !driver.check(parameters).some((one) => one.key === key);
      assert.ok(!isLetThrough || isSecretName(key), `${key}=${value}`);
      // A Secret may hold any key: it is no way around what is looked at in a ConfigMap.
      const { [key]: _, ...plain } = base.plain;
      const hidden = { plain, secret: { ...base.secret, [key]: value } };
      assert.ok(
        isSecretName(key) || driver.check(hidden).some((one) => one.key === key),
        `${key}=${value} in a Secret`,
      );
      if (isLetThrough && !worthARun(value)) continue;
      const answer = await driver.device(parameters, realClock).ask('status', AbortSignal.timeout(20_000));
      const written = await doors.written();
      if (!isLetThrough) assert.deepEqual([answer.kind, written], ['refused', ''], `${key}=${value}`);
      assert.deepEqual(canaries.touched(), [], `${key}=${value}`);
    }
  }
}

describe('hostile values', { concurrency: 6 }, () => {
  test('the canaries sing: around the door, the known value runs its program', async () => {
    await using canaries = await Canaries.open();
    const proxy = canaries.values.find((value) => value.startsWith('admin -oProxyCommand')) ?? '';
    await runProgram(
      {
        file: `${defaultAgentSettings.directory}/fence_brocade`,
        input: `action=status\nip=127.0.0.1\nipport=${rude.port}\nssh=1\nusername=${proxy}\npassword=x\nplug=1\nlogin_timeout=1\n`,
        environment: agentEnvironment(defaultAgentSettings),
        signal: new AbortController().signal,
        timeoutMs: 10_000,
        outputLimitBytes: 2 ** 20,
      },
      realClock,
    );
    assert.deepEqual(canaries.touched(), ['program']);
  });

  for (const agent of agents) {
    test(`[SEC-1] ${agent}: no program, option or file that a value names`, async () => {
      await using canaries = await Canaries.open();
      await using doors = await Doors.open([agent], defaultAgentSettings.directory);
      await tryAgent(agent, canaries, doors);
    });
  }
});
