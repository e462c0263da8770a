/** Every command of the documents, as somebody types it who reads them from top to bottom, on a real cluster. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { commandsOf } from '../support/documents.ts';
import { administratorOf, install, installCrds, type } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { useControlPlane } from '../support/use-control-plane.ts';
import { waitFor } from '../support/wait.ts';

/** Those about fencing, releases and drains are walked from top to bottom by test/release/walk.test.ts. */
const documents = [
  'README.md',
  'docs/production-readiness.md',
  'docs/simulator.md',
  'docs/explain.md',
  'docs/architecture.md',
  'docs/devices.md',
  'docs/choose.md',
];

/** `make run` never ends by itself; test/console runs what it runs. A test inside a test does nothing: a tier runs that. */
const elsewhere = [
  'make run',
  // test/chart/install.test.ts installs; test/chart/image.test.ts has the image.
  ...commandsOf('README.md', 'Install it'),
  // test/release/readme.test.ts does as it says, with machines that have a BMC, and looks at what comes of it.
  ...commandsOf('README.md', 'Switch it on'),
  // test/release/readme.test.ts keeps passes and decides them again.
  ...commandsOf('docs/architecture.md', 'A pass is a value'),
  // test/swarm/swarm.test.ts runs seeds.
  ...commandsOf('docs/simulator.md', 'The swarm'),
  'TWINS_SEED=77 node_modules/.bin/node --test test/control-plane/random-faults.test.ts',
];

/** Of what the documents speak: a node in zone z2 and rack r7, one of which nothing is known, and a database on the first. */
const place = { 'topology.kubernetes.io/zone': 'z2', rack: 'r7' };
const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: '' };
const items = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'longhorn-system' } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-3', labels: place } },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'driver.longhorn.io' },
    spec: { attachRequired: true },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      csi: { driver: 'driver.longhorn.io', volumeHandle: 'data' },
      claimRef: { namespace: 'default', name: 'data' },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { ...claim, volumeName: 'data' },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'db-0', namespace: 'default' },
    spec: {
      nodeName: 'worker-3',
      containers: [{ name: 'main', image: 'example/db:1' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  },
];

/** The checkout, with the policy beside it that somebody who reads the documents has written. */
function workplace(): string {
  const directory = mkdtempSync(join(tmpdir(), 'fenceline-readme-'));
  for (const name of readdirSync('.')) symlinkSync(resolve(name), join(directory, name));
  const policy = {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: { allNodes: true },
  };
  writeFileSync(join(directory, 'new-policy.yaml'), JSON.stringify(policy));
  return directory;
}

/** What a command has to say, where that is more than that it went well. */
const sayings: readonly [RegExp, RegExp][] = [
  [/get (nodefences|fencedevices)/, /No resources found/],
  [/--policy new-policy/, /^NODE +IN FORCE +PROPOSED\n/],
  [
    /--from-cluster/,
    /^NODE +\S.*\nworker-3 [\s\S]*^default\/db-0 +worker-3 [\s\S]*nothing was written to the cluster/m,
  ],
  [/check --workloads/, /default\/db-0/],
  [
    /(?:)/,
    /worker-[13]|serverside-applied|no invariant was broken|annotate|created|patched|^workers +|^apiVersion: v1$/m,
  ],
];

describe('documents', () => {
  const controlPlane = useControlPlane({ name: 'readme' });
  const directory = workplace();
  let env: NodeJS.ProcessEnv;

  after(() => rmSync(directory, { recursive: true }));

  before(async () => {
    env = await administratorOf(controlPlane());
    await installCrds(controlPlane());
    await install(controlPlane(), 'deploy/role.yaml');
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const created = await controlPlane().kubectl(['create', '-f', '-'], { input: list });
    assert.equal(created.code, 0, created.stderr);
  });

  test('have commands', () => {
    for (const file of documents) assert.notEqual(commandsOf(file).length, 0, file);
    assert.ok(commandsOf('README.md').length >= 5);
  });

  const commands = documents.flatMap((file) => commandsOf(file).map((command) => ({ file, command })));
  for (const { file, command } of commands.filter((one) => !elsewhere.includes(one.command))) {
    test(`${file}: ${command.split('\n', 1)[0]}`, async () => {
      const [program, subcommand, ...args] = command.split(' ');
      if (program === 'bin/fenceline' && subcommand === 'run') {
        // The later --bind-address wins: the port of the README may be taken on this machine.
        await using running = new OperatorProcess([...args, '--bind-address', '127.0.0.1:0'], env);
        await waitFor('readyz', async () => (await running.get('/readyz')).status === 200);
        assert.match((await running.get('/metrics')).text, /fenceline_nodes/);
        assert.equal((await running.get('/healthz')).status, 200);
        assert.equal(await running.stop(), 0);
        return;
      }
      const said = await type(command, env, directory);
      const [, expected] = sayings.find(([about]) => about.test(command)) ?? [];
      assert.ok(expected !== undefined);
      assert.match(said, expected);
    });
  }
});
