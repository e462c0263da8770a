/**
 * [DRN-10] The three plans on the stock control plane: the simulated Longhorn and the fleet are its clients, the operator
 * is a process with the rights that it is deployed with, and the drain is kubectl's own.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { Fleet } from '../../src/world/fleet.ts';
import type { LonghornVolume } from '../../src/world/longhorn/spec.ts';
import { Longhorn } from '../../src/world/longhorn/longhorn.ts';
import { connectionTo } from '../support/client.ts';
import type { ControlPlane, KubectlResult } from '../support/control-plane.ts';
import { install, installCrds } from '../support/install.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { drainRole, grantedBy, operatorAccount, operatorKubeconfig, usedBy } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';

const namespace = 'longhorn-system';
const patient = { timeoutMs: 60_000 };

class Scene implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly longhorn: Longhorn;
  readonly #fleet: Fleet;
  readonly #transport: HttpTransport;
  readonly #stop = new AbortController();
  readonly #states = new Map<string, Set<string>>();
  #running: Promise<void> | undefined;
  #operator: OperatorProcess | undefined;

  constructor(controlPlane: ControlPlane, nodes: readonly string[], volumes: readonly LonghornVolume[]) {
    this.controlPlane = controlPlane;
    this.#transport = new HttpTransport(connectionTo(controlPlane), realClock);
    const shared = { clock: realClock, random: Math.random, transportFor: () => this.#transport };
    this.#fleet = new Fleet({
      ...shared,
      nodes: nodes.map((name) => ({ name })),
      drivers: [],
      kubelet: { leaseRenewMs: 2000, statusEveryMs: 2000 },
    });
    // Slower than kubectl, which tries again after 5 s: whoever lets it go too early is seen.
    const spec = { diskGiB: 100, rebuildMiBps: 70, softAntiAffinity: false, volumes };
    const onChange = (): void => this.#note(volumes.map(({ name }) => name));
    this.longhorn = new Longhorn({ ...shared, machines: this.#fleet.machines, spec, onChange });
  }

  /** What a volume has been since the last time that somebody asked, at whatever moment. */
  statesOf(volume: string): string[] {
    this.#note([volume]);
    const seen = [...(this.#states.get(volume) ?? [])];
    this.#states.delete(volume);
    return seen;
  }

  #note(volumes: readonly string[]): void {
    for (const volume of volumes) {
      const { robustness, dataIntact } = this.longhorn?.report(volume) ?? {};
      const state = `${robustness}, ${dataIntact ? 'intact' : 'damaged'}`;
      if (robustness !== undefined) this.#states.set(volume, (this.#states.get(volume) ?? new Set()).add(state));
    }
  }

  async start(policy: string): Promise<void> {
    const { controlPlane } = this;
    this.#fleet.start();
    const cluster = new FleetCluster(controlPlane, this.#fleet, '');
    await cluster.allReady();
    cluster.close();
    this.#running = this.longhorn.run(this.#stop.signal);
    await installCrds(controlPlane);
    await waitFor('the storage system', async () => (await this.get('replicas.longhorn.io')) !== '', patient);
    const kubeconfig = await operatorKubeconfig(controlPlane);
    await install(controlPlane, 'drain-role.yaml', 'docs/drain.md');
    this.#operator = new OperatorProcess(['--kubeconfig', kubeconfig, '--leader-elect-namespace=fenceline']);
    await waitFor('the policy', async () => (await this.tryPolicy(policy)).code === 0, patient);
    await this.budgets(this.#fleet.machines.map(({ name }) => name));
  }

  get operator(): OperatorProcess {
    assert.ok(this.#operator);
    return this.#operator;
  }

  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.controlPlane.kubectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  async apply(...items: readonly object[]): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, stderr } = await this.controlPlane.kubectl(['apply', '-f', '-'], { input });
    assert.equal(code, 0, stderr);
  }

  tryPolicy(policy: string): Promise<KubectlResult> {
    const object = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'DrainPolicy',
      metadata: { name: 'default' },
      spec: { allNodes: true, policy },
    };
    return this.controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  }

  async get(what: string, ...more: string[]): Promise<string> {
    const { stdout } = await this.controlPlane.kubectl(['get', what, '-n', namespace, '-o', 'name', ...more]);
    return stdout;
  }

  /** Of exactly these nodes there is a budget. */
  async budgets(nodes: readonly string[]): Promise<void> {
    const wanted = nodes.map((node) => `poddisruptionbudget.policy/fenceline-instance-manager-${node}`).sort();
    await waitFor(
      `the budgets of ${nodes.join(', ')}`,
      async () => (await this.get('pdb')).trim().split('\n').sort().join() === wanted.join(),
      patient,
    );
  }

  drain(node: string, timeout: string): Promise<KubectlResult> {
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', `--timeout=${timeout}`];
    return this.controlPlane.kubectl(['drain', node, ...flags]);
  }

  replicasOf(volume: string): string[] {
    return this.longhorn.report(volume)?.healthyOn.toSorted() ?? [];
  }

  intact(...volumes: string[]): void {
    for (const volume of volumes) {
      const report = this.longhorn.report(volume);
      assert.deepEqual([volume, report?.robustness, report?.dataIntact], [volume, 'healthy', true]);
    }
  }

  async autoEvicting(node: string): Promise<boolean> {
    const args = ['get', 'nodes.longhorn.io', node, '-n', namespace, '-o', 'jsonpath={.status.autoEvicting}'];
    return (await this.kubectl(...args)) === 'true';
  }

  /** The nodes on which a replica of this volume is asked to leave. */
  async askedToLeave(volume: string): Promise<string[]> {
    const found = await this.kubectl('get', 'replicas.longhorn.io', '-n', namespace, '-o', 'json');
    type Replica = { spec: { volumeName: string; nodeID: string; evictionRequested?: boolean } };
    const { items } = JSON.parse(found) as { items: Replica[] };
    const asked = items.filter(({ spec }) => spec.volumeName === volume && spec.evictionRequested === true);
    return asked.map(({ spec }) => spec.nodeID);
  }

  /** While it is drained, its replica of this volume is asked to leave, and the node says so. */
  async drainAsking(node: string, volume: string): Promise<KubectlResult> {
    const draining = this.drain(node, '90s');
    await waitFor('the request', async () => (await this.askedToLeave(volume)).includes(node), patient);
    await waitFor('the mark of the node', () => this.autoEvicting(node), patient);
    return draining;
  }

  async eventsOf(reason: string): Promise<number> {
    const found = await this.kubectl('get', 'events.events.k8s.io', '-n', namespace, '-o', 'json');
    const { items } = JSON.parse(found) as { items: { reason: string; series?: { count: number } }[] };
    return items.filter((event) => event.reason === reason).reduce((sum, { series }) => sum + (series?.count ?? 1), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]();
    this.#stop.abort();
    await this.#running;
    await this.#fleet.stop();
    this.#transport.close();
    await this.controlPlane.stop();
  }
}

