import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { CredentialError } from './credentials.ts';
import { type ExecConfig, execCredential, type ExecHost } from './exec-credential.ts';

const v1 = 'client.authentication.k8s.io/v1';
let directory: string;
let clock: ManualClock;
let stderr: PassThrough;
let host: ExecHost;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fenceline-exec-'));
  clock = manualClock();
  stderr = new PassThrough();
  host = { clock, env: { PATH: process.env['PATH'] }, stdinIsTerminal: false, stderr };
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A real program; each run leaves a line in `runs`. */
function plugin(script: string, changes: Partial<ExecConfig> = {}): ExecConfig {
  const command = join(directory, 'plugin');
  writeFileSync(command, `#!/bin/sh\necho run >> '${directory}/runs'\n${script}\n`);
  chmodSync(command, 0o755);
  return { apiVersion: v1, command, args: [], env: {}, interactiveMode: 'Never', where: 'user "u"', ...changes };
}

function prints(status: object, changes: Partial<ExecConfig> = {}): ExecConfig {
  const document = { apiVersion: changes.apiVersion ?? v1, kind: 'ExecCredential', status };
  writeFileSync(join(directory, 'answer'), JSON.stringify(document));
  return plugin(`cat '${directory}/answer'`, changes);
}

function runs(): number {
  return existsSync(join(directory, 'runs')) ? readFileSync(join(directory, 'runs'), 'utf8').split('\n').length - 1 : 0;
}

async function problem(config: ExecConfig): Promise<string> {
  const error: unknown = await execCredential(config, host)
    .current()
    .catch((reason: unknown) => reason);
  assert.ok(error instanceof CredentialError, 'a CredentialError');
  return error.message;
}

const inSeconds = (seconds: number): string => new Date(clock.now() + seconds * 1000).toISOString();

test('a token without an end is asked for once', async () => {
  const source = execCredential(prints({ token: 'abc' }), host);
  assert.deepEqual(await source.current(), { authorization: 'Bearer abc' });
  clock.advance(1e12);
  await source.current();
  assert.equal(runs(), 1);
});

test('both versions of the protocol are spoken', async () => {
  const source = execCredential(prints({ token: 'abc' }, { apiVersion: 'client.authentication.k8s.io/v1beta1' }), host);
  assert.deepEqual(await source.current(), { authorization: 'Bearer abc' });
});

test('a token is renewed a minute before its end', async () => {
  const source = execCredential(prints({ token: 'one', expirationTimestamp: inSeconds(3600) }), host);
  const given = await source.current();
  prints({ token: 'two', expirationTimestamp: inSeconds(7200) });
  clock.advance(3_539_000);
  assert.equal(await source.current(), given);
  clock.advance(1_000);
  assert.equal((await source.current()).authorization, 'Bearer two');
  assert.equal(runs(), 2);
});

test('a short-lived token is still used for nine tenths of its life', async () => {
  const source = execCredential(prints({ token: 'one', expirationTimestamp: inSeconds(30) }), host);
  await source.current();
  clock.advance(26_000);
  await source.current();
  assert.equal(runs(), 1);
  clock.advance(1_000);
  await source.current();
  assert.equal(runs(), 2);
});

test('a renewal that fails ahead of time leaves the token in use until its end, then counts', async () => {
  const source = execCredential(prints({ token: 'one', expirationTimestamp: inSeconds(3600) }), host);
  const given = await source.current();
  plugin('exit 1');
  clock.advance(3_550_000);
  assert.equal(await source.current(), given);
  assert.equal(await source.current(), given);
  assert.equal(runs(), 2);
  clock.advance(50_000);
  await assert.rejects(source.current(), CredentialError);
});

test('after a 401 the plugin runs again, and a late 401 for the old token does not run it once more', async () => {
  const source = execCredential(prints({ token: 'one' }), host);
  const old = await source.current();
  prints({ token: 'two' });
  source.rejected(old);
  assert.equal((await source.current()).authorization, 'Bearer two');
  source.rejected(old);
  await source.current();
  assert.equal(runs(), 2);
});

test('callers that wait together share one run', async () => {
  const source = execCredential(prints({ token: 'abc' }), host);
  await Promise.all([source.current(), source.current(), source.current()]);
  assert.equal(runs(), 1);
});

