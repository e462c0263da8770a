/** Starts the process in which the console has something rehearsed: this same program, with limits, and without an environment. */
import { spawn } from 'node:child_process';
import type { RehearsalProcess } from '../console/rehearsals.ts';

/** An hour of 1,000 nodes and 30,000 pods, of which 90 nodes are simulated, takes 440 MiB with the program and all. */
export const rehearsalMiB = 512;

/** Objects are made and forgotten by the million; the room for the young ones comes on top. */
const flags = [
  `--max-old-space-size=${rehearsalMiB}`,
  '--max-semi-space-size=16',
  '--disable-warning=ExperimentalWarning',
];

export function startRehearsal(): RehearsalProcess {
  const [, program = ''] = process.argv;
  const child = spawn(process.execPath, [...flags, program, 'simulate', '--for-console'], {
    // What is in ours, a token or the address of a proxy, is no business of what reads a text of somebody.
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  const { stdin, stdout, stderr } = child;
  return { stdin, stdout, stderr, kill: () => void child.kill('SIGKILL'), ended };
}
