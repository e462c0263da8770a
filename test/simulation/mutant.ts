/** The product with one line of it sabotaged. An invariant whose checker was never seen to fail is not tested. */
import { modulesWith } from '../mutants/load.ts';
import { sourceOf } from '../mutants/source.ts';

export interface Sabotage {
  file: string;
  /** Has to be there exactly once, so that a mutant does not silently become the original. */
  line: string;
  instead: string;
}

export interface Mutant {
  /** A module of the mutated source. Its classes may be others than those of the original: keep to one of the two. */
  load: <T>(file: string) => Promise<T>;
}

/** Several lines, where the product looks twice and one look alone would save the day. */
export function mutant(...sabotages: Sabotage[]): Mutant {
  const changes: Record<string, string> = {};
  for (const { file, line, instead } of sabotages) {
    const text = changes[file] ?? sourceOf(file).text;
    if (text.split(line).length !== 2) throw new Error(`${file} does not hold this line exactly once: ${line}`);
    changes[file] = text.replace(line, () => instead);
  }
  return { load: modulesWith(changes) };
}
