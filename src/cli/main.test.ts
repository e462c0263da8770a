import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

function typed(...words: string[]): { code: number | null; said: string } {
  const { status, stderr } = spawnSync(process.execPath, ['src/cli/main.ts', ...words], { encoding: 'utf8' });
  return { code: status, said: stderr };
}

test('[EXP-2] what is typed wrong is no answer: 1 says that something is not as expected, 2 that nothing was run', () => {
  assert.equal(typed('simulate', '--seed', 'abc').code, 2);
  assert.equal(typed('simulate', '--from-cluster', '--how', 'powerof').code, 2);
  assert.equal(typed('simulate', '--help').code, 0);
});

test('[ADM-4] an error of a command names the help of that command, and a flag before it where it belongs', () => {
  const unknown = typed('status', '--nope');
  assert.deepEqual([unknown.code, unknown.said.split('\n')[1]], [1, '(see fenceline status --help)']);
  assert.deepEqual(typed('--context', 'prod', 'status'), {
    code: 1,
    said: 'fenceline: write --context after the command: fenceline status --context …\n',
  });
});
