/** Tries mutants of conditions in a thread of its own: one that never comes to an end can be left there. */
import { parentPort } from 'node:worker_threads';
import type { Mutant } from './mutant.ts';
import { noticedBy } from './unit-run.ts';

parentPort?.on('message', (changes: Mutant['changes']) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  void noticedBy({ changes }).then((by) => parentPort?.postMessage(by));
});
