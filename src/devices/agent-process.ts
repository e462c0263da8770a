/**
 * Runs a program to its end, or to ours: input by stdin only, an environment of its own, an end by time and by size, and
 * nothing of it left behind. Whatever happens becomes a value.
 */
import { Buffer } from 'node:buffer';
import { spawn, type ChildProcess } from 'node:child_process';
import type { DeviceWorld } from './device.ts';

export interface ProgramCall {
  file: string;
  args?: readonly string[];
  input: string;
  environment: Readonly<Record<string, string>>;
  signal: AbortSignal;
  timeoutMs: number;
  outputLimitBytes: number;
}

export type ProgramEnd =
  | { kind: 'exited'; code: number; stdout: string; stderr: string }
  /** Never ran. */
  | { kind: 'not-started'; why: string }
  /** Ran, for how long and how far is not known. */
  | { kind: 'cut-off'; why: string };

/** Who has ended but left its output open to somebody else gets this long. */
const CLOSE_GRACE_MS = 1_000;

export function runProgram(call: ProgramCall, world: Pick<DeviceWorld, 'after'>): Promise<ProgramEnd> {
  if (call.signal.aborted) return Promise.resolve({ kind: 'not-started', why: 'it was called off before it began' });
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(call.file, [...(call.args ?? [])], {
        cwd: '/',
        env: { ...call.environment },
        // A group of its own, so that what the program starts can be ended with it.
        detached: true,
        stdio: 'pipe',
      });
    } catch (error) {
      resolve({ kind: 'not-started', why: messageOf(error) });
      return;
    }
    new Run(child, call, { world, resolve }).begin();
  });
}

interface RunEnds {
  world: Pick<DeviceWorld, 'after'>;
  resolve: (end: ProgramEnd) => void;
}

class Run {
  readonly #child: ChildProcess;
  readonly #call: ProgramCall;
  readonly #ends: RunEnds;
  readonly #output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  readonly #timers: (() => void)[] = [];
  #size = 0;
  #isDone = false;

  constructor(child: ChildProcess, call: ProgramCall, ends: RunEnds) {
    this.#child = child;
    this.#call = call;
    this.#ends = ends;
  }

  begin(): void {
    const { signal, timeoutMs } = this.#call;
    const child = this.#child;
    child.on('error', (error) => {
      if (child.pid === undefined) this.#finish({ kind: 'not-started', why: error.message });
    });
    if (child.pid === undefined) return;
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream]?.on('data', (chunk: Buffer) => this.#take(stream, chunk));
      child[stream]?.on('error', () => {});
    }
    child.on('exit', () => {
      this.#timers.push(
        this.#ends.world.after(CLOSE_GRACE_MS, () => this.#cutOff('something that it started did not end')),
      );
    });
    child.on('close', (code, killedBy) => {
      if (code === null) this.#finish({ kind: 'cut-off', why: `it was ended by ${killedBy}` });
      else this.#finish({ kind: 'exited', code, stdout: this.#text('stdout'), stderr: this.#text('stderr') });
    });
    signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#timers.push(
      this.#ends.world.after(timeoutMs, () =>
        this.#cutOff(`it did not end within ${Math.round(timeoutMs / 100) / 10} s`),
      ),
    );
    // A program that ends without reading its input is judged by how it ended.
    child.stdin?.on('error', () => {});
    child.stdin?.end(this.#call.input);
  }

  readonly #onAbort = (): void => this.#cutOff('it was called off');

  #take(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#call.outputLimitBytes) {
      this.#cutOff(`it said more than ${this.#call.outputLimitBytes} bytes`);
    } else {
      this.#output[stream].push(chunk);
    }
  }

  #text(stream: 'stdout' | 'stderr'): string {
    return Buffer.concat(this.#output[stream]).toString('utf8');
  }

  #cutOff(why: string): void {
    if (this.#isDone) return;
    const { pid } = this.#child;
    if (pid !== undefined) killGroup(pid);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream?.destroy();
    this.#finish({ kind: 'cut-off', why });
  }

  #finish(end: ProgramEnd): void {
    if (this.#isDone) return;
    this.#isDone = true;
    for (const cancel of this.#timers) cancel();
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    this.#ends.resolve(end);
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended by itself in the meantime.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
