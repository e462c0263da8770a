/** Runs what find.ts asks for: a story with a mutant, or with the product, which then says what was answered in it. */
import { parentPort } from 'node:worker_threads';
import { allMutants } from './enumerate.ts';
import { probed } from './probe.ts';
import { givenAway } from './run.ts';
import { storyNamed } from './stories.ts';

export interface Look {
  /** Absent: the product itself. */
  mutant?: string;
  story: string;
}

export interface Seen {
  failures: string[];
  wallMs: number;
  /** Mutants that leave out a question which had an answer. */
  answered: string[];
}

const mutants = new Map(allMutants().map((mutant) => [mutant.id, mutant]));

parentPort?.on('message', (look: Look) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  void seen(look).then((answer) => parentPort?.postMessage(answer));
});

async function seen({ mutant, story }: Look): Promise<Seen> {
  const startedAt = performance.now();
  const probes = probed([...mutants.values()]);
  const changes = mutant === undefined ? probes.changes : (mutants.get(mutant)?.changes ?? {});
  const failures = await givenAway({ changes }, storyNamed(story));
  return { failures, wallMs: performance.now() - startedAt, answered: probes.answered() };
}
