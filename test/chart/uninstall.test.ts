/**
 * What docs/install.md says of uninstalling, on the stock control plane with a storage system whose drains are guarded: its own
 * commands, typed in its order and out of it. Afterwards nothing of ours holds up a drain of any node.
 */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureHelm } from '../../control-plane/build.ts';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import { Fleet } from '../../src/world/fleet.ts';
import { Longhorn } from '../../src/world/longhorn/longhorn.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { commandsOf } from '../support/documents.ts';
import { FleetCluster } from '../support/fleet-cluster.ts';
import { administratorOf, type } from '../support/install.ts';
import { waitFor } from '../support/wait.ts';
import { helmHome } from './helm.ts';
import { accountOf, replicaOf } from './replica.ts';

const storage = 'longhorn-system';
const workers = ['worker-1', 'worker-2'] as const;
const documented = commandsOf('docs/install.md', 'By helm');
/** The garbage collector learns every 30 s which kinds there are. */
const patient = { timeoutMs: 120_000 };

interface Budget {
  metadata: { name: string; uid: string; ownerReferences?: { kind: string; name: string }[] };
}

function command(word: string): string {
  const [found, ...others] = documented.filter((line) => line.includes(word));
  assert.ok(found !== undefined && others.length === 0, `docs/install.md has no one command with ${word}`);
  return found;
}

