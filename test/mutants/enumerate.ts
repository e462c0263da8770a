/** All mutants, found in the sources: a new check gets its own without anybody thinking of it. */
import { actMutants } from './acts.ts';
import { listMutants } from './lists.ts';
import type { Mutant } from './mutant.ts';
import { namedMutants } from './named.ts';
import { stageMutants } from './stages.ts';
import { sourceOf } from './source.ts';

export function allMutants(): Mutant[] {
  const all = [...listMutants(), ...stageMutants(), ...actMutants(), ...namedMutants()];
  const ids = all.map(({ id }) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (twice.length > 0) throw new Error(`not told apart: ${twice.join(', ')}`);
  for (const { id, changes } of all) {
    for (const [file, text] of Object.entries(changes)) {
      if (text === sourceOf(file).text) throw new Error(`${id} is the original`);
    }
  }
  return all;
}
