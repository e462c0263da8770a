/** Types, lint and format: what `make check` runs. */
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

for (const script of ['types', 'lint', 'format']) {
  test(`npm run check:${script}`, async () => {
    try {
      await promisify(execFile)('npm', ['run', '--silent', `check:${script}`], { maxBuffer: 1 << 26 });
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${stdout}${stderr}`, { cause: error });
    }
  });
}
