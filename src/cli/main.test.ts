import assert from 'node:assert/strict';
import { spawnSync, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { Command } from 'commander';
import { version } from '../version.ts';
import { nodeArgument, nodesArgument } from './node-argument.ts';

function typed(...words: string[]): { code: number | null; said: string } {
  const { status, stderr } = spawnSync(process.execPath, ['src/cli/main.ts', ...words], { encoding: 'utf8' });
  return { code: status, said: stderr };
}

test('[EXP-2] what is typed wrong is no answer: 1 says that something is not as expected, 2 that nothing was run', () => {
  assert.equal(typed('simulate', '--seed', 'abc').code, 2);
  assert.equal(typed('simulate', '--from-cluster', '--how', 'powerof').code, 2);
  assert.equal(typed('simulate', '--help').code, 0);
});

test('[ADM-4] an error of a command names the help of that command', () => {
  const unknown = typed('status', '--nope');
  assert.deepEqual([unknown.code, unknown.said.split('\n')[1]], [2, '(see fenceline status --help)']);
  assert.equal(typed('statsu').code, 2);
});

test('[ADM-4] the flags of kubectl may stand before the command', () => {
  const missing = ['--kubeconfig', '/nonexistent/config'];
  const { code, said } = typed('status', ...missing);
  assert.equal(code, 2, 'nobody could be asked');
  assert.match(said, /^fenceline: .*\/nonexistent\/config/);
  for (const words of [
    missing,
    ['--kubeconfig=/nonexistent/config'],
    ['-n', 'status', '--insecure-skip-tls-verify', ...missing],
  ])
    assert.deepEqual(typed(...words, 'status'), { code, said }, words.join(' '));
  assert.match(typed('--nope', 'status').said, /unknown option '--nope'/);
});

test('[ADM-4] the version, as people ask for it', () => {
  for (const word of ['version', '-v', '-V', '--version']) {
    const { status, stdout } = spawnSync(process.execPath, ['src/cli/main.ts', word], { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [0, `${version}\n`], word);
  }
});

test('[ADM-4] a node may be written as kubectl prints it', () => {
  for (const word of ['node/worker-1', 'nodes/worker-1', 'worker-1']) {
    const command = nodesArgument(nodeArgument(new Command(), '<node>', ''), '[node...]', '').exitOverride();
    command.parse([word, word, 'node-2'], { from: 'user' });
    assert.deepEqual(command.processedArgs, ['worker-1', ['worker-1', 'node-2']]);
  }
});

test('[ADM-4] a cluster that does not answer is no answer', () => {
  const { code, said } = typed('status', '--server', 'http://127.0.0.1:1');
  assert.deepEqual([code, /ECONNREFUSED/.test(said)], [2, true], said);
});

test('[ADM-4] an answer that cannot be written is none, and says so in one line', () => {
  const full = openSync('/dev/full', 'w');
  const stdio: StdioOptions = ['ignore', full, 'pipe'];
  const { status, stderr } = spawnSync(process.execPath, ['src/cli/main.ts', 'crds'], { encoding: 'utf8', stdio });
  closeSync(full);
  assert.equal(status, 2);
  assert.match(stderr, /^fenceline: the answer cannot be written: .*ENOSPC.*\n$/);
});

test('[ADM-4] a reader that has gone does not change what the command has found, and is no error', () => {
  const spec = '{cluster: {nodes: 1}, runFor: 1s, expect: [{at: 1s, node: {name: node-1, ready: false}}]}';
  const input = `{apiVersion: fenceline.dev/v1alpha1, kind: Scenario, metadata: {name: not-so}, spec: ${spec}}`;
  const command = '"$0" src/cli/main.ts simulate - -o json | true; echo "${PIPESTATUS[0]}"';
  const { stdout, stderr } = spawnSync('bash', ['-c', command, process.execPath], { encoding: 'utf8', input });
  assert.deepEqual([stdout, stderr], ['1\n', '']);
});
