import assert from 'node:assert/strict';
import { delimiter, relative } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { authorization, base64, config, KubeconfigFiles, problem } from '../../test/support/kubeconfig-files.ts';
import type { ConnectionInput } from './kubeconfig.ts';

const authority = createCertificateAuthority();
const client = authority.issue({ commonName: 'client' });
let files: KubeconfigFiles;
beforeEach(() => {
  files = new KubeconfigFiles();
});
afterEach(() => files.remove());

test('~/.kube/config is the default, as YAML', async () => {
  files.write(
    'home/.kube/config',
    `
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: east
  cluster: {server: "https://east.example.com:6443/prefix/?x=1#y"}
users:
- name: admin
  user: {token: abc}
contexts:
- name: prod
  context: {cluster: east, user: admin, namespace: payments}
preferences: {}
`,
  );
  const connection = await files.load({});
  assert.equal(connection.endpoint.url.href, 'https://east.example.com:6443/prefix/');
  assert.equal(connection.contextName, 'prod');
  assert.equal(connection.namespace, 'payments');
  assert.deepEqual(connection.impersonation, {});
  assert.equal(await authorization(connection), 'Bearer abc');
});

test('$KUBECONFIG goes before the home files.directory, and --kubeconfig before both', async () => {
  files.write('home/.kube/config', config({ suffix: '-home' }));
  const env = { KUBECONFIG: files.write('env', config({ suffix: '-env' })) };
  assert.equal((await files.load({}, { env })).contextName, 'c-env');
  const kubeconfig = files.write('flag', config({ suffix: '-flag' }));
  assert.equal((await files.load({ kubeconfig }, { env })).contextName, 'c-flag');
});

test('several files are merged, an entry is the first one’s as a whole, and missing files are skipped', async () => {
  const user = { username: 'ann', password: 'x' };
  const one = files.write('one', {
    ...config({ cluster: { 'tls-server-name': 'one' } }),
    users: [],
    'current-context': '',
  });
  const two = files.write(
    'two',
    config({ cluster: { server: 'https://two.example.com', 'proxy-url': 'http://p:1' }, user }),
  );
  const three = files.write('three', config({ suffix: '3' }));
  const env = { KUBECONFIG: [files.path('absent'), '', one, two, three, one].join(delimiter) };
  const connection = await files.load({}, { env });
  assert.equal(connection.contextName, 'c', 'of the first file that names one');
  assert.equal(connection.endpoint.url.hostname, 'api.example.com');
  assert.equal(connection.endpoint.tlsServerName, 'one');
  assert.equal(connection.endpoint.proxyUrl, undefined, 'fields of two files do not mix');
  assert.equal(await authorization(connection), `Basic ${base64('ann:x')}`);
  assert.equal((await files.load({ context: 'c3' }, { env })).endpoint.url.hostname, 'api3.example.com');
});

test('--cluster, --user and --namespace replace what the context names', async () => {
  const kubeconfig = files.write('config', {
    ...config({ context: { namespace: 'a' } }),
    clusters: [{ name: 'k' }, { name: 'k2', cluster: { server: 'https://two.example.com' } }],
    users: [{ name: 'u' }, { name: 'u2', user: { token: 'two' } }],
  });
  const connection = await files.load({ kubeconfig, cluster: 'k2', user: 'u2', namespace: 'b' });
  assert.equal(connection.endpoint.url.hostname, 'two.example.com');
  assert.equal(await authorization(connection), 'Bearer two');
  assert.equal(connection.namespace, 'b');
});

test('--server replaces the address and the name that went with it', async () => {
  const parts = { cluster: { 'tls-server-name': 'old' } };
  const { endpoint } = await files.loadParts(parts, { server: 'https://other.example.com' });
  assert.equal(endpoint.url.hostname, 'other.example.com');
  assert.equal(endpoint.tlsServerName, undefined);
  assert.equal((await files.loadParts(parts, { tlsServerName: 'new' })).endpoint.tlsServerName, 'new');
});

test('--server and --token do without any kubeconfig', async () => {
  const connection = await files.load({ server: 'https://other.example.com', token: 'abc' });
  assert.equal(connection.endpoint.url.hostname, 'other.example.com');
  assert.equal(await authorization(connection), 'Bearer abc');
  assert.equal(connection.namespace, 'default');
});

