/**
 * Finds for every mutant the cheapest story that gives it away, and writes the table:
 * `node test/mutants/find.ts [--stories PATTERN] [WORD…]`. Entries that still hold are kept. With words, only mutants whose
 * name has all of them are looked at; with a pattern, only stories whose name fits.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { allMutants } from './enumerate.ts';
import type { Mutant } from './mutant.ts';
import { killers, tableFile } from './table.ts';
import type { Look, Seen } from './find-worker.ts';
import { allStories } from './stories.ts';

const workers = 2;
/** What takes longer is no test for every day. */
const dearMs = 4000;
const limitMs = 60_000;
const idle: Worker[] = [];

interface Candidate {
  story: string;
  wallMs: number;
  answered: ReadonlySet<string>;
}

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { stories: { type: 'string', default: '' } },
});
const told = allStories().filter(({ name }) => new RegExp(values.stories).test(name));
const mutants = allMutants().filter(({ id }) => words.every((word) => id.includes(word)));
const table: Record<string, string> = Object.fromEntries(
  Object.entries(killers).filter(([id]) => allMutants().some((mutant) => mutant.id === id)),
);

const kept = await inTurn(mutants, async ({ id }) => {
  const story = table[id];
  if (story === undefined) return false;
  const seen = await look({ mutant: id, story });
  if (seen.failures.length === 0) delete table[id];
  return seen.failures.length > 0;
});
const open = mutants.filter((_, index) => kept[index] !== true);
console.log(`${mutants.length} mutants, ${mutants.length - open.length} given away as before`);

const candidates = open.length === 0 ? [] : await inTurn(told, async ({ name }) => candidate(name));
const usable = candidates
  .filter((one) => one !== undefined && one.wallMs < dearMs)
  .sort((a, b) => a!.wallMs - b!.wallMs) as Candidate[];
const found = await inTurn(open, search);
save();
const survivors = open.filter((_, index) => found[index] === undefined);
for (const { id } of survivors) console.log(`survives: ${id}`);
process.exit(survivors.length === 0 ? 0 : 1);

/** As it is with the product; one that is not as expected then gives nobody away. */
async function candidate(story: string): Promise<Candidate | undefined> {
  const { failures, wallMs, answered } = await look({ story });
  if (failures.length > 0) console.log(`not usable: ${story}: ${failures[0]}`);
  return failures.length > 0 ? undefined : { story, wallMs, answered: new Set(answered) };
}

async function search(mutant: Mutant): Promise<string | undefined> {
  for (const { story } of usable.filter(({ answered }) => mutant.probe === undefined || answered.has(mutant.id))) {
    const { failures } = await look({ mutant: mutant.id, story });
    if (failures.length === 0) continue;
    console.log(`${mutant.id}\n  ${story}: ${failures[0]}`);
    table[mutant.id] = story;
    save();
    return story;
  }
  return undefined;
}

function save(): void {
  const sorted = Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(tableFile, `${JSON.stringify(sorted, undefined, 2)}\n`);
}

/** So many at a time; the answers in the order of the questions. */
async function inTurn<T, R>(all: readonly T[], ask: (one: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const left = all.map((one, index) => ({ one, index }));
  const drain = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) answers[next.index] = await ask(next.one);
  };
  await Promise.all(Array.from({ length: workers }, drain));
  return answers;
}

/** In a thread of its own: a mutant may do one thing for ever, and then its thread is ended. */
function look(what: Look): Promise<Seen> {
  const worker = idle.pop() ?? new Worker(join(import.meta.dirname, 'find-worker.ts'));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      void worker.terminate();
      resolve({ failures: [], wallMs: limitMs, answered: [] });
    }, limitMs);
    worker.removeAllListeners();
    worker.once('error', reject);
    worker.once('message', (seen: Seen) => {
      clearTimeout(timer);
      idle.push(worker);
      resolve(seen);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(what);
  });
}
