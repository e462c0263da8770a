/** promtool, from Debian's package of Prometheus, which is not installed for it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { unpackedProgram } from '../support/debian.ts';

export function ensurePromtool(): Promise<string> {
  return unpackedProgram('prometheus', 'promtool');
}

/** What it refuses is an answer. */
export async function promtool(args: readonly string[], input = ''): Promise<{ code: number; said: string }> {
  const running = promisify(execFile)(await ensurePromtool(), args);
  running.child.stdin?.end(input);
  return running.then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, said: stdout + stderr }),
  );
}
