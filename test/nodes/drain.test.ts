/**
 * kubectl drains real nodes under each drain policy. The replicas are the simulated Longhorn's; what serves them are containers of instance
 * managers on stock kubelets, and what a drain takes away is gone when that container is.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { Longhorn } from '../../src/world/longhorn/longhorn.ts';
import { instanceManagerName, longhornNamespace as namespace } from '../../src/world/longhorn/objects.ts';
import { connectionTo } from '../support/client.ts';
import type { KubectlResult } from '../support/control-plane.ts';
import { install, installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { operatorKubeconfig } from '../support/operator-rights.ts';
import { RealCluster } from '../support/real-node/cluster.ts';
import { storageMachines } from '../support/real-node/storage-machines.ts';
import { waitFor } from '../support/wait.ts';

const patient = { timeoutMs: 60_000 };
const names = ['worker-1', 'worker-2', 'worker-3', 'worker-4'];
const onlyExhaustive = { skip: process.env['FENCELINE_EXHAUSTIVE'] !== '1' };
/** All that are used are used from the fourth node, which nobody drains, and on which there is little room. */
const volumes = [
  { name: 'last', sizeGiB: 1, replicas: ['worker-1'], attachedTo: 'worker-4' },
  { name: 'pair', sizeGiB: 1, replicas: ['worker-1', 'worker-2'], attachedTo: 'worker-4' },
  { name: 'rests', sizeGiB: 1, replicas: ['worker-2'] },
  { name: 'large', sizeGiB: 50, replicas: ['worker-4'], attachedTo: 'worker-4' },
];

