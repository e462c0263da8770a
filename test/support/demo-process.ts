/** `fenceline demo` as `make run` starts it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { endWithUs } from './control-plane/process.ts';
import { waitFor } from './wait.ts';

export class DemoProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly ended: Promise<number | null>;
  output = '';

  constructor(...args: string[]) {
    this.#child = spawn('bin/fenceline', ['demo', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    endWithUs(this.#child);
    this.ended = new Promise((resolve) => this.#child.once('exit', (code) => resolve(code)));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk) => {
        this.output += String(chunk);
      });
    }
  }

  async url(): Promise<URL> {
    const match = await waitFor('the address', () => /console +(http:\S+)/.exec(this.output)).catch((error: Error) => {
      throw new Error(`${error.message}; it said: ${this.output}`, { cause: error });
    });
    return new URL(match[1] ?? '');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get kubeconfig(): string {
    return /export KUBECONFIG=(\S+)/.exec(this.output)?.[1] ?? '';
  }

  interrupt(): void {
    this.#child.kill('SIGINT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
