/**
 * Which files of tests are being run. A process that a test has started and left, and that has its output, keeps the runner
 * waiting for ever, and no limit of the runner's ends that: here it is seen, and said.
 */
import type { TestsStream } from 'node:test';

export class FilesUnderWay {
  readonly #limitMs: number;
  readonly #onLate: (what: string) => void;
  readonly #since = new Map<string, { timer: NodeJS.Timeout; atMs: number }>();
  readonly #took: { name: string; seconds: number }[] = [];

  constructor(limitMs: number, onLate: (what: string) => void) {
    this.#limitMs = limitMs;
    this.#onLate = onLate;
  }

  /** A file is a test of its own to the runner: it begins and is complete under its path. */
  follow(stream: TestsStream): void {
    stream.on('test:dequeue', ({ name, file }) => {
      if (isFile(name, file)) this.begin(name);
    });
    stream.on('test:complete', ({ name, file }) => {
      if (isFile(name, file)) this.end(name);
    });
  }

  begin(name: string, limitMs = this.#limitMs): void {
    const late = (): void => {
      this.#onLate(
        `${name} did not end within ${Math.round(limitMs / 60_000)} minutes: something that it started may still hold its output`,
      );
    };
    this.#since.set(name, { timer: setTimeout(late, limitMs).unref(), atMs: performance.now() });
  }

  end(name: string): void {
    const begun = this.#since.get(name);
    if (begun === undefined) return;
    clearTimeout(begun.timer);
    this.#since.delete(name);
    this.#took.push({ name, seconds: secondsSince(begun.atMs) });
  }

  describe(): string {
    return [...this.#since].map(([name, { atMs }]) => `${name} (for ${secondsSince(atMs)} s)`).join(', ') || 'none';
  }

  /** Where the time goes: who wants a shorter run begins there. */
  slowest(count: number): string[] {
    const inOrder = this.#took.toSorted((a, b) => b.seconds - a.seconds).slice(0, count);
    return inOrder.map(({ name, seconds }) => `${String(seconds).padStart(5)} s  ${name}`);
  }
}

function isFile(name: string, file: string | undefined): boolean {
  return file !== undefined && file.endsWith(name);
}

function secondsSince(atMs: number): number {
  return Math.round((performance.now() - atMs) / 1000);
}
