import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { base64, config, KubeconfigFiles, problem } from '../../test/support/kubeconfig-files.ts';

const authority = createCertificateAuthority();
const client = authority.issue({ commonName: 'client' });
let files: KubeconfigFiles;
beforeEach(() => {
  files = new KubeconfigFiles();
});
afterEach(() => files.remove());

test('a file that --kubeconfig names has to exist', async () => {
  const kubeconfig = files.path('absent');
  assert.equal(await problem(files.load({ kubeconfig })), `kubeconfig ${kubeconfig}: cannot be read (no such file)`);
});

test('an unknown context is answered with those that exist', async () => {
  const kubeconfig = files.write('config', { ...config(), contexts: [{ name: 'b' }, { name: 'a' }] });
  assert.equal(
    await problem(files.load({ kubeconfig })),
    `${kubeconfig}: current-context names "c", which does not exist; there are: a, b`,
  );
  assert.match(await problem(files.load({ kubeconfig, context: 'z' })), /--context names "z", .* there are: a, b$/);
});

test('a context that names a missing cluster or user says so instead of going elsewhere', async () => {
  const where = `context "c" in kubeconfig ${files.path('config')}`;
  const noCluster = await problem(files.loadParts({ context: { cluster: 'x' } }));
  assert.equal(noCluster, `${where} names the cluster "x", which does not exist; there are: k`);
  const noUser = await problem(files.loadParts({ context: { user: 'x' } }));
  assert.equal(noUser, `${where} names the user "x", which does not exist; there are: u`);
  assert.match(await problem(files.loadParts({}, { cluster: 'x' })), /--cluster names the cluster "x"/);
  assert.match(await problem(files.loadParts({}, { user: 'x' })), /--user names the user "x"/);
  assert.match(await problem(files.loadParts({ cluster: { server: '' } })), /cluster "k" in .*: no server; write/);
});