test('a failed run is not remembered: the next caller tries again', async () => {
  const source = execCredential(plugin('exit 3'), host);
  await assert.rejects(source.current(), /failed with exit code 3/);
  prints({ token: 'abc' });
  assert.deepEqual(await source.current(), { authorization: 'Bearer abc' });
});

test('a client certificate comes with its key, and has to be a pair', async () => {
  const authority = createCertificateAuthority();
  const { certPem, keyPem } = authority.issue({ commonName: 'u' });
  const source = execCredential(prints({ clientCertificateData: certPem, clientKeyData: keyPem }), host);
  assert.deepEqual(await source.current(), { clientCertificate: { cert: certPem, key: keyPem } });
  assert.match(
    await problem(prints({ clientCertificateData: certPem })),
    /only one of clientCertificateData and clientKeyData/,
  );
  const other = authority.issue({ commonName: 'other' });
  const mixed = prints({ clientCertificateData: certPem, clientKeyData: other.keyPem });
  assert.match(await problem(mixed), /does not belong/);
});

test('arguments, environment and the cluster reach the plugin', async () => {
  const cluster = { server: 'https://api.example.com', config: { audience: 'x' } };
  const script = `printf '%s|%s|%s|%s' "$1" "$2" "$GIVEN" "$INHERITED" > '${directory}/seen'
    printf '%s' "$KUBERNETES_EXEC_INFO" > '${directory}/info'; cat '${directory}/answer'`;
  prints({ token: 'abc' });
  const config = plugin(script, { args: ['get', 'a token'], env: { GIVEN: 'by entry' }, cluster });
  await execCredential(config, { ...host, env: { ...host.env, INHERITED: 'by us', GIVEN: 'by us' } }).current();
  assert.equal(readFileSync(join(directory, 'seen'), 'utf8'), 'get|a token|by entry|by us');
  const info = { kind: 'ExecCredential', apiVersion: v1, spec: { cluster, interactive: false } };
  assert.equal(readFileSync(join(directory, 'info'), 'utf8'), JSON.stringify(info));
});

test('standard input is closed to a plugin that may not ask', async () => {
  const script = `if read line; then echo open; else echo closed; fi > '${directory}/seen'; cat '${directory}/answer'`;
  prints({ token: 'abc' });
  await execCredential(plugin(script), { ...host, stdinIsTerminal: true }).current();
  assert.equal(readFileSync(join(directory, 'seen'), 'utf8'), 'closed\n');
});

test('whether the plugin may ask follows interactiveMode and the terminal', async () => {
  const script = `printf '%s' "$KUBERNETES_EXEC_INFO" > '${directory}/info'; cat '${directory}/answer'`;
  const interactive = async (
    interactiveMode: ExecConfig['interactiveMode'],
    stdinIsTerminal: boolean,
  ): Promise<unknown> => {
    prints({ token: 'abc' });
    await execCredential(plugin(script, { interactiveMode }), { ...host, stdinIsTerminal }).current();
    const info = JSON.parse(readFileSync(join(directory, 'info'), 'utf8')) as { spec: { interactive: unknown } };
    return info.spec.interactive;
  };
  assert.equal(await interactive('Never', true), false);
  assert.equal(await interactive('IfAvailable', true), true);
  assert.equal(await interactive('IfAvailable', false), false);
  assert.equal(await interactive('Always', true), true);
  await assert.rejects(interactive('Always', false), /interactiveMode Always, but standard input is not a terminal/);
});

test('what the plugin says on stderr reaches the user', async () => {
  prints({ token: 'abc' });
  const said = once(stderr, 'data');
  await execCredential(plugin(`echo 'open https://login.example.com' >&2; cat '${directory}/answer'`), host).current();
  assert.equal(String(await said), 'open https://login.example.com\n');
});

test('a bare name is looked up in our PATH', async () => {
  const config = { ...prints({ token: 'abc' }), command: 'plugin' };
  const env = { PATH: [join(directory, 'absent'), directory, process.env['PATH']].join(delimiter) };
  assert.deepEqual(await execCredential(config, { ...host, env }).current(), { authorization: 'Bearer abc' });
});

