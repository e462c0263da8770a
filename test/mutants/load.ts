/**
 * Loads the product with a mutant in it, beside the product itself and in the same process. What does not lead to a changed
 * file is loaded once for all mutants, so that one costs some dozens of milliseconds. The simulated world keeps the
 * original client: it is the product that is wrong, not the cluster.
 */
import { globSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as runner from '../../src/scenario/runner.ts';
import { root, sourceOf } from './source.ts';

interface Loaded {
  changes: Readonly<Record<string, string>>;
  /** Files that lead to a changed one. */
  anew: ReadonlySet<string>;
}

const entry = 'src/scenario/runner.ts';
const tag = 'mutant';
/** The tests of a mutant are none of this process. */
const collector = new URL('collected.ts', import.meta.url).href;
const loaded: Loaded[] = [];

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'node:test' && mutantOf(context.parentURL) !== undefined) return next(collector, context);
    const found = next(specifier, context);
    const mutant = mutantOf(context.parentURL);
    if (mutant === undefined || !isAnew(mutant, fileOf(context.parentURL ?? ''), fileOf(found.url))) return found;
    return { ...found, url: tagged(found.url, loaded.indexOf(mutant)) };
  },
  load(url, context, next) {
    const source = mutantOf(url)?.changes[fileOf(url)];
    if (source === undefined) return next(url, context);
    return { format: 'module-typescript', source, shortCircuit: true };
  },
});

/** The runner of scenarios, in which the operator is the mutant. */
export function runnerWith(changes: Loaded['changes']): Promise<typeof runner> {
  return modulesWith(changes)<typeof runner>(entry);
}

/** The unit tests that lead to one of these files. */
export function unitTestsOf(files: readonly string[]): string[] {
  return [...leadingTo(files)].filter((file) => file.endsWith('.test.ts'));
}

/** Loads modules by file, with the changes in them wherever they lead to one. */
export function modulesWith(changes: Loaded['changes']): <T>(file: string) => Promise<T> {
  const anew = leadingTo(Object.keys(changes));
  const at = loaded.push({ changes, anew }) - 1;
  return async <T>(file: string) => {
    const { href } = pathToFileURL(join(root, file));
    return (await import(anew.has(file) ? tagged(href, at) : href)) as T;
  };
}

function tagged(url: string, at: number): string {
  return `${url}?${tag}=${at}`;
}

function mutantOf(url: string | undefined): Loaded | undefined {
  const at = url?.startsWith('file:') ? new URL(url).searchParams.get(tag) : null;
  return at === null ? undefined : loaded[Number(at)];
}

function fileOf(url: string): string {
  return url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url;
}

function isAnew({ anew }: Loaded, from: string, to: string): boolean {
  return anew.has(to) && !isOfWorld(from, to);
}

/** Who plays the cluster keeps the client that is right; the one of the operator is made by its host. */
function isOfWorld(from: string, to: string): boolean {
  return /^src\/(world|scenario)\//.test(from) && from !== 'src/scenario/operators.ts' && to.startsWith('src/kube/');
}

let importers: Map<string, string[]> | undefined;

function leadingTo(files: readonly string[]): Set<string> {
  importers ??= importersOfAll();
  const found = new Set(files);
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer);
  return found;
}

/** Who imports a file, types left out. */
function importersOfAll(): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const file of globSync(['src/**/*.ts', 'test/support/*.ts'], { cwd: root })) {
    const found = sourceOf(file).text.matchAll(
      /^(?:import|export) (?!type )[^;]*?from '(\.[^']+)';|import\('(\.[^']+)'\)/gm,
    );
    for (const [, path, later] of found) {
      const target = normalize(join(dirname(file), path ?? later ?? ''));
      if (!isOfWorld(file, target)) all.set(target, [...(all.get(target) ?? []), file]);
    }
  }
  return all;
}