async function scene(name: string, nodes: number, volumes: readonly LonghornVolume[]): Promise<Scene> {
  const controlPlane = await startControlPlane({ name, controllerManager: true, scheduler: true, audit: true });
  const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`);
  return new Scene(controlPlane, names, volumes);
}

type Answer = Promise<{ code: number; stdout: string }>;

function plan(kubeconfig: string, ...args: string[]): Answer {
  return command('plan-drain', kubeconfig, ...args);
}

function command(name: string, kubeconfig: string, ...args: string[]): Answer {
  return promisify(execFile)('bin/fenceline', [name, '--kubeconfig', kubeconfig, ...args]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );
}

describe('[DRN-10] drains of the stock kubectl', { timeout: 300_000 }, () => {
  test('plans 1 and 2: it waits until the replicas have a new home, and ends well', async () => {
    await using it = await scene('drain-moves', 4, [
      { name: 'one', sizeGiB: 1, replicas: ['node-2'], attachedTo: 'node-3' },
      { name: 'three', sizeGiB: 1, replicas: ['node-1', 'node-2', 'node-3'], attachedTo: 'node-3' },
    ]);
    await it.start('block-for-eviction');
    const planned = await plan(it.controlPlane.kubeconfigPath, 'node-1', '-o', 'json');
    assert.equal(planned.code, 0);
    const [first] = JSON.parse(planned.stdout) as { finishes: string; moves: { volume: string; to: string[] }[] }[];
    assert.deepEqual(
      [first?.finishes, first?.moves.map(({ volume, to }) => [volume, to])],
      ['yes', [['three', ['node-4']]]],
    );

    const whole = ['healthy, intact'];
    assert.deepEqual([it.statesOf('one'), it.statesOf('three')], [whole, whole], 'before');
    const drained = await it.drainAsking('node-1', 'three');
    assert.equal(drained.code, 0, drained.stderr);
    assert.match(drained.stderr, /violate the pod's disruption budget/, 'it had to wait');
    assert.deepEqual([it.statesOf('one'), it.statesOf('three')], [whole, whole], 'never degraded');
    assert.deepEqual(it.replicasOf('three'), ['node-2', 'node-3', 'node-4']);
    await it.budgets(['node-2', 'node-3', 'node-4']);
    await it.kubectl('uncordon', 'node-1');
    await it.budgets(['node-1', 'node-2', 'node-3', 'node-4']);
    assert.equal(await it.eventsOf('EvictionAutomatic'), 1);
    assert.equal(await it.autoEvicting('node-1'), false);
    assert.deepEqual(await it.askedToLeave('three'), []);

    assert.equal((await it.tryPolicy('block-for-eviction-if-contains-last-replica')).code, 0);
    const second = await it.drainAsking('node-2', 'one');
    assert.equal(second.code, 0, second.stderr);
    assert.match(second.stderr, /violate the pod's disruption budget/, 'it had to wait');
    assert.deepEqual(it.statesOf('one'), whole, 'never degraded');
    assert.deepEqual(await it.askedToLeave('three'), [], 'it may stay');
    assert.notDeepEqual(it.replicasOf('one'), ['node-2']);
    assert.equal(it.longhorn.report('three')?.dataIntact, true);
    await waitFor('the degraded volume', () => it.longhorn.report('three')?.robustness === 'degraded', patient);
    await it.kubectl('uncordon', 'node-2');
    await waitFor('the volume to be whole', () => it.longhorn.report('three')?.robustness === 'healthy', patient);
    assert.deepEqual([await it.askedToLeave('one'), await it.autoEvicting('node-2')], [[], false]);
    assert.equal(await it.eventsOf('EvictionAutomatic'), 2);
    assert.equal(await it.eventsOf('EvictionCanceled'), 0);
    await onlyItsRights(it.controlPlane);
  });

  test('[DRN-14] plan 3: nowhere to rebuild, it never ends, and nothing is lost when it is given up', async () => {
    await using it = await scene('drain-stays', 3, [
      { name: 'v', sizeGiB: 1, replicas: ['node-1', 'node-2', 'node-3'], attachedTo: 'node-1' },
    ]);
    await it.start('block-for-eviction');
    const planned = await plan(it.controlPlane.kubeconfigPath, 'node-1');
    assert.equal(planned.code, 1);
    assert.match(planned.stdout, /node-1 +block-for-eviction +no +NowhereToRebuild/);
    const drained = await it.drain('node-1', '12s');
    assert.notEqual(drained.code, 0);
    assert.match(drained.stderr, /disruption budget/);
    assert.equal(await it.autoEvicting('node-1'), true);
    assert.deepEqual(await it.askedToLeave('v'), ['node-1']);
    assert.equal(await it.eventsOf('EvictionAutomatic'), 1);
    const status = await it.kubectl('get', 'drainpolicy', 'default', '-o', 'json');
    const { draining, conditions } = (JSON.parse(status) as { status: DrainStatus }).status;
    assert.deepEqual(
      draining.map(({ node, blocked, reason, autoEvicting }) => [node, blocked, reason, autoEvicting]),
      [['node-1', true, 'NowhereToRebuild', true]],
    );
    assert.deepEqual(
      conditions.map(({ type, status: is, reason }) => [type, is, reason]),
      [
        ['Ready', 'True', 'Guarding'],
        ['Guarding', 'True', 'Guarding'],
      ],
    );
    assert.match((await it.operator.get('/metrics')).text, /fenceline_draining_nodes\{reason="NowhereToRebuild"\} 1/);
    const shown = await command('status', it.controlPlane.kubeconfigPath, 'node-1');
    assert.match(shown.stdout, /node-1 .* no, auto-evicting/);
    assert.match(shown.stdout, /node-1 +NowhereToRebuild +yes +20\S+Z +no other node can take the replica of volume v/);
    await it.kubectl('uncordon', 'node-1');
    await waitFor('the end of it', async () => !(await it.autoEvicting('node-1')), patient);
    await waitFor('the event', async () => (await it.eventsOf('EvictionCanceled')) === 1, patient);
    assert.deepEqual(await it.askedToLeave('v'), []);
    assert.deepEqual(it.replicasOf('v'), ['node-1', 'node-2', 'node-3']);
    it.intact('v');

    await it.kubectl('delete', 'drainpolicy', 'default');
    await waitFor('the budgets to go with the policy', async () => (await it.get('pdb')) === '', patient);
  });
});

interface DrainStatus {
  draining: { node: string; blocked: boolean; reason: string; autoEvicting: boolean }[];
  conditions: { type: string; status: string; reason: string }[];
}

/** What it may do is what it does. */
async function onlyItsRights(controlPlane: ControlPlane): Promise<void> {
  const role = await drainRole();
  const events = (await controlPlane.auditEvents()).filter(({ user }) => user.username === operatorAccount);
  const used = new Set(usedBy(events, role));
  assert.deepEqual(
    grantedBy(role).filter((right) => !used.has(right)),
    [],
  );
  assert.deepEqual(
    events.filter(({ responseStatus }) => responseStatus?.code === 403),
    [],
  );
}
