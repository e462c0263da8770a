/** Keeps the house: who may import whom, what the pure rooms must not touch, nothing dead, nothing endless. */
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { mayImport, openRooms, pureRooms } from './house.ts';

/** What is packed for browsers; nothing of the program loads it. */
const pageBegins = 'src/console/page/main.tsx';

/** The command line is where the real clock and chance come in; in a browser, the beginning of the page. */
const edges = ['src/clock.ts', 'src/cli/', pageBegins];

const sources = globSync('src/**/*.{ts,tsx}').sort();
const production = sources.filter((file) => !file.endsWith('.test.ts'));
const everything = globSync('{src,test,bench,build,control-plane}/**/*.{ts,tsx}');

function roomOf(file: string): string {
  return (file.split('/')[1] ?? '').replace(/\.tsx?$/, '');
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'([^']+)'/g);
  return [...found].map((match) => match[1] ?? '');
}

function relativeImportsOf(file: string): string[] {
  return importsOf(file)
    .filter((path) => path.startsWith('.'))
    .map((path) => normalize(join(dirname(file), path)));
}

/** What is there when the program runs: imports of types are not. */
function loadedBy(file: string): string[] {
  const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;']*\sfrom\s+)?'(\.[^']+)'/gm);
  return [...found].map((match) => normalize(join(dirname(file), match[1] ?? '')));
}

/** Code without comments and strings: what is talked about is not used. */
function codeOf(file: string): string {
  return readFileSync(file, 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''");
}

describe('the house', () => {
  test('every room is known, and those that are known are there', () => {
    const rooms = new Set(production.filter((file) => file.split('/').length > 2).map((file) => roomOf(file)));
    assert.deepEqual([...rooms].sort(), [...Object.keys(mayImport), ...openRooms].sort());
  });

  test('rooms import only from the rooms they may', () => {
    const wrong = production.flatMap((file) => {
      const allowed = mayImport[roomOf(file)];
      if (allowed === undefined) return [];
      return relativeImportsOf(file)
        .filter((target) => roomOf(target) !== roomOf(file) && !allowed.includes(roomOf(target)))
        .map((target) => `${file} imports ${target}`);
    });
    assert.deepEqual(wrong, []);
  });

  test('nothing but the world, its tests and the commands imports the world', () => {
    const users = production.filter((file) => !/^src\/(world|scenario|console|cli)\//.test(file));
    const wrong = users.filter((file) => relativeImportsOf(file).some((target) => roomOf(target) === 'world'));
    assert.deepEqual(wrong, []);
  });

  test('the world has each kind of object once, in one place', () => {
    const homes = /^src\/world\/(objects\/|longhorn\/objects\.ts$)/;
    const found = production
      .filter((file) => roomOf(file) === 'world')
      .flatMap((file) =>
        [...codeOf(file).matchAll(/\binterface (\w+) extends KubeObject\b/g)].map(([, name = '']) => ({ file, name })),
      );
    assert.ok(found.some(({ name }) => name === 'Pod'));
    const names = found.map(({ name }) => name);
    assert.deepEqual(
      found.filter(({ file, name }) => !homes.test(file) || names.indexOf(name) !== names.lastIndexOf(name)),
      [],
    );
  });

  test('the pure rooms have no clock, no chance, no input or output', () => {
    const forbidden =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\bprocess\.|\bsetTimeout\b|\bconsole\b|\bfetch\(/;
    const wrong = production
      .filter((file) => pureRooms.includes(roomOf(file)))
      .filter((file) => forbidden.test(codeOf(file)) || importsOf(file).some((path) => path.startsWith('node:')));
    assert.deepEqual(wrong, []);
  });

  test('time and chance are handed in, everywhere but at the edge', () => {
    const forbidden =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.now\b|\bset(?:Timeout|Interval)\(|AbortSignal\.timeout/;
    const wrong = production
      .filter((file) => !edges.some((edge) => file.startsWith(edge)))
      .filter((file) => forbidden.test(codeOf(file)));
    assert.deepEqual(wrong, []);
  });

  test('[USE-3] YAML is made in one place, which knows how kubectl reads it', () => {
    const makers = production.filter(
      (file) => importsOf(file).includes('yaml') && /(?<!JSON\.)\bstringify\b/.test(codeOf(file)),
    );
    assert.deepEqual(makers, ['src/cli/yaml.ts']);
  });

  test('no file needs one that needs it, not even for a type', () => {
    const state = new Map<string, 'open' | 'done'>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'open') cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (state.has(file)) return;
      state.set(file, 'open');
      const targets = relativeImportsOf(file).filter((target) => target.startsWith('src/') && /\.tsx?$/.test(target));
      for (const target of targets) visit(target, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of production) visit(file, []);
    assert.deepEqual(cycles, []);
  });

  test('no dead files: everything is reached from the command, the tests of the whole, or the benchmarks', () => {
    const roots = everything.filter(
      (file) => !file.startsWith('src/') || ['src/cli/main.ts', pageBegins].includes(file),
    );
    const reached = new Set<string>();
    const visit = (file: string): void => {
      if (reached.has(file)) return;
      reached.add(file);
      for (const target of relativeImportsOf(file).filter((path) => /\.tsx?$/.test(path))) visit(target);
    };
    for (const root of roots) visit(root);
    assert.deepEqual(
      production.filter((file) => !reached.has(file)),
      [],
    );
  });

  test('the operator does not load the schemas, which would be most of its memory', () => {
    const loaded = new Set<string>();
    const visit = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const target of loadedBy(file)) visit(target);
    };
    visit('src/operator/operator.ts');
    assert.ok(loaded.has('src/api/policy-facts.ts'), 'the search does not even find where policies are read');
    assert.deepEqual(
      [...loaded].filter((file) => /^import (?!type\b).* from 'zod'/m.test(readFileSync(file, 'utf8'))),
      [],
    );
  });

  test('files stay under 400 lines', () => {
    const long = everything.filter((file) => readFileSync(file, 'utf8').split('\n').length > 401);
    assert.deepEqual(long, []);
  });

  test('the lock file names no download address, and nothing names a path of this machine', () => {
    assert.doesNotMatch(readFileSync('package-lock.json', 'utf8'), /"resolved": "http/);
    const texts = globSync(['*', '{src,test,bench,build,control-plane,docs,bin,scenarios,.ci}/**/*'], {
      exclude: (path) => /^(node_modules|dist|logs)\b|\.sum$/.test(path),
    });
    const own = [`${homedir()}/`, `${process.cwd()}/`].filter((path) => path.length > 2);
    const wrong = texts.filter((file) => {
      if (statSync(file).isDirectory()) return false;
      const text = readFileSync(file, 'utf8');
      return own.some((path) => text.includes(path));
    });
    assert.deepEqual(wrong, []);
  });
});
