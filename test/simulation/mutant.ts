/**
 * The whole of the source with one line of it sabotaged, in a directory of its own. An invariant whose checker was never
 * seen to fail is not tested.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..', '..');

export interface Sabotage {
  file: string;
  /** Has to be there exactly once, so that a mutant does not silently become the original. */
  line: string;
  instead: string;
}

export interface Mutant extends Disposable {
  /** A module of the mutated source. Classes are not those of the original: keep to one of the two. */
  load<T>(file: string): Promise<T>;
}

/** Several lines, where the product looks twice and one look alone would save the day. */
export function mutant(...sabotages: Sabotage[]): Mutant {
  const directory = mkdtempSync(join(tmpdir(), 'fenceline-mutant-'));
  cpSync(join(root, 'src'), join(directory, 'src'), { recursive: true });
  cpSync(join(root, 'package.json'), join(directory, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  for (const { file, line, instead } of sabotages) {
    const path = join(directory, file);
    const text = readFileSync(path, 'utf8');
    if (text.split(line).length !== 2) throw new Error(`${file} does not hold this line exactly once: ${line}`);
    writeFileSync(
      path,
      text.replace(line, () => instead),
    );
  }
  return {
    load: async <T>(wanted: string) => (await import(pathToFileURL(join(directory, wanted)).href)) as T,
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}
