/** The commands that administrators use around fencing, as they type them, on the real API server. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Condition } from '../../src/api/common.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import { configMaps, nodeFences, nodes, remedyPolicies, secrets } from '../../src/kube/resources.ts';
import type { StoredFence } from '../../src/cli/node-fence.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { anIncident } from '../support/release-case.ts';
import { waitFor } from '../support/wait.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const configuration = 'test/support/remedy-configuration.yaml';
const fenceRef = { resource: nodeFences, name: 'node-fence-worker-1' };

describe('commands around fencing', () => {
  let controlPlane: ControlPlane;
  let client: KubeClient;

  before(async () => {
    const users = [{ name: 'jane', token: 'token-of-jane', groups: ['system:masters'] }];
    controlPlane = await startControlPlane({ name: 'commands', users });
    client = clientFor(controlPlane);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fencing' } };
    await installCrds(controlPlane);
    const applied = await controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(namespace) });
    assert.equal(applied.code, 0, applied.stderr);
    for (const name of ['worker-1', 'worker-2'])
      await create(nodes, { metadata: { name, labels: { type: 'compute' } } });
  });
  after(async () => {
    client?.close();
    await controlPlane?.stop();
  });

  async function create(...[resource, object]: Parameters<KubeClient['create']>): Promise<void> {
    const made = await client.create(resource, object);
    assert.ok(made.ok, JSON.stringify(made));
  }

  async function fenceline(...args: string[]): Promise<Ended> {
    const KUBECONFIG = await controlPlane.kubeconfigFor('jane');
    return promisify(execFile)('bin/fenceline', args, { env: { ...process.env, KUBECONFIG } }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Ended) => error,
    );
  }

  async function fence(): Promise<StoredFence> {
    const read = await client.get<StoredFence>(fenceRef);
    assert.ok(read.ok, JSON.stringify(read));
    return read.value;
  }

  test('[REM-7] the converted document of the proposal is accepted by the API server', async () => {
    for (const format of ['yaml', 'json']) {
      const { code, stdout, stderr } = await fenceline('convert', configuration, '-o', format);
      assert.equal(code, 0, stderr);
      const args = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
      const applied = await controlPlane.kubectl(args, { input: stdout });
      assert.match(
        `${applied.stdout}${applied.stderr}`,
        /^remedypolicy.fenceline.dev\/compute created \(server dry run\)$/m,
      );
    }
    const wrong = await fenceline('convert', 'README.md');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^fenceline: README.md:\d+: /);
  });

  test('[REM-7] what is made of other health checks, their templates and older policies is accepted too', async () => {
    const folder = 'test/support/convert';
    const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && !name.endsWith('.out.yaml'));
    assert.ok(files.length > 5);
    for (const file of files) {
      const { code, stdout, stderr } = await fenceline('convert', `${folder}/${file}`, '-n', 'default');
      assert.equal(code, 0, stderr);
      const args = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
      const applied = await controlPlane.kubectl(args, { input: stdout });
      assert.equal(applied.code, 0, `${file}: ${applied.stderr}`);
      const created = applied.stdout.split('\n').filter((line) => line.endsWith(' created (server dry run)'));
      assert.equal(created.length, stdout.split('\n').filter((line) => line.startsWith('kind: ')).length, file);
    }
  });

  test('[FEN-13] stop and resume, with a record made where there is none', async () => {
    const dry = await fenceline('stop', 'worker-1', '--dry-run', '-o', 'json');
    assert.equal((JSON.parse(dry.stdout) as StoredFence).spec.stop, true);
    assert.equal((await client.get(fenceRef)).ok, false);
    const stopped = await fenceline('stop', 'worker-1');
    assert.deepEqual([stopped.code, stopped.stdout], [0, 'nodefence.fenceline.dev/node-fence-worker-1 stopped\n']);
    assert.equal((await fence()).spec.stop, true);
    assert.match((await fenceline('resume', 'worker-1', '-o', 'yaml')).stdout, /^ {2}stop: false$/m);
    assert.equal((await fence()).spec.stop, false);
    const missing = await fenceline('stop', 'worker-7');
    assert.deepEqual([missing.code, missing.stderr], [1, 'fenceline: no such node: worker-7\n']);
  });

  test('[ADM-8] an approval carries the name that the API server knows the user by', async () => {
    const none = await fenceline('approve', 'worker-1');
    assert.deepEqual([none.code, none.stderr], [1, 'fenceline: worker-1 has no incident to approve\n']);
    const status = { epoch: 1, incident: anIncident() };
    const patched = await client.patch(
      fenceRef,
      { uid: (await fence()).metadata.uid ?? '' },
      [{ op: 'add', path: '/status', value: status }],
      { subresource: 'status' },
    );
    assert.ok(patched.ok, JSON.stringify(patched));
    const refused = await fenceline('approve', 'worker-1');
    assert.match(refused.stderr, /^fenceline: .*no policy/, 'nobody waits for it');
    const asks = { metadata: { name: 'asks' }, spec: { allNodes: true, mode: 'Approve' } } as KubeObject;
    await create(remedyPolicies, asks);
    assert.match((await fenceline('approve', 'worker-1', '--dry-run')).stdout, /approved: .* \(dry run\)$/m);
    assert.equal((await fence()).status?.approval, undefined);
    const approved = await fenceline('approve', 'worker-1', '--incident', anIncident().id);
    assert.equal(approved.code, 0, approved.stderr);
    const { approval } = (await fence()).status ?? {};
    assert.deepEqual([approval?.by, approval?.incident], ['jane', anIncident().id]);
    assert.ok(Math.abs(Date.parse(approval?.at ?? '') - Date.now()) < 60_000);
    await controlPlane.kubectl(['delete', 'remedypolicy', 'asks']);
  });

  test('[EXP-3, FEN-7, REM-8] check, and what the operator writes into the status of a policy', async () => {
    const nothing = await fenceline('check', '-n', 'fencing');
    assert.match(nothing.stdout, /^No node has a fence configuration/);
    assert.equal(nothing.code, 1, 'nothing was looked at');
    const spec = {
      selector: { matchLabels: { type: 'compute' } },
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      storm: { maxUnresponsive: '100%' },
      // Nobody renews the Leases of these nodes.
      mode: 'DryRun',
    };
    await create(remedyPolicies, { metadata: { name: 'workers' }, spec } as KubeObject);
    const template = { 'template.properties': 'agent=fence_redfish\nip=127.0.0.1\nipport=1\nsecret=bmc' };
    const config = {
      'config.properties': 'selector=type=compute\npower_management=bmc-off bmc-on',
      'fence-method-bmc-off': 'template=fence-method-template-bmc\naction=off',
      'fence-method-bmc-on': 'template=fence-method-template-bmc\naction=on',
    };
    const map = (name: string, data: object): KubeObject =>
      ({ metadata: { name, namespace: 'fencing' }, data }) as KubeObject;
    await create(configMaps, map('fence-method-template-bmc', template));
    await create(configMaps, map('fence-config-compute', config));
    const checked = await fenceline('check', '-n', 'fencing');
    assert.equal(checked.code, 1);
    const secretMissing =
      'ConfigMap fence-method-template-bmc, template.properties: secret: there is no Secret bmc in namespace fencing: create it';
    assert.match(
      checked.stdout,
      new RegExp(`^worker-1 +workers +no +<none> +ConfigurationInvalid +${secretMissing}`, 'm'),
    );
    // A name that is mistyped, and one of a namespace where nothing is written.
    const mistyped = await fenceline('check', '-n', 'fencin');
    assert.deepEqual([mistyped.code, mistyped.stdout], [1, '']);
    assert.equal(
      mistyped.stderr,
      'fenceline: there is no namespace fencin: of fence configurations there is one in fencing: write -n fencing\n',
    );
    const other = await fenceline('check', '-n', 'default');
    assert.equal(other.code, 1);
    assert.match(
      other.stderr,
      /^fenceline: in namespace default no fence configuration is written; .*write -n fencing$/m,
    );
    const [first] = JSON.parse(
      (await fenceline('check', 'worker-2', '-n', 'fencing', '-o', 'json')).stdout,
    ) as object[];
    assert.deepEqual(
      { ...first, message: '' },
      {
        node: 'worker-2',
        policy: 'workers',
        configuration: 'fence-method-template-bmc',
        fenceable: false,
        answers: [],
        reason: 'ConfigurationInvalid',
        message: '',
        problems: [`${secretMissing}, or correct the name`],
      },
    );

    // Nobody answers there, or the agents are not installed on this machine.
    const silent = '(DeviceSilent|DeviceRefused|NoDevice)';
    const condition = async (type: string, expected: RegExp, name = 'workers'): Promise<void> => {
      await waitFor(`${type} to be ${expected}`, async () => {
        const read = await client.get<KubeObject & { status?: { nodes?: number; conditions?: Condition[] } }>({
          resource: remedyPolicies,
          name,
        });
        const found = read.ok ? read.value.status?.conditions?.find((one) => one.type === type) : undefined;
        assert.match(found === undefined ? 'nothing' : `${found.status} ${found.reason}: ${found.message}`, expected);
        return true;
      });
    };
    const args = [
      `--kubeconfig=${controlPlane.kubeconfigPath}`,
      '--no-leader-elect',
      '--leader-elect-namespace=fencing',
    ];
    await using running = new OperatorProcess(args);
    await condition('Valid', /^False FenceConfigInvalid: .*fence-method-template-bmc, .*there is no Secret bmc/);
    await condition('Risky', /^True NoStormLimit: storm.maxUnresponsive 100%/);
    await condition('Fenceable', /^False NotFenceable: 2 of 2 .*worker-1: ConfigurationInvalid/);
    await create(secrets, { metadata: { name: 'bmc', namespace: 'fencing' } });
    await create(configMaps, map('fence-method-template-other', {}));
    await condition('Valid', /^True Accepted: in force for 2 nodes/);
    await condition('Fenceable', new RegExp(`^False NotFenceable: 2 of 2 .*worker-2: ${silent}: bmc-off`));
    const metrics = (await running.get('/metrics')).text;
    assert.match(metrics, new RegExp(`^fenceline_unfenceable_nodes\\{reason="${silent}"\\} 2$`, 'm'));
    assert.match(metrics, new RegExp(`^fenceline_node_unfenceable\\{node="worker-1",reason="${silent}"\\} 1$`, 'm'));
    await create(remedyPolicies, { metadata: { name: 'others' }, spec } as KubeObject);
    await condition('Valid', /^False Conflict: workers selects worker-1, worker-2 just as specifically/, 'others');
    assert.equal(await running.stop(), 0);
  });
});
