/** Programs of the machine, with what they said when they fail. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';
import { promisify } from 'node:util';
import { searchPath } from '../debian.ts';

const execute = promisify(execFile);

export function environment(): NodeJS.ProcessEnv {
  return { PATH: searchPath().join(delimiter), HOME: '/' };
}

export async function command(file: string, ...args: string[]): Promise<string> {
  try {
    const { stdout } = await execute(file, args, { env: environment(), maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`${[file, ...args].join(' ')}: ${output}`, { cause: error });
  }
}

/** Command lines on this machine that contain a word. */
export async function running(word: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(word));
}
