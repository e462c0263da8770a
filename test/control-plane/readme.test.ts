/** Every command of the documents, as somebody types it who reads them from top to bottom, on a real cluster. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { commandsOf } from '../support/documents.ts';
import { administratorOf, installCrds, type } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { useControlPlane } from '../support/use-control-plane.ts';
import { waitFor } from '../support/wait.ts';

const documents = [
  'README.md',
  'docs/recovery.md',
  'docs/production-readiness.md',
  'docs/simulator.md',
  'docs/fencing.md',
  'docs/explain.md',
  'docs/drain.md',
  'docs/architecture.md',
];

/** `make run` never ends by itself; test/console runs what it runs. A test inside a test does nothing: a tier runs that. */
const elsewhere = [
  'make run',
  // test/release/readme.test.ts does as it says, with machines that have a BMC, and looks at what comes of it.
  ...commandsOf('README.md', 'Switch it on'),
  // These need an operator and a node in trouble: commands.test.ts and src/cli have them.
  'bin/fenceline drill worker-1 -n fenceline',
  'bin/fenceline approve worker-1',
  // test/release/readme.test.ts keeps passes and decides them again.
  ...commandsOf('docs/architecture.md', 'A pass is a value'),
  // drain.test.ts has it, with replicated storage.
  'bin/fenceline plan-drain node-1 node-2',
  // test/swarm/swarm.test.ts runs seeds.
  ...commandsOf('docs/simulator.md', 'The swarm'),
  'TWINS_SEED=77 node_modules/.bin/node --test test/control-plane/random-faults.test.ts',
];

describe('documents', () => {
  const controlPlane = useControlPlane({ name: 'readme' });
  let env: NodeJS.ProcessEnv;

  before(async () => {
    env = await administratorOf(controlPlane());
    await installCrds(controlPlane());
    const driver = { metadata: { name: 'driver.longhorn.io' }, spec: { attachRequired: true } };
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'longhorn-system' } },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } },
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-3' } },
      { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', ...driver },
    ];
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
      const said = await type(command, env);
      const expected =
        /worker-[13]|serverside-applied|no invariant was broken|annotate|created|patched|^workers +|^apiVersion: v1$/m;
      assert.match(said, /get (events|nodefences)$|get events/.test(command) ? /No resources found/ : expected);
    });
  }
});
