/**
 * The body of a real node: namespaces for its processes, mounts and network. Its first process does nothing but wait for
 * the end of its input, and with it the kernel ends every process in there and drops every mount. So a node cannot
 * outlive the test that started it, however that ends, and losing power is one kill.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { waitFor } from '../wait.ts';
import { command, environment } from './commands.ts';

/**
 * $1: a directory for what this node logs; $2: one that is laid over the machine's description of itself; $3: what the machine
 * is called. The shell stays: it also buries orphans, as the first process has to.
 */
const firstProcess = `
set -e
hostname "$3"
mount -t tmpfs tmpfs /run
mkdir -p "$1" && mount --bind "$1" /var/log
mount -t overlay overlay -o "lowerdir=$2:/sys/class" /sys/class
echo ready
while read -r line; do :; done
`;

export class Namespaces {
  readonly pid: number;
  readonly #outside: ChildProcess;

  private constructor(outside: ChildProcess, pid: number) {
    this.#outside = outside;
    this.pid = pid;
  }

  static async make(logDir: string, machineDir: string, name: string): Promise<Namespaces> {
    const kinds = ['--pid', '--mount', '--net', '--ipc', '--uts', '--mount-proc', '--fork', '--kill-child'];
    const outside = spawn('unshare', [...kinds, 'bash', '-c', firstProcess, 'bash', logDir, machineDir, name], {
      env: environment(),
      stdio: ['pipe', 'pipe', 'pipe'],
      // A signal to the group of the tests must not end it before they could say what they saw.
      detached: true,
    });
    outside.unref();
    let complaints = '';
    outside.stderr.on('data', (text) => (complaints += String(text)));
    const [line] = (await Promise.race([once(outside.stdout, 'data'), once(outside, 'exit')])) as unknown[];
    if (!String(line).startsWith('ready')) throw new Error(`the namespaces of a node could not be made: ${complaints}`);
    const [pid] = await childrenOf(outside.pid ?? 0);
    if (pid === undefined) throw new Error('the first process of a node ended');
    return new Namespaces(outside, pid);
  }

  /** Of `nsenter`, so that what follows runs in here. */
  get arguments(): string[] {
    return [`--target=${this.pid}`, '--pid', '--mount', '--net', '--ipc', '--uts'];
  }

  run(...args: string[]): Promise<string> {
    return command('nsenter', ...this.arguments, ...args);
  }

  /**
   * All of its processes stand still, go on, or end, but for the first one. What they have told the kernel to send is still sent, as by
   * a machine whose firmware has stopped its processors a moment later.
   */
  async signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): Promise<void> {
    // Those that were started meanwhile by one that was not yet stopped are found by the next look.
    for (let found = 0, before = -1; found !== before;) {
      before = found;
      const pids = await this.#processes();
      found = pids.length;
      for (const pid of pids) if (pid !== this.pid) signalTo(pid, name);
    }
  }

  async #processes(): Promise<number[]> {
    // It may lose its power at this very moment.
    const own = await readlink(`/proc/${this.pid}/ns/pid`).catch(() => undefined);
    if (own === undefined) return [];
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const inside = await Promise.all(pids.map((pid) => isIn(own, pid)));
    return pids.filter((_, index) => inside[index]);
  }

  async end(): Promise<void> {
    if (this.#outside.exitCode !== null || this.#outside.signalCode !== null) return;
    this.#outside.ref();
    const exited = once(this.#outside, 'exit');
    process.kill(this.pid, 'SIGKILL');
    await exited;
  }
}

/** A program of the node, which can be killed and started again as a service is. */
export class Service {
  readonly #name: string;
  readonly #logPath: string;
  #child: ChildProcess | undefined;
  #pid: number | undefined;

  constructor(name: string, logPath: string) {
    this.#name = name;
    this.#logPath = logPath;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async start(namespaces: Namespaces, args: readonly string[]): Promise<void> {
    if (this.running) throw new Error(`${this.#name} is already running`);
    const log = openSync(this.#logPath, 'a');
    const child = spawn('nsenter', [...namespaces.arguments, ...args], {
      env: environment(),
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    child.unref();
    child.once('error', () => {});
    this.#child = child;
    // The child of nsenter is the first process that is really in there.
    this.#pid = await waitFor(`${this.#name} to start`, async () => {
      if (!this.running) throw new Error(await this.#lastWords());
      return (await childrenOf(child.pid ?? 0))[0];
    });
  }

  /** As a crash would end it. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    child.ref();
    const exited = once(child, 'exit');
    if (this.#pid !== undefined) process.kill(this.#pid, 'SIGKILL');
    await exited;
  }

  /**
   * nsenter, which waits outside for its program, stands still when that does, and has to go on by itself: a program that nobody buries
   * keeps the namespace from ending.
   */
  wake(): void {
    this.#child?.kill('SIGCONT');
  }

  /** It is being ended by others. */
  async ended(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    child.ref();
    await once(child, 'exit');
  }

  async #lastWords(): Promise<string> {
    return `${this.#name} ended:\n${(await readFile(this.#logPath, 'utf8')).slice(-4000)}`;
  }

  /** Waits until it answers; tells the end of its log if it ends instead. */
  async untilReady(ready: () => Promise<boolean>): Promise<void> {
    const outcome = await waitFor(
      `${this.#name} to be ready`,
      async () => (this.running ? (await ready()) && 'ready' : 'ended'),
      { timeoutMs: 60_000 },
    );
    if (outcome === 'ended') throw new Error(await this.#lastWords());
  }
}

function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** Containers have namespaces of their own, nested in that of their node: by their parents they are found. */
async function isIn(namespace: string, pid: number): Promise<boolean> {
  for (let at = pid; at > 1;) {
    if ((await readlink(`/proc/${at}/ns/pid`).catch(() => '')) === namespace) return true;
    const status = await readFile(`/proc/${at}/status`, 'utf8').catch(() => '');
    at = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return false;
}

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').flatMap((child) => (child.trim() === '' ? [] : [Number(child)]));
}
