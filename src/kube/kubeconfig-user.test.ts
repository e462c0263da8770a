import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { authorization, base64, KubeconfigFiles, problem } from '../../test/support/kubeconfig-files.ts';

const authority = createCertificateAuthority();
const client = authority.issue({ commonName: 'client' });
let files: KubeconfigFiles;
beforeEach(() => {
  files = new KubeconfigFiles();
});
afterEach(() => files.remove());

test('embedded certificates are decoded', async () => {
  const cluster = { 'certificate-authority-data': base64(authority.certPem) };
  const user = { 'client-certificate-data': base64(client.certPem), 'client-key-data': base64(client.keyPem) };
  const { endpoint, credentials } = await files.loadParts({ cluster, user });
  assert.equal(endpoint.ca, authority.certPem);
  assert.deepEqual((await credentials.current()).clientCertificate, { cert: client.certPem, key: client.keyPem });
});

test('a flag for a credential goes before the kubeconfig’s, an exec plugin comes last', async () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'absent', interactiveMode: 'Never' };
  assert.equal(await authorization(await files.loadParts({ user: { token: 'a', exec } })), 'Bearer a');
  assert.equal(
    await authorization(await files.loadParts({ user: { tokenFile: 'absent', exec } }, { token: 'b' })),
    'Bearer b',
  );
  const basic = await files.loadParts({ user: { token: 'a' } }, { username: 'ann', password: 'x' });
  assert.equal(await authorization(basic), `Basic ${base64('ann:x')}`);
  const flags = {
    clientCertificate: files.write('c.pem', client.certPem),
    clientKey: files.write('c.key', client.keyPem),
  };
  const both = await (await files.loadParts({ user: { token: 'a', exec } }, flags)).credentials.current();
  assert.deepEqual(both, {
    authorization: 'Bearer a',
    clientCertificate: { cert: client.certPem, key: client.keyPem },
  });
  assert.match(
    await problem(files.loadParts({}, { clientKey: flags.clientKey })),
    /--client-key needs --client-certificate/,
  );
});

test('a token file goes before a token beside it', async () => {
  files.write('token', 'filed');
  assert.equal(
    await authorization(await files.loadParts({ user: { token: 'inline', tokenFile: 'token' } })),
    'Bearer filed',
  );
});

test('over plain http no credential is sent, and a server without a scheme is plain http', async () => {
  for (const server of ['http://127.0.0.1:8080', '127.0.0.1:8080', 'localhost:8080']) {
    const connection = await files.loadParts({ cluster: { server } });
    assert.equal(connection.endpoint.url.protocol, 'http:');
    assert.equal(connection.endpoint.url.port, '8080');
    assert.deepEqual(await connection.credentials.current(), {});
  }
});

test('an exec plugin beside the kubeconfig is run with the cluster that it asked for', async () => {
  const answer = {
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    status: { token: 'executed' },
  };
  const info = files.path('info');
  files.write(
    'bin/plugin',
    `#!/bin/sh\nprintf '%s' "$KUBERNETES_EXEC_INFO" > '${info}'\necho '${JSON.stringify(answer)}'\n`,
  );
  chmodSync(files.path('bin/plugin'), 0o755);
  const exec = {
    apiVersion: answer.apiVersion,
    command: 'bin/plugin',
    interactiveMode: 'Never',
    provideClusterInfo: true,
  };
  const cluster = {
    server: 'https://api.example.com:6443/',
    'certificate-authority-data': base64(authority.certPem),
    'tls-server-name': 'api',
    'proxy-url': 'socks5://proxy:1080',
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }],
  };
  const connection = await files.loadParts({ cluster, user: { exec: { ...exec, env: null, args: null } } });
  assert.equal(await authorization(connection), 'Bearer executed');
  const { extensions, ...fields } = cluster;
  assert.deepEqual(JSON.parse(readFileSync(info, 'utf8')), {
    kind: 'ExecCredential',
    apiVersion: answer.apiVersion,
    spec: { cluster: { ...fields, config: extensions[0]?.extension }, interactive: false },
  });
});

test('the older exec protocol does without interactiveMode', async () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'no-such-plugin' };
  const { credentials } = await files.loadParts({ user: { exec } });
  await assert.rejects(credentials.current(), /exec plugin no-such-plugin was not found in PATH/);
});

test('impersonation comes from the user entry or from flags, as headers', async () => {
  const user = {
    token: 'x',
    as: 'ann',
    'as-uid': '7',
    'as-groups': ['a', 'b'],
    'as-user-extra': { 'example.com/scope%': ['s'] },
  };
  assert.deepEqual((await files.loadParts({ user })).impersonation, {
    'Impersonate-User': 'ann',
    'Impersonate-Uid': '7',
    'Impersonate-Group': ['a', 'b'],
    'Impersonate-Extra-example.com%2Fscope%25': ['s'],
  });
  const flags = { as: 'bob', asGroup: ['c'], asUserExtra: ['k=1', 'k=2=3'] };
  assert.deepEqual((await files.loadParts({}, flags)).impersonation, {
    'Impersonate-User': 'bob',
    'Impersonate-Group': ['c'],
    'Impersonate-Extra-k': ['1', '2=3'],
  });
});
