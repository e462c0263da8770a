import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../../test/support/wait.ts';
import { realClock } from '../clock.ts';
import { ALLOWED_AGENTS, whyNotAllowed } from '../api/agents.ts';
import { provesNothingDone } from './agent-list.ts';
import { AgentCatalogue, defaultAgentSettings, type AgentSettings } from './agent.ts';
import type { Device, DeviceAction, DeviceAnswer, DeviceDriver, DeviceWorld } from './device.ts';

const canary = "c4n'ary&42";
const never = new AbortController().signal;

const metadata = `<resource-agent name="fence_x" ><parameters>
<parameter name="ip" required="1"><content type="string" /></parameter>
<parameter name="plug" required="0"><content type="string" /></parameter>
<parameter name="password" required="0"><content type="string" /></parameter>
<parameter name="ssl_insecure" required="0"><content type="boolean" /></parameter>
<parameter name="lanplus" required="0"><content type="boolean" default="1" /></parameter>
</parameters><actions><action name="on" automatic="0"/><action name="off" /><action name="status" /></actions></resource-agent>`;

describe('a fence agent', () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'agents-'));
  });
  after(() => rm(dir, { recursive: true }));

  /** An agent whose `behaviour` is shell; what it was given is in `<name>.stdin`, `.argv` and `.env`. */
  async function driverOf(
    behaviour: string,
    { name = 'fence_wti', settings = {} }: Pick<FakeOptions, 'name' | 'settings'> = {},
  ): Promise<DeviceDriver> {
    const file = join(dir, name);
    await writeFile(`${file}.xml`, metadata);
    await writeFile(
      file,
      `#!/bin/sh
input=$(cat)
case "$input" in action=metadata*) cat '${file}.xml'; exit 0;; esac
printf '%s\\n' "$input" > '${file}.stdin'; tr '\\0' '\\n' < /proc/$$/cmdline > '${file}.argv'; tr '\\0' '\\n' < /proc/$$/environ > '${file}.env'
action=$(printf '%s\\n' "$input" | sed -n 's/^action=//p'); password=$(printf '%s\\n' "$input" | sed -n 's/^password=//p')
${behaviour}
`,
    );
    await chmod(file, 0o755);
    const found = await new AgentCatalogue({ ...defaultAgentSettings, directory: dir, ...settings }, realClock).driver(
      name,
    );
    assert.equal(found.kind, 'driver', JSON.stringify(found));
    assert.ok(found.kind === 'driver');
    return found.driver;
  }

  async function deviceOf(behaviour: string, options: FakeOptions = {}): Promise<Device> {
    const { plain = {}, world = realClock } = options;
    const driver = await driverOf(behaviour, options);
    return driver.device({ plain: { ip: '10.0.0.7', plug: '3', ...plain }, secret: { password: canary } }, world);
  }

  interface FakeOptions {
    name?: string;
    plain?: Record<string, string>;
    settings?: Partial<AgentSettings>;
    world?: DeviceWorld;
  }

  async function answerOf(behaviour: string, action: DeviceAction, options?: FakeOptions): Promise<DeviceAnswer> {
    return (await deviceOf(behaviour, options)).ask(action, never);
  }

  test('[FEN-8] gets its parameters by stdin, no argument, and nothing of our environment', async () => {
    process.env['FENCELINE_TEST_CANARY'] = canary;
    const device = await deviceOf('exit 0', { plain: { ssl_insecure: '0', lanplus: '0' } });
    assert.deepEqual(await device.ask('off', never), { kind: 'accepted' });
    delete process.env['FENCELINE_TEST_CANARY'];
    const written = async (what: string): Promise<string> => readFile(join(dir, `fence_wti.${what}`), 'utf8');
    // Without ssl_insecure: written at all, it would switch the check of certificates off.
    assert.equal(await written('stdin'), `action=off\nip=10.0.0.7\nplug=3\nlanplus=0\npassword=${canary}\n`);
    assert.deepEqual((await written('argv')).trim().split('\n').slice(1), [join(dir, 'fence_wti')]);
    const names = (await written('env'))
      .trim()
      .split('\n')
      .map((line) => line.slice(0, line.indexOf('=')));
    assert.deepEqual(names.filter((name) => name !== 'PWD').sort(), ['LANG', 'LC_ALL', 'PATH', 'PYTHONWARNINGS']);
    assert.equal(device.name, 'fence_wti 10.0.0.7 3');
  });

  test('[FEN-10] power is off when code and text say so, and otherwise unknown', async () => {
    assert.deepEqual(await answerOf('echo Status: ON; exit 0', 'status'), { kind: 'status', power: 'on' });
    assert.deepEqual(await answerOf('echo Status: OFF; exit 2', 'status'), { kind: 'status', power: 'off' });
    for (const wrong of [
      'exit 2',
      'exit 0',
      "echo \"python3: can't open file '/usr/sbin/fence_wti': [Errno 2]\" >&2; exit 2",
      'echo Status: ON; exit 2',
      'echo Status: OFF; exit 0',
      'echo Status: ON; echo Status: OFF; exit 2',
      'echo "not Status: OFF"; exit 2',
      'echo Status: OFF; exit 1',
      'echo Status: OFF; kill -SEGV $$',
    ]) {
      assert.equal((await answerOf(wrong, 'status')).kind, 'unknown', wrong);
    }
  });

  test('[FEN-10] already off is success', async () => {
    assert.deepEqual(await answerOf('echo "Success: Already OFF"; exit 0', 'off'), { kind: 'accepted' });
  });

  test('[FEN-10] a failure is a refusal only when the message proves it', async () => {
    const login = 'echo "2026-01-01 ERROR: Unable to connect/login to fencing device" >&2; exit 1';
    assert.equal((await answerOf(login, 'off')).kind, 'refused');
    assert.equal((await answerOf(login, 'off', { name: 'fence_eps' })).kind, 'unknown');
    const waiting = 'echo "ERROR: Failed: Timed out waiting to power OFF" >&2; exit 1';
    const answer = await answerOf(waiting, 'off');
    assert.equal(answer.kind, 'unknown');
    assert.match(JSON.stringify(answer), /Timed out waiting to power OFF/);
    assert.doesNotMatch(JSON.stringify(answer), /fence_wti 10/, 'whoever tells it says which device it is');
    assert.equal((await answerOf('exit 1', 'on')).kind, 'unknown');
  });

  test('[FEN-8] what it says is told without credentials, in whatever form', async () => {
    const answer = await answerOf(
      `echo "plain $password" >&2; printf 'admin:%s' "$password" | base64 >&2; echo "url c4n%27ary%2642" >&2; exit 1`,
      'status',
    );
    assert.equal(answer.kind, 'unknown');
    const text = JSON.stringify(answer);
    assert.match(text, /plain \[redacted\].*\[redacted\].*url \[redacted\]/);
    assert.ok(!text.includes('c4n') && !text.includes('YzRuJ2FyeSY0'), text);
  });

  test('[FEN-8] a credential that was written where it does not belong is taken out as well, of its name too', async () => {
    const misplaced = 'written-in-a-config-map';
    const parameters = { plain: { ip: '10.0.0.7', plug: misplaced, passwd: misplaced }, secret: { password: canary } };
    const driver = await driverOf(`echo "login as $password or ${misplaced} failed" >&2; exit 1`);
    assert.doesNotMatch(JSON.stringify(await driver.device(parameters, realClock).ask('off', never)), /config-map/);
    assert.equal(driver.device(parameters, realClock).name, 'fence_wti 10.0.0.7 [redacted]');
  });

  test('[SEC-1] S44: nothing is run that is not on the list, whoever has written its name, not even to be asked what it knows', async () => {
    await writeFile(join(dir, 'fence_evil'), `#!/bin/sh\ntouch '${dir}/ran'\ncat '${dir}/fence_wti.xml'\n`);
    await chmod(join(dir, 'fence_evil'), 0o755);
    const catalogue = new AgentCatalogue({ ...defaultAgentSettings, directory: dir }, realClock);
    for (const name of ['fence_evil', './fence_evil', `../${basename(dir)}/fence_evil`]) {
      assert.equal((await catalogue.driver(name)).kind, 'problem', name);
    }
    await assert.rejects(readFile(join(dir, 'ran')), { code: 'ENOENT' });
  });

  test('a long message is cut after its credentials were taken out', async () => {
    const answer = await answerOf(`printf 'x%.0s' $(seq 495) >&2; echo "$password" >&2; exit 1`, 'off');
    assert.ok(!JSON.stringify(answer).includes('c4n'));
    assert.ok(JSON.stringify(answer).length < 700);
  });

  test('[FEN-10] one that hangs is unknown in time, and nothing of it goes on', async () => {
    const hang = `sleep 300 & echo $! > '${dir}/grandchild'; echo $$ > '${dir}/child'; wait`;
    const timers: [number, () => void][] = [];
    const world: DeviceWorld = {
      now: () => 0,
      monotonic: () => 0,
      after(ms, callback) {
        timers.push([ms, callback]);
        return () => {};
      },
    };
    const device = await deviceOf(hang, { world, settings: { timeoutMs: 12_345 } });
    const asked = device.ask('off', never);
    const pids = await Promise.all(['child', 'grandchild'].map((who) => pidIn(join(dir, who))));
    for (const [ms, callback] of timers) if (ms === 12_345) callback();
    const answer = await asked;
    assert.equal(answer.kind, 'unknown');
    assert.match(JSON.stringify(answer), /did not end within 12.3 s/);
    for (const pid of pids) await gone(pid);
  });

  test('one that is called off is unknown at once', async () => {
    const device = await deviceOf(`echo $$ > '${dir}/called-off'; exec sleep 300`);
    const control = new AbortController();
    const asked = device.ask('off', control.signal);
    const pid = await pidIn(join(dir, 'called-off'));
    control.abort();
    assert.equal((await asked).kind, 'unknown');
    assert.equal((await device.ask('off', control.signal)).kind, 'unknown');
    await gone(pid);
  });

  test('one that floods is cut off', async () => {
    const answer = await answerOf('yes Status: OFF; exit 2', 'status', { settings: { outputLimitBytes: 4096 } });
    assert.match(JSON.stringify(answer), /unknown.*more than 4096 bytes/);
  });

  test('[SEC-5] a gigabyte of one, by stdout or by stderr, is not read to its end, and nothing of it goes on', async () => {
    for (const to of ['', ' >&2']) {
      const flood = `echo $$ > '${dir}/flood'; head -c 1073741824 /dev/zero${to}; echo Status: OFF; exit 2`;
      const answer = await answerOf(flood, 'status');
      assert.match(JSON.stringify(answer), /unknown.*more than 262144 bytes/);
      await gone(await pidIn(join(dir, 'flood')));
    }
  });

  test('[SEC-5] one that says a word now and then, without end, has its time, and nothing of it goes on', async () => {
    const drip = `echo $$ > '${dir}/drip'; while :; do echo Status: OFF; sleep 0.01; done`;
    const answer = await answerOf(drip, 'status', { settings: { timeoutMs: 500 } });
    assert.match(JSON.stringify(answer), /unknown.*did not end within 0.5 s/);
    await gone(await pidIn(join(dir, 'drip')));
  });

  test('one that leaves a program behind is not waited for', async () => {
    const leave = `sleep 300 & echo $! > '${dir}/left'; echo Status: OFF; exit 2`;
    const answer = await answerOf(leave, 'status');
    assert.equal(answer.kind, 'unknown');
    await gone(Number(await readFile(join(dir, 'left'), 'utf8')));
  });

  test('[FEN-10] an "off" of one that says so for anything counts only with its plug in the list', async () => {
    const list = (plugs: string): string =>
      `case $action in status) echo Status: OFF; exit 2;; list) printf '${plugs}'; exit 0;; esac; exit 1`;
    const options = { name: 'fence_apc_snmp' };
    assert.deepEqual(await answerOf(list('1,Outlet 1\\n3,Outlet 3\\n'), 'status', options), {
      kind: 'status',
      power: 'off',
    });
    const other = await answerOf(list('1,Outlet 1\\n33,Outlet 3\\n'), 'status', options);
    assert.match(JSON.stringify(other), /unknown.*no plug 3/);
    const both = await answerOf(list('1,Outlet 1\\n3,Outlet 3\\n'), 'status', { ...options, plain: { plug: '1,2' } });
    assert.match(JSON.stringify(both), /unknown.*no plug 2/);
    const none = `case $action in status) echo Status: OFF; exit 2;; esac; exit 1`;
    assert.equal((await answerOf(none, 'status', options)).kind, 'unknown');
  });

  test('[FEN-10] all that a question takes has one limit', async () => {
    const limits: number[] = [];
    let now = 0;
    const world: DeviceWorld = {
      now: () => 0,
      monotonic: () => now,
      after(ms) {
        // Each of its programs takes 40 s.
        if (ms > 1_000) {
          limits.push(ms);
          now += 40_000;
        }
        return () => {};
      },
    };
    const status = `case $action in status) echo Status: OFF; exit 2;; list) echo 3,Outlet; exit 0;; esac; exit 1`;
    const device = await deviceOf(status, { name: 'fence_apc_snmp', world, settings: { timeoutMs: 60_000 } });
    await device.ask('status', never);
    assert.deepEqual(limits, [60_000, 20_000]);
  });

  test('[FEN-7] one with bad parameters is not run', async () => {
    await rm(join(dir, 'fence_wti.stdin'), { force: true });
    const answer = await answerOf('exit 0', 'off', { plain: { plug: '1\naction=reboot' } });
    assert.equal(answer.kind, 'refused');
    await assert.rejects(readFile(join(dir, 'fence_wti.stdin')));
  });

  test('[FEN-7] one that is not there is a problem, until it is', async () => {
    const catalogue = new AgentCatalogue({ ...defaultAgentSettings, directory: join(dir, 'nowhere') }, realClock);
    const first = await catalogue.driver('fence_ipmilan');
    assert.match(JSON.stringify(first), /problem.*fence_ipmilan cannot be run: .*ENOENT.*installed/);
  });

  test('one that vanishes before it is asked did nothing', async () => {
    const device = await deviceOf('exit 0');
    await rm(join(dir, 'fence_wti'));
    assert.equal((await device.ask('off', never)).kind, 'refused');
  });
});

