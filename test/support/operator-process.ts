/** `fenceline run` as a process of its own, as users run it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { endWithUs } from './control-plane/process.ts';
import { waitFor } from './wait.ts';

export interface LogLine {
  msg: string;
  time: string;
  [field: string]: unknown;
}

export class OperatorProcess implements AsyncDisposable {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #stderr = '';

  constructor(args: string[], env: NodeJS.ProcessEnv = process.env) {
    this.#child = spawn('bin/fenceline', ['run', '--bind-address', '127.0.0.1:0', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env,
    });
    endWithUs(this.#child);
    this.#ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
    if (this.#child.stdout !== null) {
      createInterface(this.#child.stdout).on('line', (line) => this.lines.push(JSON.parse(line) as LogLine));
    }
    this.#child.stderr?.on('data', (chunk) => {
      this.#stderr += String(chunk);
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Everything that it said on stderr: nothing, as long as nothing is broken. */
  get stderr(): string {
    return this.#stderr;
  }

  /** The first line that fits, from line `since` on. */
  said(
    description: string,
    fits: (line: LogLine) => boolean,
    how: { timeoutMs?: number; since?: number } = {},
  ): Promise<LogLine> {
    return waitFor(`an operator to say: ${description}`, () => this.lines.slice(how.since ?? 0).find(fits), {
      timeoutMs: how.timeoutMs ?? 30_000,
    }).catch((error: Error) => {
      const said = this.lines.slice(-10).map((line) => JSON.stringify(line));
      throw new Error(`${error.message}\nit said last:\n${said.join('\n')}\n${this.#stderr}`, { cause: error });
    });
  }

  async url(): Promise<string> {
    const { port } = await this.said('started', ({ msg }) => msg === 'started');
    return `http://127.0.0.1:${String(port)}`;
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(`${await this.url()}${path}`);
    return { status: response.status, text: await response.text() };
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** As a kubelet ends it: asks, and waits. Answers the exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
