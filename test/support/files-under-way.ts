/**
 * Which files of tests are being run. A process that a test has started and left, and that has its output, keeps the runner
 * waiting for ever, and no limit of the runner's ends that: here it is seen, and said.
 */
import type { TestsStream } from 'node:test';

export class FilesUnderWay {
  readonly #limitMs: number;
  readonly #onLate: (what: string) => void;
  readonly #since = new Map<string, { timer: NodeJS.Timeout; atMs: number }>();

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
    clearTimeout(this.#since.get(name)?.timer);
    this.#since.delete(name);
  }

  describe(): string {
    const seconds = (atMs: number): number => Math.round((performance.now() - atMs) / 1000);
    return [...this.#since].map(([name, { atMs }]) => `${name} (for ${seconds(atMs)} s)`).join(', ') || 'none';
  }
}

function isFile(name: string, file: string | undefined): boolean {
  return file !== undefined && file.endsWith(name);
}