test('relative paths start at the file that names them', async () => {
  files.write('pki/ca.pem', authority.certPem);
  files.write('pki/client.pem', client.certPem);
  files.write('pki/client.key', client.keyPem);
  const parts = {
    cluster: { 'certificate-authority': '../pki/ca.pem' },
    user: { 'client-certificate': '../pki/client.pem', 'client-key': '../pki/client.key' },
  };
  const kubeconfig = relative(process.cwd(), files.write('sub/config', config(parts)));
  const { endpoint, credentials } = await files.load({ kubeconfig });
  assert.equal(endpoint.ca, authority.certPem);
  assert.equal(endpoint.caFile, files.path('pki/ca.pem'));
  const { clientCertificate } = await credentials.current();
  assert.deepEqual(clientCertificate, { cert: client.certPem, key: client.keyPem });
});

test('a flag about trust replaces all that the kubeconfig says of it', async () => {
  const cluster = { 'certificate-authority-data': base64(authority.certPem) };
  const insecure = (await files.loadParts({ cluster }, { insecureSkipTlsVerify: true })).endpoint;
  assert.deepEqual([insecure.insecureSkipTlsVerify, insecure.ca], [true, undefined]);
  const certificateAuthority = files.write('other.pem', createCertificateAuthority('other').certPem);
  const other = (await files.loadParts({ cluster }, { certificateAuthority })).endpoint;
  assert.deepEqual([other.insecureSkipTlsVerify, other.caFile], [false, certificateAuthority]);
  assert.notEqual(other.ca, authority.certPem);
});

test('proxy-url goes before the environment’s proxy', async () => {
  const env = { HTTPS_PROXY: 'http://env:1' };
  const kubeconfig = files.write('config', config({ cluster: { 'proxy-url': 'http://entry:2' } }));
  assert.equal((await files.load({ kubeconfig }, { env })).endpoint.proxyUrl?.host, 'entry:2');
  assert.equal(
    (await files.load({ kubeconfig: files.write('plain', config()) }, { env })).endpoint.proxyUrl?.host,
    'env:1',
  );
});

test('--request-timeout is seconds or a duration, and zero is none', async () => {
  const timeout = async (requestTimeout: string): Promise<unknown> =>
    (await files.loadParts({}, { requestTimeout })).requestTimeoutMs;
  assert.equal(await timeout('30'), 30_000);
  assert.equal(await timeout('1m30s'), 90_000);
  assert.equal(await timeout('1.5h'), 5_400_000);
  assert.equal(await timeout('250ms'), 250);
  assert.equal(await timeout('0'), undefined);
  for (const wrong of ['-5s', 'soon', '5 s', '1d'])
    assert.match(await problem(files.loadParts({}, { requestTimeout: wrong })), /write a number/);
});

function serviceAccount(): Partial<ConnectionInput> {
  files.write('sa/token', 'pod-token');
  files.write('sa/namespace', 'pod-namespace');
  files.write('sa/ca.crt', authority.certPem);
  const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
  return { env, serviceAccountDirectory: files.path('sa') };
}

test('without a kubeconfig a pod uses its service account, and flags still count', async () => {
  const pod = serviceAccount();
  const connection = await files.load({}, pod);
  assert.equal(connection.contextName, 'in-cluster');
  assert.equal(connection.namespace, 'pod-namespace');
  assert.equal(connection.endpoint.ca, authority.certPem);
  assert.equal(await authorization(connection), 'Bearer pod-token');
  const flags = { token: 'x', namespace: 'n', as: 'ann', insecureSkipTlsVerify: true, requestTimeout: '5' };
  const changed = await files.load(flags, pod);
  assert.equal(await authorization(changed), 'Bearer x');
  assert.deepEqual(changed.impersonation, { 'Impersonate-User': 'ann' });
  const { insecureSkipTlsVerify, ca } = changed.endpoint;
  assert.deepEqual([changed.namespace, insecureSkipTlsVerify, ca], ['n', true, undefined]);
  assert.equal(changed.requestTimeoutMs, 5000);
});

test('a service account’s token never goes to a --server of somebody else', async () => {
  const connection = await files.load({ server: 'https://other.example.com' }, serviceAccount());
  assert.deepEqual(await connection.credentials.current(), {});
});

test('in a pod, a kubeconfig goes first, and lends from the pod only the namespace it does not name', async () => {
  const pod = serviceAccount();
  const connection = await files.load({ kubeconfig: files.write('config', config()) }, pod);
  assert.equal(connection.endpoint.url.hostname, 'api.example.com');
  assert.equal(connection.namespace, 'pod-namespace');
  const named = files.write('named', config({ context: { namespace: 'default' } }));
  assert.equal((await files.load({ kubeconfig: named }, pod)).namespace, 'default');
});

test('a kubeconfig that was asked for never gives way to the service account', async () => {
  assert.match(
    await problem(files.load({ kubeconfig: files.write('config', '') }, serviceAccount())),
    /has no contexts/,
  );
});