describe('docs/install.md, uninstalling', { timeout: 600_000 }, () => {
  let controlPlane: ControlPlane;
  let env: NodeJS.ProcessEnv;
  let fleet: Fleet;
  let transport: HttpTransport;
  let running: Promise<void> | undefined;
  const stop = new AbortController();
  const home = helmHome();

  before(async () => {
    controlPlane = await startControlPlane({ name: 'uninstall', controllerManager: true });
    const administrator = await administratorOf(controlPlane);
    env = { ...home, ...administrator, PATH: `${dirname(await ensureHelm())}:${administrator['PATH']}` };
    transport = new HttpTransport(connectionTo(controlPlane), realClock);
    const shared = { clock: realClock, random: Math.random, transportFor: () => transport };
    const kubelet = { leaseRenewMs: 2000, statusEveryMs: 2000 };
    fleet = new Fleet({ ...shared, nodes: workers.map((name) => ({ name })), drivers: [], kubelet });
    fleet.start();
    const cluster = new FleetCluster(controlPlane, fleet, '');
    await cluster.allReady();
    cluster.close();
    const volumes = [{ name: 'v', sizeGiB: 1, replicas: [...workers], attachedTo: 'worker-1' }];
    const spec = { diskGiB: 100, rebuildMiBps: 70, softAntiAffinity: false, volumes };
    running = new Longhorn({ ...shared, machines: fleet.machines, spec, onChange: () => undefined }).run(stop.signal);
    await waitFor('the storage system', async () => (await names('replicas.longhorn.io')).length === 2, patient);
  });
  after(async () => {
    stop.abort();
    await running;
    await fleet?.stop();
    transport?.close();
    await controlPlane?.stop();
  });

  async function kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await controlPlane.kubectl(args);
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  async function names(what: string): Promise<string[]> {
    const { stdout } = await controlPlane.kubectl(['get', what, '-n', storage, '-o', 'name']);
    return stdout.split('\n').filter((line) => line !== '');
  }

  async function budgets(): Promise<Budget[]> {
    return (JSON.parse(await kubectl('get', 'pdb', '-n', storage, '-o', 'json')) as { items: Budget[] }).items;
  }

  async function ownedBy(...policies: string[]): Promise<Budget[]> {
    const owners = ({ metadata }: Budget): string =>
      (metadata.ownerReferences ?? [])
        .map(({ kind, name }) => `${kind}/${name}`)
        .toSorted()
        .join();
    const wanted = policies.map((name) => `DrainPolicy/${name}`).join();
    return waitFor(
      `budgets of ${wanted}`,
      async () => {
        const found = await budgets();
        return found.length === workers.length && found.every((one) => owners(one) === wanted) ? found : undefined;
      },
      patient,
    );
  }

  async function policy(name: string, spec: object): Promise<void> {
    const object = { apiVersion: 'fenceline.dev/v1alpha1', kind: 'DrainPolicy', metadata: { name }, spec };
    const { code, stderr } = await controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
    assert.equal(code, 0, stderr);
  }

  async function drain(node: string, timeout: string): Promise<{ code: number; stderr: string }> {
    const flags = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', `--timeout=${timeout}`];
    return controlPlane.kubectl(['drain', node, ...flags]);
  }

  async function installed(): Promise<void> {
    await type(`${command('helm install')} --set drains.enabled=true`, env);
    await type('kubectl wait --for=condition=Established --timeout=60s crd --all', env);
  }

  const noBudget = (): Promise<unknown> =>
    waitFor('every budget to be gone', async () => (await budgets()).length === 0, patient);

  test('[USE-1, DRN-2] without an operator budgets stand while a policy wants them, and go with the last one', async () => {
    await installed();
    await policy('default', { allNodes: true, policy: 'block-for-eviction' });
    await using operator = await replicaOf(controlPlane);
    await ownedBy('default');
    // As those of an operator of before, that gave them no owners.
    const none = '[{"op":"remove","path":"/metadata/ownerReferences"}]';
    for (const { metadata } of await budgets()) {
      await kubectl('patch', 'pdb', metadata.name, '-n', storage, '--type=json', '-p', none);
    }
    await ownedBy('default');
    await policy('second', { selector: { matchLabels: { pool: 'none' } }, policy: 'always-allow' });
    const before = await ownedBy('default', 'second');
    assert.equal(await operator.stop(), 0);

    await kubectl('delete', 'drainpolicy', 'default');
    const kept = await ownedBy('second');
    assert.deepEqual(
      kept.map(({ metadata }) => metadata.uid),
      before.map(({ metadata }) => metadata.uid),
      'they were there all the time',
    );
    await type(command('helm uninstall'), env);
    const held = await drain('worker-2', '8s');
    assert.match(held.stderr, /disruption budget/);
    await kubectl('uncordon', 'worker-2');

    await type(command('kubectl delete drainpolicies'), env);
    await noBudget();
  });

  test('[USE-1] in the wrong order too, in the end nothing holds up a drain, and what is left is what is said', async () => {
    await installed();
    await policy('default', { allNodes: true, policy: 'block-for-eviction' });
    {
      await using operator = await replicaOf(controlPlane);
      await ownedBy('default');
      assert.equal(await operator.stop(), 0);
    }
    // A fence that was under way when it ended, on record as the operator would have it.
    const kubeconfig = await accountOf(controlPlane);
    await kubectl('taint', 'node', 'worker-1', 'fenceline.dev/quarantine:NoSchedule');
    const record = {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: 'node-fence-worker-1' },
      spec: { node: 'worker-1' },
    };
    const made = await controlPlane.kubectl(['create', '-o', 'json', '-f', '-'], { input: JSON.stringify(record) });
    assert.equal(made.code, 0, made.stderr);
    const incident = { id: 'worker-1-1', startedAt: '2026-01-01T00:00:00Z', trouble: 'Ready=Unknown', nodeUid: 'u' };
    const open = { ...(JSON.parse(made.stdout) as object), status: { epoch: 1, incident } };
    const path = '/apis/fenceline.dev/v1alpha1/nodefences/node-fence-worker-1/status';
    const written = await controlPlane.kubectl(['replace', '--raw', path, '-f', '-'], {
      kubeconfig,
      input: JSON.stringify(open),
    });
    assert.equal(written.code, 0, written.stderr);

    await type(command('helm uninstall'), env);
    await type(command('kubectl delete crd'), env);
    await noBudget();
    assert.match(await type(command('kubectl get poddisruptionbudgets'), env), /No resources found/);
    for (const node of workers) {
      const drained = await drain(node, '60s');
      assert.equal(drained.code, 0, drained.stderr);
    }
    const left = await kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].spec.taints[*].key}');
    assert.match(left, /fenceline\.dev\/quarantine/);
    await type(command('kubectl taint'), env);
    await type(command('kubectl uncordon'), env);
    const after = await kubectl('get', 'node', 'worker-1', '-o', 'jsonpath={.spec}');
    assert.doesNotMatch(after, /fenceline|unschedulable/);
  });
});
