/**
 * The processes of one control plane. They must never outlive the test that started them, however it ends, so a small
 * shell beside them holds the read end of a pipe: when the test process is gone, killed or crashed, the pipe closes and
 * the shell kills what is still in its list and removes the data.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';

// Every line replaces the list, so that a pid that was reaped, and may by now be somebody else, is never killed.
const WATCHDOG_SCRIPT = `
trap "" HUP INT TERM
while read -r line; do pids=$line; done
[ -n "$pids" ] && kill -KILL $pids
[ -n "$1" ] && for attempt in 1 2 3 4 5; do rm -rf -- "$1" && break; sleep 0.2; done
`;

export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #pids = new Set<number>();

  constructor(removeAtTheEnd = '') {
    // Detached, in a process group of its own: a signal to that of the tests must not end the watchdog first.
    this.#shell = spawn('sh', ['-c', WATCHDOG_SCRIPT, 'sh', removeAtTheEnd], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.unref();
    // The write side has no reader left once the shell is gone; that is not a reason to fail a test.
    this.#shell.stdin?.on('error', () => {});
  }

  add(pid: number): void {
    this.#pids.add(pid);
    this.#tell();
  }

  drop(pid: number): void {
    this.#pids.delete(pid);
    this.#tell();
  }

  async close(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    this.#shell.ref();
    const exited = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await exited;
  }

  #tell(): void {
    this.#shell.stdin?.write(`${[...this.#pids].join(' ')}\n`);
  }
}

let shared: Watchdog | undefined;

/** It ends with this process, however that ends. */
export function endWithUs(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  const watchdog = (shared ??= new Watchdog());
  watchdog.add(pid);
  child.once('exit', () => watchdog.drop(pid));
}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly logPath: string;
}

/** One component: a command that can be started again after it was killed. Its output is appended to its log. */
export class ManagedProcess {
  readonly name: string;
  readonly command: Command;
  readonly #watchdog: Watchdog;
  #child: ChildProcess | undefined;

  constructor(name: string, command: Command, watchdog: Watchdog) {
    this.name = name;
    this.command = command;
    this.#watchdog = watchdog;
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  get running(): boolean {
    return this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    if (this.running) throw new Error(`${this.name} is already running`);
    const { file, args, logPath } = this.command;
    const log = openSync(logPath, 'a');
    const child = spawn(file, args, { stdio: ['ignore', log, log], env: { PATH: process.env['PATH'], HOME: '/' } });
    closeSync(log);
    child.unref();
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) {
      this.#watchdog.add(pid);
      child.once('exit', () => this.#watchdog.drop(pid));
    }
    // Without a listener a missing binary would crash the test process; `running` and the log tell of it instead.
    child.once('error', () => {});
  }

  /** Why it does not run, with the end of its log. */
  async failure(): Promise<Error> {
    const ending = this.#child?.signalCode ?? this.#child?.exitCode ?? 'it could not be started';
    return new Error(`${this.name} ended (${ending}):\n${await tail(this.command.logPath)}`);
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.running) throw new Error(`${this.name} is not running`);
    this.#child?.kill(signal);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    child.ref();
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

async function tail(path: string, bytes = 4_000): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return '(no log)';
  await using log = file;
  const { size } = await log.stat();
  const { buffer, bytesRead } = await log.read(Buffer.alloc(bytes), 0, bytes, Math.max(0, size - bytes));
  return buffer.toString('utf8', 0, bytesRead);
}

/**
 * A port that nobody listens on. Taken below the range from which systems pick the ports of outgoing connections, so
 * that nothing occupies it while a component that must come back on it is down; and above 10080, which `fetch` and browsers
 * never connect to, whoever listens there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_100 + Math.floor(Math.random() * 21_900);
    const server = createServer();
    const bound = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!bound) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
