/** The product, with a note of every question that was answered: only there can it make a difference to leave it out. */
import type { Mutant } from './mutant.ts';
import { edited, sourceOf, textOf } from './source.ts';

interface Probes {
  changes: Record<string, string>;
  answered: () => string[];
}

export function probed(mutants: readonly Mutant[]): Probes {
  const answered = new Set<string>();
  Object.assign(globalThis, { answered: (id: string) => answered.add(id) });
  const changes: Record<string, string> = {};
  const files = Map.groupBy(mutants, ({ changes: { ...all } }) => Object.keys(all)[0] ?? '');
  for (const [file, here] of files) {
    const source = sourceOf(file);
    const edits = here.flatMap(({ id, probe }) =>
      probe === undefined ? [] : [{ ...probe, instead: asking(textOf(source, probe), id) }],
    );
    if (edits.length > 0) changes[file] = edited(source, edits);
  }
  return { changes, answered: () => [...answered] };
}

/** The same question, which is a function or something with questions of its own. */
function asking(name: string, id: string): string {
  const noted = `(globalThis as any).answered(${JSON.stringify(id)})`;
  const note = `(found: any) => { if (found !== undefined) ${noted}; return found; }`;
  return `(typeof ${name} !== 'function' ? (${noted}, ${name}) : ((...all: any[]) => { const found = (${name} as any)(...all); return found instanceof Promise ? found.then(${note}) : (${note})(found); }) as any)`;
}
