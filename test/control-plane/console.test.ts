/** The console on the real API server: everybody sees and does what their own rights allow, and the console has none. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ConsoleStream } from '../support/console-stream.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { writeKubeconfig } from '../support/control-plane/files.ts';
import { installCrds } from '../support/install.ts';
import { waitFor } from '../support/wait.ts';

const people = 'people';
const page = { 'x-fenceline-console': '1' };

describe('the console on the real API server', { timeout: 180_000 }, () => {
  let controlPlane: ControlPlane;
  let console: ChildProcess;
  let url: URL;

  async function kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await controlPlane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  /** With the rights that the chart has for it, and no others. */
  async function startConsole(): Promise<void> {
    await kubectl('create', 'serviceaccount', 'console', '-n', people);
    await kubectl('create', 'clusterrole', 'console', '--verb=create', '--resource=tokenreviews.authentication.k8s.io');
    await kubectl(
      'create',
      'clusterrolebinding',
      'console',
      '--clusterrole=console',
      `--serviceaccount=${people}:console`,
    );
    const path = join(controlPlane.dir, 'console.kubeconfig');
    const user = { token: await tokenOf('console') };
    await writeKubeconfig({ path, url: controlPlane.url, caPem: controlPlane.caCert, user });
    const flags = ['console', '--sign-in', '--bind-address=127.0.0.1:0', `--kubeconfig=${path}`];
    console = spawn('bin/fenceline', flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    console.stdout?.on('data', (chunk) => {
      output += String(chunk);
    });
    const [, address = ''] = await waitFor('the address', () => /console (http:\S+)/.exec(output));
    url = new URL(address);
  }

  const tokenOf = (account: string): Promise<string> => kubectl('create', 'token', account, '-n', people);

  async function act(verb: string, node: string, token?: string, body = {}): Promise<[number, string]> {
    const headers = { ...page, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const answer = await fetch(new URL(`acts/${verb}/${node}`, url), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return [answer.status, (await answer.text()).trim()];
  }

  const look = (token: string): Promise<ConsoleStream> =>
    ConsoleStream.open(url, 'node/worker-1', { authorization: `Bearer ${token}` });

  before(async () => {
    controlPlane = await startControlPlane({ name: 'console', audit: true });
    await installCrds(controlPlane);
    await kubectl('create', 'namespace', people);
    for (const account of ['viewer', 'responder', 'stranger'])
      await kubectl('create', 'serviceaccount', account, '-n', people);
    const read = ['--verb=get,list,watch', '--resource=nodes,pods,namespaces,leases.coordination.k8s.io'];
    const own =
      '--resource=nodefences.fenceline.dev,remedypolicies.fenceline.dev,drainpolicies.fenceline.dev,fencedevices.fenceline.dev';
    await kubectl('create', 'clusterrole', 'viewer', ...read, own);
    await kubectl('create', 'clusterrole', 'responder', '--verb=create,patch', '--resource=nodefences.fenceline.dev');
    for (const account of ['viewer', 'responder']) {
      await kubectl(
        'create',
        'clusterrolebinding',
        `see-${account}`,
        '--clusterrole=viewer',
        `--serviceaccount=${people}:${account}`,
      );
    }
    await kubectl(
      'create',
      'clusterrolebinding',
      'act',
      '--clusterrole=responder',
      `--serviceaccount=${people}:responder`,
    );
    await controlPlane.kubectl(['create', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } }),
    });
    await startConsole();
  });
  after(async () => {
    console?.kill('SIGINT');
    if (console?.exitCode === null) await once(console, 'exit');
    await controlPlane?.stop();
  });

  test('[SEC-5] without a token nothing is shown and nothing is done', async () => {
    using nobody = await ConsoleStream.open(url);
    assert.equal(nobody.status, 401);
    assert.deepEqual(await act('stop', 'worker-1'), [401, 'sign in with a bearer token of this cluster']);
    assert.equal((await act('stop', 'worker-1', 'made-up'))[0], 401);
  });

  test('[SEC-5] who may read nothing is told so, and sees nothing', async () => {
    using stranger = await look(await tokenOf('stranger'));
    await waitFor('what may not be read', () =>
      stranger.head?.warnings.some((text) => text.includes('nodes cannot be read')),
    );
    assert.deepEqual([stranger.nodes, stranger.head?.can], [[], []]);
    assert.equal(stranger.head?.user, `system:serviceaccount:${people}:stranger`);
  });

  test('[SEC-5] who may look sees the nodes, is offered nothing to do, and is refused by the API server if it is asked for all the same', async () => {
    const token = await tokenOf('viewer');
    using viewer = await look(token);
    const node = await waitFor('the node', () => viewer.node('worker-1'));
    assert.equal(node.verdict, 'unknown', 'no kubelet has ever reported');
    assert.match(viewer.page?.explanation.summary ?? '', /^worker-1 is unknown/);
    assert.deepEqual(viewer.head?.can, []);
    assert.match(viewer.head?.needs[0]?.message ?? '', /no operator was ever seen here/);
    const [status, text] = await act('stop', 'worker-1', token);
    assert.equal(status, 409);
    assert.match(text, /cannot create resource "nodefences"/);
  });

  test('[SEC-5, FEN-13] who may act does it in their own name; what cannot be taken back wants the name of the node', async () => {
    const token = await tokenOf('responder');
    using responder = await look(token);
    await waitFor('what may be done', () => responder.head?.can.length === 3);
    assert.deepEqual(responder.head?.can, ['stop', 'resume', 'fence'], 'an approval needs another right');
    assert.deepEqual(await act('fence', 'worker-1', token, { typed: 'worker-2' }), [
      409,
      'type the name of the node first; nothing was done',
    ]);
    assert.deepEqual(await act('stop', 'worker-1', token), [200, 'stopped']);
    await waitFor('the stop on the page', () => responder.head?.needs.some(({ reason }) => reason === 'Stopped'));
    assert.equal(await kubectl('get', 'nodefence', 'node-fence-worker-1', '-o', 'jsonpath={.spec.stop}'), 'true');
    assert.match((await act('fence', 'worker-1', token, { typed: 'worker-1' }))[1], /no policy selects worker-1/);
    const events = await controlPlane.auditEvents();
    const writes = events.filter(
      ({ verb, objectRef }) => objectRef?.resource === 'nodefences' && ['create', 'patch'].includes(verb),
    );
    assert.deepEqual([...new Set(writes.map(({ user }) => user.username))].toSorted(), [
      `system:serviceaccount:${people}:responder`,
      `system:serviceaccount:${people}:viewer`,
    ]);
    const own = events.filter(({ user }) => user.username === `system:serviceaccount:${people}:console`);
    assert.deepEqual(
      [...new Set(own.map(({ objectRef }) => objectRef?.resource))],
      ['tokenreviews'],
      'it has read nothing itself',
    );
  });
});
