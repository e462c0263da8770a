/** Which mutants no unit test notices. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Mutant } from './mutant.ts';

/** Of a whole second on a machine that does nothing else, at the most. */
const patienceMs = 15_000;

/** What noticed it; undefined: it survives. */
export async function* triesOf(mutants: readonly Mutant[]): AsyncGenerator<[Mutant, string | undefined]> {
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