function pidIn(file: string): Promise<number> {
  return waitFor(`a process in ${file}`, async () => Number(await readFile(file, 'utf8')));
}

async function gone(pid: number): Promise<void> {
  await waitFor(`the end of process ${pid}`, async () => {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone');
    return state === 'gone' || / Z /.test(state);
  });
}

describe('the list of agents', () => {
  test('[FEN-8] only names on it are run', () => {
    assert.equal(whyNotAllowed('fence_ipmilan'), undefined);
    assert.ok(ALLOWED_AGENTS.every((name) => whyNotAllowed(name) === undefined));
    for (const name of [
      '../fence_ipmilan',
      '/usr/sbin/fence_ipmilan',
      'fence_ipmilan;x',
      'fence_',
      'sh',
      'fence_new',
    ]) {
      assert.notEqual(whyNotAllowed(name), undefined, name);
    }
  });

  test('[FEN-8, FEN-9] who has a better way is sent there', () => {
    const hints = { fence_aws: 'driver=aws', fence_gce: 'driver=gce', fence_azure_arm: 'driver=azure' };
    for (const [name, hint] of Object.entries(hints)) assert.ok(whyNotAllowed(name)?.includes(hint), name);
    assert.match(whyNotAllowed('fence_vmware_soap') ?? '', /driver=vsphere/);
    assert.equal(
      whyNotAllowed('fence_impilan'),
      'fence_impilan is not among the fence agents that are run: did you mean fence_ipmilan?',
    );
    assert.equal(whyNotAllowed('fence_zzzzzzzzzzzz'), 'fence_zzzzzzzzzzzz is not among the fence agents that are run');
    assert.match(whyNotAllowed('fence_kdump') ?? '', /kdump in the policy/);
    assert.match(whyNotAllowed('fence_ack_manual') ?? '', /switches nothing off/);
  });

  test('a status that fails proves that nothing was done only where it cannot come later', () => {
    const said = 'ERROR: Failed: Unable to obtain correct plug status or plug is not available';
    assert.ok(provesNothingDone('fence_ipmilan', said));
    assert.ok(!provesNothingDone('fence_apc', said));
    assert.ok(!provesNothingDone('fence_ipmilan', 'ERROR: Connection timed out'));
    assert.ok(!provesNothingDone('fence_virsh', 'Failed: You have to enter existing name/UUID of virtual machine!'));
    assert.ok(provesNothingDone('fence_redfish', '(SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed)'));
  });
});