test('every wrong user entry says which file, which entry, and what to write', async () => {
  const where = `user "u" in kubeconfig ${files.path('config')}`;
  const cert = { 'client-certificate-data': base64(client.certPem) };
  const cases: [object, string | RegExp][] = [
    [
      cert,
      `${where}: has a client certificate but no key; add client-key with the key file's path, or client-key-data`,
    ],
    [
      { ...cert, 'client-key': 'absent.key' },
      `${where}: client-key: cannot read ${files.directory}/absent.key (no such file)`,
    ],
    [
      { ...cert, 'client-certificate': 'x' },
      `${where}: has client-certificate and client-certificate-data; remove one of them`,
    ],
    [
      { 'client-certificate-data': 'c2VjcmV0!' },
      /client-certificate-data is not base64 \(characters .*; write the output of/,
    ],
    [{ 'client-certificate-data': client.certPem }, /client-certificate-data is not base64 \(it is PEM as it stands\)/],
    [
      { ...cert, 'client-key-data': base64('secret') },
      `${where}: the client key is not an unencrypted private key in PEM form`,
    ],
    [{ tokenFile: 'absent' }, `${where}: tokenFile: cannot read ${files.directory}/absent (no such file)`],
    [{ token: 12345 }, `${where}: token has to be text; write it in quotes`],
    [{ token: 'a', username: 'b' }, `${where}: has a token and a username; remove one of them`],
    [{ password: 'secret' }, `${where}: has a password but no username`],
    [{ 'auth-provider': { name: 'gcp' } }, /auth-provider gcp no longer exists.*use the provider's exec plugin/],
    [{ 'as-groups': ['a'], token: 'x' }, /needs a user as well; add --as USER/],
    [{ exec: { command: 'x' } }, /exec: has no apiVersion; write client\.authentication\.k8s\.io\/v1 or/],
    [
      { exec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1alpha1' } },
      /v1alpha1, which is not supported/,
    ],
    [
      { exec: { command: 'x', apiVersion: 'client.authentication.k8s.io/v1' } },
      /interactiveMode has to be one of Never,/,
    ],
    [{ exec: { apiVersion: 'client.authentication.k8s.io/v1', interactiveMode: 'Never' } }, /exec: has no command/],
  ];
  for (const [user, expected] of cases) {
    const message = await problem(files.loadParts({ user }));
    if (typeof expected === 'string') assert.equal(message, expected);
    else assert.match(message, expected);
    assert.doesNotMatch(message, /secret|c2Vjcm|12345|BEGIN/);
  }
});

test('every wrong cluster entry says which file, which entry, and what to write', async () => {
  const where = `cluster "k" in kubeconfig ${files.path('config')}`;
  const data = { 'certificate-authority-data': base64(authority.certPem) };
  const cases: [object, string | RegExp][] = [
    [
      { 'certificate-authority': 'ca.pem' },
      `${where}: certificate-authority: cannot read ${files.directory}/ca.pem (no such file)`,
    ],
    [{ ...data, 'certificate-authority': 'x' }, /has certificate-authority and certificate-authority-data; remove one/],
    [{ ...data, 'insecure-skip-tls-verify': true }, /has a certificate authority and insecure-skip-tls-verify; remove/],
    [
      { 'insecure-skip-tls-verify': 'yes' },
      `${where}: insecure-skip-tls-verify has to be true or false, without quotes`,
    ],
    [
      { 'certificate-authority-data': base64('x') },
      `${where}: the certificate authority is not a certificate in PEM form`,
    ],
    [{ server: 'ftp://x' }, /server is not an https:\/\/ URL; write for example/],
    [{ server: 'https://ann:secret@x' }, /server must not hold a login/],
    [
      { 'proxy-url': 'ftp://ann:secret@x' },
      `${where}: proxy-url: unsupported scheme; write http://, https://, socks5:// or socks5h://`,
    ],
    [{ 'proxy-url': 'http://ann:secret@' }, /proxy-url: not a proxy's URL; write for example/],
  ];
  for (const [cluster, expected] of cases) {
    const message = await problem(files.loadParts({ cluster }));
    if (typeof expected === 'string') assert.equal(message, expected);
    else assert.match(message, expected);
    assert.doesNotMatch(message, /secret/);
  }
});

test('a file that is no kubeconfig says where it goes wrong without quoting it (S28)', async () => {
  const cases: [string, RegExp][] = [
    ['users:\n- name: u\n  user: {token: secret', /not valid YAML at line 3, column \d+ \(/],
    ['token: "secret\n', /not valid YAML at line/],
    ['users: *secret', /not valid YAML/],
    ['secret', /has to be a mapping of fields$/],
    ['kind: Secret\ndata: {token: secret}', /not a kubeconfig; it has to say "apiVersion: v1" and "kind: Config"$/],
    ['users: {u: secret}', /users has to be a list$/],
    ['users: [{user: {token: secret}}]', /users\[0\]: has no name$/],
    ['users: [{name: u, user: secret}]', /user "u" in .*: user: has to be a mapping of fields$/],
    ['users: [{name: u}, {name: u}]', /users has two entries named "u"; rename one$/],
    ['', /has no contexts; pass another --kubeconfig/],
  ];
  for (const [content, expected] of cases) {
    const message = await problem(files.load({ kubeconfig: files.write('config', content) }));
    assert.match(message, expected);
    assert.match(message, new RegExp(files.path('config')));
    assert.doesNotMatch(message, /secret/);
  }
});

test('a broken entry for another cluster is in nobody’s way', async () => {
  const whole = config() as { users: object[] };
  const users = [...whole.users, { name: 'broken', user: { 'client-key-data': '!' } }];
  assert.equal((await files.load({ kubeconfig: files.write('config', { ...whole, users }) })).contextName, 'c');
});

test('without anything the error says what to pass', async () => {
  assert.equal(
    await problem(files.load({})),
    `no kubeconfig at ${files.directory}/home/.kube/config and not in a cluster; pass --kubeconfig FILE, set KUBECONFIG, or pass --server URL`,
  );
  const kubeconfig = files.write('config', { ...config(), 'current-context': '' });
  assert.equal(
    await problem(files.load({ kubeconfig })),
    `${kubeconfig}: no current-context; pass --context NAME; there are: c`,
  );
});