describe('[DRN-1, DRN-2] drains of real nodes', { timeout: 600_000, ...onlyExhaustive }, () => {
  let cluster: RealCluster;
  let longhorn: Longhorn;
  let failed = true;
  const states = new Map<string, Set<string>>();

  before(async () => {
    cluster = await RealCluster.start({ name: 'real-drains', nodes: names.map((name) => ({ name })), drivers: [] });
    const transport = new HttpTransport(connectionTo(cluster.controlPlane), realClock);
    cluster.onStop(() => transport.close());
    longhorn = new Longhorn({
      clock: realClock,
      random: Math.random,
      transportFor: () => transport,
      machines: storageMachines(cluster),
      // Slower than kubectl, which tries again after 5 s: whoever lets it go too early is seen.
      spec: { diskGiB: 100, rebuildMiBps: 150, softAntiAffinity: false, volumes },
      onChange: note,
    });
    const ended = new AbortController();
    const running = longhorn.run(ended.signal);
    cluster.onStop(() => {
      ended.abort();
      return running;
    });
    await installCrds(cluster.controlPlane);
    await waitFor('the storage system', async () => (await list('replicas.longhorn.io')) !== '', patient);
    const kubeconfig = await operatorKubeconfig(cluster.controlPlane);
    await install(cluster.controlPlane, 'drain-role.yaml', 'docs/drain.md');
    const operator = new OperatorProcess(['--kubeconfig', kubeconfig, '--leader-elect-namespace=fenceline']);
    cluster.onStop(() => operator[Symbol.asyncDispose]());
    for (const name of names) await serves(name);
  });

  after(() => cluster?.stop(failed));

  function note(): void {
    for (const { name } of volumes) {
      const { robustness, dataIntact } = longhorn?.report(name) ?? {};
      if (robustness === undefined) continue;
      states.set(name, (states.get(name) ?? new Set()).add(`${robustness}, ${dataIntact ? 'intact' : 'damaged'}`));
    }
  }

  /** What a volume has been since the last time that somebody asked, at whatever moment. */
  function statesOf(volume: string): string[] {
    note();
    const seen = [...(states.get(volume) ?? [])];
    states.delete(volume);
    return seen;
  }

  async function kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await cluster.controlPlane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  function list(what: string): Promise<string> {
    return cluster.controlPlane.kubectl(['get', what, '-n', namespace, '-o', 'name']).then(({ stdout }) => stdout);
  }

  /** The containers of its instance manager that really run. */
  async function managers(node: string): Promise<string[]> {
    const answer = await cluster.controlPlane.kubectl([
      'get',
      'pod',
      instanceManagerName(node),
      '-n',
      namespace,
      '-o',
      'jsonpath={.metadata.uid}',
    ]);
    return answer.code === 0 ? cluster.node(node).containersOf(answer.stdout) : [];
  }

  function serves(node: string): Promise<unknown> {
    return waitFor(`the instance manager of ${node}`, async () => (await managers(node)).length === 1, patient);
  }

  async function policy(name: string, guarded: readonly string[] = names): Promise<void> {
    const object = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'DrainPolicy',
      metadata: { name: 'default' },
      spec: { allNodes: true, policy: name },
    };
    await waitFor(`policy ${name}`, async () => {
      const input = JSON.stringify(object);
      return (await cluster.controlPlane.kubectl(['apply', '-f', '-'], { input })).code === 0;
    });
    await budgets(guarded);
  }

  /** Of exactly these nodes there is a budget. */
  async function budgets(nodes: readonly string[]): Promise<void> {
    const wanted = nodes.map((node) => `poddisruptionbudget.policy/fenceline-instance-manager-${node}`).sort();
    const read = async (): Promise<string> => (await list('pdb')).trim().split('\n').sort().join();
    await waitFor(`the budgets of ${nodes.join(', ')}`, async () => (await read()) === wanted.join(), patient);
  }

  function drain(node: string, seconds: number): Promise<KubectlResult> {
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', `--timeout=${seconds}s`];
    return cluster.controlPlane.kubectl(['drain', node, ...flags]);
  }

  async function isBlocked(node: string): Promise<void> {
    const before = await managers(node);
    assert.equal(before.length, 1);
    const { code, stderr } = await drain(node, 8);
    assert.notEqual(code, 0);
    assert.match(stderr, /disruption budget/);
    assert.deepEqual(await managers(node), before);
    await kubectl('uncordon', node);
  }

  async function goesThrough(node: string): Promise<string> {
    const { code, stderr } = await drain(node, 90);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await managers(node), []);
    return stderr;
  }

  async function isBack(node: string): Promise<void> {
    await kubectl('uncordon', node);
    await serves(node);
    for (const { name } of volumes) {
      await waitFor(`volume ${name} to be whole`, () => longhorn.report(name)?.robustness !== 'degraded', patient);
      assert.equal(longhorn.report(name)?.dataIntact, true, name);
    }
    for (const { name } of volumes) statesOf(name);
  }

  const whole = ['healthy, intact'];

  test('block-if-contains-last-replica: the container of the last copy runs on, and the drain does not end', async () => {
    await policy('block-if-contains-last-replica');
    for (const { name } of volumes) statesOf(name);
    await isBlocked('worker-1');
    assert.deepEqual([statesOf('last'), statesOf('pair')], [whole, whole]);
  });

  test('allow-if-replica-is-stopped: the last copy of what nobody uses does not hold it up, one in use does', async () => {
    await policy('allow-if-replica-is-stopped');
    await isBlocked('worker-1');
    assert.deepEqual([statesOf('last'), statesOf('pair')], [whole, whole]);
    await goesThrough('worker-2');
    await isBack('worker-2');
  });

  test('always-allow: it goes right through, and the volume waits for its node', async () => {
    await policy('always-allow', []);
    assert.doesNotMatch(await goesThrough('worker-1'), /disruption budget/);
    await waitFor('the volume to be lost', () => longhorn.report('last')?.robustness === 'faulted', patient);
    await isBack('worker-1');
  });

  test('block-for-eviction-if-contains-last-replica: only the last copy moves first', async () => {
    await policy('block-for-eviction-if-contains-last-replica');
    assert.match(await goesThrough('worker-1'), /disruption budget/);
    assert.deepEqual([statesOf('last'), longhorn.report('last')?.healthyOn], [whole, ['worker-3']]);
    await waitFor('the other one to be degraded', () => longhorn.report('pair')?.robustness === 'degraded', patient);
    await isBack('worker-1');
    assert.deepEqual(longhorn.report('pair')?.healthyOn.toSorted(), ['worker-1', 'worker-2']);
  });

  test('block-for-eviction: every copy moves first, and no volume is ever degraded', async () => {
    await policy('block-for-eviction');
    assert.match(await goesThrough('worker-1'), /disruption budget/);
    assert.deepEqual([statesOf('last'), statesOf('pair')], [whole, whole]);
    assert.deepEqual(longhorn.report('pair')?.healthyOn.toSorted(), ['worker-2', 'worker-3']);
    await isBack('worker-1');
    failed = false;
  });
});
