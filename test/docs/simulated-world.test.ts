/** The pages about the simulator name every checker and every room that there is, and none that is not. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { invariants } from '../../src/scenario/checkers/index.ts';

const numberOf = (id: string): number => Number(id.slice(1));
const inOrder = (ids: Iterable<string>): string[] => [...ids].sort((a, b) => numberOf(a) - numberOf(b));
const read = (file: string): string => readFileSync(file, 'utf8');

/** By the names of their files: `s2-one-writer.ts` is the checker of S2. */
const checkers = inOrder(
  globSync('src/scenario/checkers/s*.ts').flatMap((file) => /^s\d+(?=-)/.exec(basename(file))?.[0].toUpperCase() ?? []),
);

/** `S1 to S3, S5 and S7` as a list. */
function listed(text: string): string[] {
  return [...text.matchAll(/S(\d+)(?: to S(\d+))?/g)].flatMap(([, first = '', last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => `S${Number(first) + index}`),
  );
}

describe('checkers', () => {
  test('every file of a checker is one that runs', () => {
    assert.deepEqual(inOrder(invariants.map(({ id }) => id)), checkers);
  });

  test('docs/simulator.md lists each of them once, and says how many there are', () => {
    const page = read('docs/simulator.md');
    const rows = [...page.matchAll(/^\| (S\d+) \|/gm)].map(([, id = '']) => id);
    assert.deepEqual(rows, checkers);
    const known = [...read('docs/invariants.md').matchAll(/^- \*\*S\d+\*\* /gm)];
    const [, checked, all] = /^(\d+) of the (\d+) invariants have a checker/m.exec(page) ?? [];
    assert.deepEqual([Number(checked), Number(all)], [checkers.length, known.length]);
  });

  test('docs/invariants.md names those that have one, and says of every other how it stands', () => {
    const page = read('docs/invariants.md');
    const named = /Today (S1 [^]*?) have theirs/.exec(page)?.[1] ?? '';
    assert.deepEqual(listed(named), checkers);
    const others = /\*\*Where we stand\.\*\*([^]*?)\n\n/.exec(page)?.[1] ?? '';
    const all = [...page.matchAll(/^- \*\*(S\d+)\*\* /gm)].map(([, id = '']) => id);
    assert.deepEqual(inOrder(listed(others)), inOrder(all.filter((id) => !checkers.includes(id))));
  });

  test('a list is read with its ranges', () => {
    assert.deepEqual(listed('S1 to S3, S5 and S7'), ['S1', 'S2', 'S3', 'S5', 'S7']);
  });
});

test('docs/simulator.md says of every storm where it is played on the stock control plane', () => {
  const [, table = ''] = /^### Storms on both clusters\n([^]*?)\n### /m.exec(read('docs/simulator.md')) ?? [];
  const rows = table.split('\n').filter((line) => line.startsWith('| ['));
  const told = rows.flatMap((row) =>
    [...row.matchAll(/scenarios\/storms\/([\w-]+)\.yaml/g)].map(([, name = '']) => name),
  );
  assert.deepEqual(
    told.sort(),
    globSync('scenarios/storms/*.yaml')
      .map((file) => basename(file, '.yaml'))
      .sort(),
  );
  for (const row of rows) assert.match(row, /\]\(\.\.\/test\/[\w/-]+\.test\.ts\)/);
});

test('the map of the world has every room and every file beside them', () => {
  const map = read('src/world/README.md');
  const entries = readdirSync('src/world', { withFileTypes: true });
  const rooms = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const drawn = [...map.matchAll(/^\| `([a-z-]+)\/` \|/gm)].map(([, name = '']) => name);
  assert.deepEqual(drawn.sort(), rooms.sort());
  const beside = entries.filter((entry) => entry.isFile() && /(?<!\.test)\.ts$/.test(entry.name));
  const [, told = ''] = /^Beside the rooms:([^]*?)\n\n/m.exec(map) ?? [];
  const named = [...told.matchAll(/`([a-z-]+\.ts)`/g)].map(([, name = '']) => name);
  assert.deepEqual(named.sort(), beside.map(({ name }) => name).sort());
});

test('the map of the world names no file that is not there', () => {
  const map = read('src/world/README.md').replaceAll(/```[^]*?```/g, '');
  const names = [...map.matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.ts|\/))`/g)].map(([, name = '']) => name);
  const exists = (name: string): boolean =>
    globSync([name, `src/world/${name}`, `src/{world,scenario}/**/${name}`]).length > 0;
  assert.ok(names.length > 30);
  assert.deepEqual(
    names.filter((name) => !exists(name)),
    [],
  );
});
