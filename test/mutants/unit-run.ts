/** Runs the unit tests of the rules with a mutant in the place of what they test, and says which of them gives it away. */
import { firstFailure } from './collected.ts';
import { modulesWith, unitTestsOf } from './load.ts';
import type { Mutant } from './mutant.ts';

/** Of the pure rooms alone: the others have clocks and processes. */
const pure = /^src\/(?:api|judge|remedy|fence|release|return|drain|decide)\//;
/** Takes seconds for each, because it tries everything: what only this one notices has to be noticed by another as well. */
const dear = ['src/fence/every-state.test.ts', 'src/drain/enumerated.test.ts', 'src/api/crds.test.ts'];

/** Undefined: it survives all of them. */
export async function noticedBy({ changes }: Pick<Mutant, 'changes'>): Promise<string | undefined> {
  const files = Object.keys(changes);
  const load = modulesWith(changes);
  for (const file of nearestFirst(unitTestsOf(files), files)) {
    try {
      await load(file);
    } catch {
      return `${file} as it begins`;
    }
    const title = await firstFailure();
    if (title !== undefined) return `${file} ${title}`;
  }
  return undefined;
}

/** The tests of the file itself, whose names begin with its own, then those of its room. */
function nearestFirst(tests: readonly string[], files: readonly string[]): string[] {
  const names = files.map((file) => file.replace(/\.ts$/, ''));
  const rooms = new Set(files.map(roomOf));
  const distance = (test: string): number =>
    names.some((name) => test.startsWith(name)) ? 0 : rooms.has(roomOf(test)) ? 1 : 2;
  return tests
    .filter((file) => pure.test(file) && !dear.includes(file))
    .toSorted((a, b) => distance(a) - distance(b) || a.localeCompare(b));
}

function roomOf(file: string): string {
  return file.slice(0, file.lastIndexOf('/'));
}
