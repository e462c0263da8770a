/** Which mutants no unit test notices. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Mutant } from './mutant.ts';

/** For what one test of a file notices in a moment; what none does takes some seconds on a machine that does nothing else. */
const usualMs = 30_000;

/** What noticed it; undefined: it survives. */
export async function* triesOf(
  mutants: readonly Mutant[],
  patienceMs = usualMs,
): AsyncGenerator<[Mutant, string | undefined]> {
  let worker = begun();
  try {
    for (const mutant of mutants) {
      const answer = once(worker, 'message', { signal: AbortSignal.timeout(patienceMs) });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(mutant.changes);
      try {
        const [by] = (await answer) as [string | undefined];
        yield [mutant, by];
      } catch {
        await worker.terminate();
        worker = begun();
        yield [mutant, 'it does not come to an end'];
      }
    }
  } finally {
    await worker.terminate();
  }
}

function begun(): Worker {
  return new Worker(new URL('unit-worker.ts', import.meta.url));
}