test('a missing plugin is an error with the install hint, whose control characters do nothing', async () => {
  const config = plugin('', { command: 'no-such-plugin', installHint: 'brew install it\n\u001b[31mnow' });
  assert.equal(
    await problem(config),
    'user "u": exec plugin no-such-plugin was not found in PATH\n\nbrew install it\nU+001b[31mnow',
  );
});

test('a plugin without the right to be executed is told apart from a missing one', async () => {
  const config = plugin('');
  chmodSync(config.command, 0o644);
  assert.match(await problem(config), /plugin may not be executed$/);
});

test('no error shows what the plugin printed (S28)', async () => {
  const secret = 'topsecret';
  const status = { token: secret };
  const whole = { apiVersion: v1, kind: 'ExecCredential', status };
  const printing = (document: unknown): ExecConfig => {
    writeFileSync(join(directory, 'answer'), typeof document === 'string' ? document : JSON.stringify(document));
    return plugin(`cat '${directory}/answer'`, { args: [secret], env: { TOKEN: secret } });
  };
  const cases: [unknown, RegExp][] = [
    [`{"token": "${secret}"`, /is not JSON$/],
    [secret, /other than an ExecCredential$/],
    [{ ...whole, kind: secret }, /other than an ExecCredential$/],
    [{ ...whole, apiVersion: secret }, /configured for .*\/v1, but printed another one$/],
    [{ ...whole, apiVersion: `${v1}beta1` }, /configured for .*\/v1, but printed .*\/v1beta1$/],
    [{ ...whole, status: secret }, /printed no status$/],
    [{ ...whole, status: { other: secret } }, /neither a token nor a certificate$/],
    [{ ...whole, status: { token: [secret] } }, /status.token is not a string$/],
    [{ ...whole, status: { token: `${secret} ${secret}` } }, /has blanks or line breaks inside/],
    [{ ...whole, status: { ...status, expirationTimestamp: secret } }, /expirationTimestamp is not a time/],
  ];
  for (const [document, expected] of cases) {
    const message = await problem(printing(document));
    assert.match(message, expected);
    assert.doesNotMatch(message, /topsecret/);
  }
  const failing = await problem(plugin(`echo ${secret}; exit 7`, { args: [secret] }));
  assert.match(failing, /plugin failed with exit code 7$/);
});

test('an answer in YAML is taken, as other clients take it', async () => {
  const yaml = `apiVersion: ${v1}\nkind: ExecCredential\nstatus:\n  token: abc\n  expirationTimestamp: 2030-01-01T00:00:00Z\n`;
  writeFileSync(join(directory, 'answer'), yaml);
  assert.deepEqual(await execCredential(plugin(`cat '${directory}/answer'`), host).current(), {
    authorization: 'Bearer abc',
  });
});

test('a plugin that prints without end is stopped', async () => {
  const ended = once(stderr, 'unpipe');
  assert.match(await problem(plugin('exec yes topsecret')), /printed more than 1 MiB$/);
  await ended;
});

/** Hangs without a child of its own, so that its end is seen at once. */
const hang = (before: string): string =>
  `${before}\nmkfifo "$0.fifo"; exec 3<>"$0.fifo"; echo ready >&2; read line <&3; echo '{}'`;

test('a plugin that hangs is stopped after a minute', async () => {
  const ended = once(stderr, 'unpipe');
  const waiting = problem(plugin(hang('')));
  await once(stderr, 'data');
  clock.advance(60_000);
  assert.match(await waiting, /did not finish within 60 s$/);
  await ended;
});

test('a plugin that does not end when asked is killed', async () => {
  const ended = once(stderr, 'unpipe');
  const waiting = problem(plugin(hang(`trap '' TERM`)));
  await once(stderr, 'data');
  clock.advance(60_000);
  await waiting;
  clock.advance(2_000);
  await ended;
});

test('where a person may have to log in, the plugin gets ten minutes', async () => {
  host.stdinIsTerminal = true;
  const waiting = problem(plugin(hang('')));
  let over = false;
  void waiting.then(() => (over = true));
  await once(stderr, 'data');
  clock.advance(599_999);
  await setImmediate();
  assert.equal(over, false);
  clock.advance(1);
  assert.match(await waiting, /did not finish within 600 s$/);
});
