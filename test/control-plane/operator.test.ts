/** The operator as users run it, on the real API server, with its own rights and no others. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { KubeClient } from '../../src/kube/client.ts';
import { leases, nodes } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { installRights, operatorAccount, operatorNamespace } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';

const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** A node that is kept alive by hand: its Lease is renewed as long as the test says so. */
class HandMadeNode {
  readonly name: string;
  readonly #client: KubeClient;
  #beating: NodeJS.Timeout | undefined;

  constructor(client: KubeClient, name: string) {
    this.#client = client;
    this.name = name;
  }

  async register(): Promise<void> {
    await taken(this.#client.create(nodes, { metadata: { name: this.name } }));
    await this.setReady('True');
    await taken(
      this.#client.create(leases, { metadata: { name: this.name, namespace: 'kube-node-lease' }, ...beat() }),
    );
    this.resume();
  }

  resume(): void {
    this.#beating = setInterval(() => void this.#renew(), 1000);
  }

  stop(): void {
    clearInterval(this.#beating);
  }

  async setReady(status: 'True' | 'False' | 'Unknown'): Promise<void> {
    const ref = { resource: nodes, name: this.name };
    const { metadata } = await taken(this.#client.get(ref));
    const condition = { type: 'Ready', status, reason: 'ByHand', lastTransitionTime: '2026-01-01T00:00:00Z' };
    await taken(
      this.#client.patch(
        ref,
        { uid: metadata.uid ?? '' },
        [{ op: 'add', path: '/status/conditions', value: [condition] }],
        {
          subresource: 'status',
        },
      ),
    );
  }

  async #renew(): Promise<void> {
    const ref = { resource: leases, namespace: 'kube-node-lease', name: this.name };
    const read = await this.#client.get(ref);
    if (read.ok) await this.#client.replace(ref, { ...read.value, ...beat() });
  }
}

function beat(): { spec: object } {
  return { spec: { renewTime: new Date().toISOString().replace('Z', '000Z'), leaseDurationSeconds: 8 } };
}

async function taken<T>(
  result: Promise<{ ok: true; value: T } | { ok: false; error: { message: string } }>,
): Promise<T> {
  const settled = await result;
  if (!settled.ok) throw new Error(settled.error.message);
  return settled.value;
}

describe('the operator on the real API server', () => {
  let controlPlane: ControlPlane;
  let client: KubeClient;
  let first: HandMadeNode;
  let second: HandMadeNode;

  before(async () => {
    const users = ['one', 'two'].map((name) => ({ name, token: `token-of-${name}`, groups: ['system:masters'] }));
    controlPlane = await startControlPlane({ name: 'operator', users, audit: true });
    client = clientFor(controlPlane);
    await installCrds(controlPlane);
    await installRights(controlPlane);
    first = new HandMadeNode(client, 'first');
    second = new HandMadeNode(client, 'second');
    await first.register();
    await second.register();
  });
  after(async () => {
    first?.stop();
    second?.stop();
    client?.close();
    await controlPlane?.stop();
  });

  /** Started by hand by one of two administrators, as the documents say: with the rights of the operator's account. */
  async function operator(user: string, ...args: string[]): Promise<OperatorProcess> {
    const kubeconfig = await controlPlane.kubeconfigFor(user);
    return new OperatorProcess([
      `--kubeconfig=${kubeconfig}`,
      '--as',
      operatorAccount,
      `--leader-elect-namespace=${operatorNamespace}`,
      ...args,
    ]);
  }

  async function status(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    // A person looks, who may see where operators lead; the operator itself may not.
    const kubeconfig = await controlPlane.kubeconfigFor('admin');
    return promisify(execFile)('bin/fenceline', ['status', '--kubeconfig', kubeconfig, ...args]).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
  }

  test('[EVD-2] verdicts with their evidence: by log line, by metric, by status; suspect before Kubernetes says a word', async () => {
    await using running = await operator('one', '--no-leader-elect', '--lease-stale-for', '4s', '--log-level', 'debug');
    await running.said('first is healthy', (line) => line['node'] === 'first' && line['verdict'] === 'healthy');
    await waitFor('readyz', async () => (await running.get('/readyz')).status === 200);
    assert.match((await running.get('/metrics')).text, /fenceline_node_verdict\{node="first",verdict="healthy"\} 1/);

    first.stop();
    const suspect = await running.said(
      'first is suspect',
      (line) => line['node'] === 'first' && line['verdict'] === 'suspect',
    );
    assert.equal(suspect['reason'], 'LeaseStale');
    assert.match(JSON.stringify(suspect['evidence']), /Ready is True.*unchanged for 4\.\d s, confirmed by a live read/);
    const metrics = (await running.get('/metrics')).text;
    assert.match(metrics, /fenceline_nodes\{verdict="suspect"\} 1/);
    assert.match(metrics, /fenceline_nodes\{verdict="healthy"\} 1/);

    await first.setReady('Unknown');
    await running.said('first is down', (line) => line['node'] === 'first' && line['reason'] === 'ReadyUnknown');
    const listed = JSON.parse((await status('-o', 'json')).stdout) as { node: string; verdict: string }[];
    assert.deepEqual(
      listed.map(({ node, verdict }) => `${node} ${verdict}`),
      ['first down', 'second healthy'],
    );
    assert.match(
      (await status('first')).stdout,
      // Without an election nobody leads, as far as anybody can see.
      /^NOTHING IS DONE ABOUT ANY NODE: no operator leads[^]*\nNAME +VERDICT +REASON +ZONE +SCHEDULABLE\nfirst +down +ReadyUnknown +<none> +yes\n$/,
    );
    const missing = await status('third');
    assert.deepEqual([missing.code, missing.stderr], [1, 'fenceline: no such node: third; there are: first, second\n']);

    const since = running.lines.length;
    first.resume();
    await first.setReady('True');
    await running.said('first is healthy again', (line) => line['node'] === 'first' && line['verdict'] === 'healthy', {
      since,
    });

    const third = new HandMadeNode(client, 'third');
    await third.register();
    await running.said('third appears', (line) => line['node'] === 'third' && line['verdict'] === 'healthy');
    third.stop();
    await controlPlane.kubectl(['delete', 'node', 'third']);
    await running.said('third is gone', (line) => line['node'] === 'third' && line['reason'] === 'NodeGone');
    assert.doesNotMatch((await running.get('/metrics')).text, /node="third"/);
    assert.equal(await running.stop(), 0);
    assert.equal(running.stderr, '');
  });

  test('while the API server is away every verdict becomes unknown, none down; when it is back, healthy again', async () => {
    await using running = await operator('one', '--no-leader-elect', '--log-level', 'debug');
    await running.said('second is healthy', (line) => line['node'] === 'second' && line['verdict'] === 'healthy');
    const since = running.lines.length;
    controlPlane.pause('kube-apiserver');
    try {
      await running.said('second is unknown', (line) => line['node'] === 'second' && line['verdict'] === 'unknown', {
        timeoutMs: 60_000,
      });
      assert.equal((await running.get('/readyz')).status, 503);
      assert.equal((await running.get('/healthz')).status, 200, 'a restart would not help');
    } finally {
      controlPlane.resume('kube-apiserver');
    }
    await running.said(
      'second is healthy again',
      (line) => line['node'] === 'second' && line['verdict'] === 'healthy',
      { since, timeoutMs: 60_000 },
    );
    const wrong = running.lines.slice(since).filter(({ verdict }) => verdict === 'down' || verdict === 'suspect');
    assert.deepEqual(wrong, []);
  });

  test('two operators: one leads; paused for 30 s it is replaced, and when it wakes it writes nothing', async () => {
    await using one = await operator('one');
    await one.said('leading', ({ msg }) => msg === 'leading');
    await using two = await operator('two');
    await two.said('views are complete', ({ msg }) => msg === 'views are complete');
    assert.match((await one.get('/metrics')).text, /^fenceline_leading 1$/m);
    assert.match((await two.get('/metrics')).text, /^fenceline_leading 0$/m);

    one.signal('SIGSTOP');
    const pausedAt = performance.now();
    await two.said('leading', ({ msg }) => msg === 'leading', { timeoutMs: 40_000 });
    // The pause itself is what is tested: thirty seconds of it.
    await delay(30_000 - (performance.now() - pausedAt));
    const since = one.lines.length;
    const wokenAt = Date.now();
    one.signal('SIGCONT');
    await one.said('no longer leading', ({ msg }) => msg === 'no longer leading', { since });
    const renewals = (): Promise<number> => writesBy('two', wokenAt).then((all) => all.length);
    await waitFor('the new leader to renew five times', async () => (await renewals()) >= 5, { timeoutMs: 40_000 });
    assert.deepEqual(await writesBy('one', wokenAt), []);
    assert.match((await one.get('/metrics')).text, /^fenceline_leading 0$/m);
    assert.match((await two.get('/metrics')).text, /^fenceline_leading 1$/m);

    assert.equal(await two.stop(), 0);
    await one.said('leading again', ({ msg }) => msg === 'leading', { since, timeoutMs: 10_000 });
  });

  async function writesBy(user: string, sinceMs: number): Promise<string[]> {
    const events = await controlPlane.auditEvents();
    return events
      .filter((event) => event.user.username === user && writes.includes(event.verb))
      .filter((event) => Date.parse(event.requestReceivedTimestamp) >= sinceMs)
      .map((event) => `${event.verb} ${event.objectRef?.resource} ${event.requestReceivedTimestamp}`);
  }

  test('the operator writes its own Lease and nothing else, and never asks for a pod', async () => {
    const events = await controlPlane.auditEvents();
    const mine = events.filter(({ user }) => user.username === 'one' || user.username === 'two');
    const written = new Set(
      mine
        .filter(({ verb }) => writes.includes(verb))
        .map(({ objectRef }) => `${objectRef?.resource} ${objectRef?.namespace}/${objectRef?.name}`),
    );
    assert.deepEqual([...written], ['leases fenceline/fenceline']);
    const read = new Set(mine.map(({ objectRef }) => objectRef?.resource ?? ''));
    assert.deepEqual([...read].sort(), [
      'configmaps',
      'csidrivers',
      'drainpolicies',
      'fencedevices',
      'leases',
      'nodefences',
      'nodes',
      'poddisruptionbudgets',
      'remedypolicies',
      'volumeattachments',
    ]);
    assert.deepEqual(
      mine.filter(({ responseStatus }) => responseStatus?.code === 403),
      [],
    );
  });

  test('a bind address that is taken, and a namespace that is not there, are said plainly', async () => {
    await using holder = await operator('one', '--no-leader-elect');
    const port = new URL(await holder.url()).port;
    await using late = await operator('two', '--no-leader-elect', '--bind-address', `127.0.0.1:${port}`);
    await waitFor('the refusal', () => late.stderr !== '');
    assert.match(late.stderr, /^fenceline: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+\n$/);

    await using lost = new OperatorProcess([
      '--kubeconfig',
      controlPlane.kubeconfigPath,
      '--leader-elect-namespace',
      'nowhere',
    ]);
    const problem = await lost.said('the namespace is missing', ({ msg }) => msg === 'leader election problem');
    assert.match(String(problem['problem']), /namespaces "nowhere" not found \(HTTP 404\)/);
  });
});
