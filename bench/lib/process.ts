/** Processes under measurement, seen from outside through /proc: what they say of themselves is not asked. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** Of every process on Linux, whatever the kernel's own rate. */
const ticksPerSecond = 100;

export interface Memory {
  rssMb: number;
  /** Without what is mapped from files, such as the program itself. */
  anonymousMb: number;
  peakMb: number;
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (field: string): number => {
    const kib = status.match(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'))?.[1];
    if (kib === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
    return Number(kib) / 1024;
  };
  return { rssMb: megabytes('VmRSS'), anonymousMb: megabytes('RssAnon'), peakMb: megabytes('VmHWM') };
}

/** User and system time of all its threads, and if wanted of the children that it has seen the end of. */
export function cpuSecondsOf(pid: number, { withChildren = false } = {}): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold anything; state is the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, withChildren ? 15 : 13).map(Number);
  return ticks.reduce((sum, one) => sum + one, 0) / ticksPerSecond;
}

export interface Command {
  file: string;
  args: string[];
  env?: Readonly<Record<string, string>>;
}

/** A child whose lines can be waited for, and which never outlives its `dispose`. */
export class Child implements AsyncDisposable {
  readonly startedAt = performance.now();
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #waiting = new Set<(line: string) => void>();
  /** The last lines, for the error message. */
  readonly #tail: string[] = [];
  readonly #closed: Promise<unknown>;

  constructor(name: string, command: Command) {
    this.#name = name;
    this.#child = spawn(command.file, command.args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...command.env },
    });
    this.#closed = once(this.#child, 'close');
    this.#closed.catch(() => {});
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => this.#take(line));
    }
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined || this.ended) throw this.#failure('is not running');
    return pid;
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  /** The last line that it said. */
  get latest(): string {
    return this.#tail.at(-1) ?? '';
  }

  /** The first line, from now on, of which `pick` makes something. */
  async line<T>(what: string, pick: (line: string) => T | undefined, timeoutMs: number): Promise<T> {
    const found = Promise.withResolvers<T>();
    const take = (line: string): void => {
      const picked = pick(line);
      if (picked !== undefined) found.resolve(picked);
    };
    this.#waiting.add(take);
    const limit = new AbortController();
    const giveUp = delay(timeoutMs, undefined, { signal: limit.signal }).then(() => {
      throw this.#failure(`did not say "${what}" within ${timeoutMs / 1000} s`);
    });
    const ended = this.#closed.then(() => {
      throw this.#failure(`ended before it said "${what}"`);
    });
    try {
      return await Promise.race([found.promise, giveUp, ended]);
    } finally {
      this.#waiting.delete(take);
      limit.abort();
      giveUp.catch(() => {});
      ended.catch(() => {});
    }
  }

  /** Waits for its end; answers nothing, and rejects if it failed. */
  async finish(timeoutMs: number): Promise<void> {
    const limit = new AbortController();
    const giveUp = delay(timeoutMs, undefined, { signal: limit.signal }).then(
      () => 'late' as const,
      () => 'late' as const,
    );
    const outcome = await Promise.race([this.#closed, giveUp]);
    limit.abort();
    if (outcome === 'late') throw this.#failure(`did not end within ${timeoutMs / 1000} s`);
    if (this.#child.exitCode !== 0) throw this.#failure('failed');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.pid === undefined) return;
    if (!this.ended) this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await this.#closed.catch(() => {});
    clearTimeout(late);
  }

  #take(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > 20) this.#tail.shift();
    for (const take of this.#waiting) take(line);
  }

  #failure(what: string): Error {
    return new Error(`${this.#name} ${what}; it said last:\n${this.#tail.join('\n')}`);
  }
}
