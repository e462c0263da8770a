/** Every command of the README, as a newcomer types it, on a real cluster. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { ensureControlPlane } from '../../control-plane/build.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { useControlPlane } from '../support/use-control-plane.ts';
import { waitFor } from '../support/wait.ts';

const commands = [...readFileSync('README.md', 'utf8').matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = '']) => block.split('\n'))
  .filter((line) => line !== '');

/** `make run` never ends by itself; test/console runs what it runs. */
const elsewhere = ['make run'];

describe('README', () => {
  const controlPlane = useControlPlane({ name: 'readme' });
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const { kubectl } = await ensureControlPlane();
    const KUBECONFIG = controlPlane().kubeconfigPath;
    env = { ...process.env, KUBECONFIG, PATH: `${dirname(kubectl)}:${process.env['PATH']}` };
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } };
    const created = await controlPlane().kubectl(['create', '-f', '-'], { input: JSON.stringify(node) });
    assert.equal(created.code, 0, created.stderr);
  });

  test('has commands', () => assert.ok(commands.length >= 5));

  for (const command of commands.filter((line) => !elsewhere.includes(line))) {
    test(command, async () => {
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
      const { stdout } = await promisify(execFile)('bash', ['-c', `set -o pipefail; ${command}`], { env });
      assert.match(stdout, /worker-1|serverside-applied|no invariant was broken/);
    });
  }
});
