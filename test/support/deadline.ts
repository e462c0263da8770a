/**
 * Loaded before the tests of a tier. The runner's own limit ends a test and not its process: one that a forgotten timer or
 * connection keeps alive would hold up all that comes after it for ever, without a word. So it ends here, and says what has kept it:
 * with what its tests came to, once they are over; as failed, where they never are.
 *
 * It ends without the runtime's own clearing up, which has been seen to wait for ever, on a whole core, for a handle that it had closed
 * already: after the last line of any script, so that no timer could say so, and the runner waited for the process.
 */
import { basename } from 'node:path';
import { after } from 'node:test';

/** Longer than the longest clean-up. */
const AFTER_TESTS_MS = 120_000;
const limitMs = Number(process.env['FENCELINE_FILE_LIMIT_MS'] ?? 0);

function endAfter(ms: number, when: string, code?: number): void {
  setTimeout(() => {
    const kept = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (name) => name));
    const list = kept.map(([name, all = []]) => `${all.length} ${name}`).join(', ');
    process.stderr.write(`!!!! ${basename(process.argv[1] ?? '')} did not end ${when}; it was kept by ${list}\n`);
    process.exit(code);
  }, ms).unref();
}

type Emit = (name: string | symbol, ...args: unknown[]) => boolean;

function endAtOnce(): void {
  const emit = process.emit.bind(process) as Emit;
  const ending: Emit = (name, ...args) => {
    const isHeard = emit(name, ...args);
    if (name === 'exit')
      (process as unknown as { reallyExit: (code: unknown) => never }).reallyExit(process.exitCode ?? 0);
    return isHeard;
  };
  process.emit = ending as typeof process.emit;
}

if (limitMs > 0) {
  endAtOnce();
  endAfter(limitMs, `within ${limitMs / 60_000} minutes`, 1);
  after(() => endAfter(AFTER_TESTS_MS, 'by itself when its tests were over'));
}
