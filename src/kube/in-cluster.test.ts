import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { inClusterConnection, inClusterNamespace, inClusterPossible } from './in-cluster.ts';

const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
let directory: string;
let clock: ManualClock;
const write = (name: string, text: string): void => writeFileSync(join(directory, name), text);
beforeEach(() => {
  clock = manualClock();
  directory = mkdtempSync(join(tmpdir(), 'fenceline-in-cluster-'));
  write('token', 'one\n');
  write('ca.crt', '-----BEGIN CERTIFICATE-----');
  write('namespace', 'fenceline-system\n');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('address, authority, token and namespace come from the pod', async () => {
  const { endpoint, credentials, namespace, contextName } = await inClusterConnection({ env, clock, directory });
  assert.equal(endpoint.url.href, 'https://10.96.0.1/');
  assert.equal(endpoint.ca, '-----BEGIN CERTIFICATE-----');
  assert.equal(endpoint.caFile, join(directory, 'ca.crt'));
  assert.equal(endpoint.insecureSkipTlsVerify, false);
  assert.deepEqual(await credentials.current(), { authorization: 'Bearer one' });
  assert.equal(namespace, 'fenceline-system');
  assert.equal(contextName, 'in-cluster');
});

test('an IPv6 service address is put into brackets', async () => {
  const ipv6 = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  assert.equal(
    (await inClusterConnection({ env: ipv6, clock, directory })).endpoint.url.href,
    'https://[fd00::1]:6443/',
  );
});

test('the token is read again every minute, and at once after a 401', async () => {
  const { credentials } = await inClusterConnection({ env, clock, directory });
  write('token', 'two');
  assert.equal((await credentials.current()).authorization, 'Bearer one');
  clock.advance(60_000);
  assert.equal((await credentials.current()).authorization, 'Bearer two');
  write('token', 'three');
  credentials.rejected();
  assert.equal((await credentials.current()).authorization, 'Bearer three');
});

test('without ca.crt the system authorities decide; a ca.crt that cannot be read is an error', async () => {
  unlinkSync(join(directory, 'ca.crt'));
  assert.equal((await inClusterConnection({ env, clock, directory })).endpoint.ca, undefined);
  mkdirSync(join(directory, 'ca.crt'));
  await assert.rejects(
    inClusterConnection({ env, clock, directory }),
    /certificate authority: cannot read .*ca\.crt \(EISDIR\)/,
  );
});

test('a missing token says which file', async () => {
  unlinkSync(join(directory, 'token'));
  await assert.rejects(
    inClusterConnection({ env, clock, directory }),
    /service account: cannot read .*token \(no such file\)/,
  );
  assert.equal(await inClusterPossible({ env, clock, directory }), false);
});

test('outside a cluster the error says what to pass instead', async () => {
  assert.equal(await inClusterPossible({ env: {}, clock, directory }), false);
  await assert.rejects(inClusterConnection({ env: {}, clock, directory }), /not in a cluster.*pass --kubeconfig/);
});

test('a service address that is none is shown as it is', async () => {
  const odd = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: 'tcp://10.96.0.1:443' };
  await assert.rejects(inClusterConnection({ env: odd, clock, directory }), /KUBERNETES_SERVICE_PORT=tcp:\/\/10/);
});

test('POD_NAMESPACE goes before the namespace file, and default stands for both', async () => {
  assert.equal(await inClusterNamespace({ env: { POD_NAMESPACE: 'other' }, clock, directory }), 'other');
  unlinkSync(join(directory, 'namespace'));
  assert.equal(await inClusterNamespace({ env, clock, directory }), 'default');
});

test('the environment may put a proxy in between', async () => {
  const proxied = { ...env, HTTPS_PROXY: 'http://proxy.example.com:3128' };
  assert.equal(
    (await inClusterConnection({ env: proxied, clock, directory })).endpoint.proxyUrl?.host,
    'proxy.example.com:3128',
  );
  const exempt = { ...proxied, NO_PROXY: '10.96.0.0/12' };
  assert.equal((await inClusterConnection({ env: exempt, clock, directory })).endpoint.proxyUrl, undefined);
});

test('an operator in its cluster never loads the YAML parser', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { loadConnection } = await import(${JSON.stringify(new URL('./kubeconfig.ts', import.meta.url).href)});
    const { realClock } = await import(${JSON.stringify(new URL('../clock.ts', import.meta.url).href)});
    const env = ${JSON.stringify(env)};
    const serviceAccountDirectory = ${JSON.stringify(directory)};
    const input = { overrides: {}, env, home: serviceAccountDirectory, clock: realClock, stdinIsTerminal: false };
    const { contextName } = await loadConnection({ ...input, serviceAccountDirectory });
    const third = loaded.filter((url) => url.includes('node_modules'));
    console.log(JSON.stringify({ contextName, third, files: loaded.length > 3 }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  assert.deepEqual(JSON.parse(stdout), { contextName: 'in-cluster', third: [], files: true });
});
