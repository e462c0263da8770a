/** The pages about the house show the rooms as they are: what they may import, and what is in them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { mayImport, openRooms, pureRooms } from '../tidy/house.ts';

const read = (file: string): string => readFileSync(file, 'utf8');
const namesIn = (text: string): string[] => [...text.matchAll(/`([a-z]+)`/g)].map(([, name = '']) => name);

/** The rows of the table: rooms, what they hold, what they may import. */
function rowsOf(page: string): string[][] {
  const [, table = ''] = /^\| room \|.*\n\|[-|]+\|\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

test('CONTRIBUTING.md says of every room what it may import, and which are pure', () => {
  const rows = rowsOf(read('CONTRIBUTING.md'));
  const shown = rows.flatMap(([rooms = '', holds = '', imports = '']) =>
    namesIn(rooms).map((room) => ({
      room,
      imports: imports === 'whatever they need' ? undefined : namesIn(imports).sort(),
      isPure: /\*\*pure\*\*/.test(holds),
    })),
  );
  const expected = [...Object.keys(mayImport), ...openRooms].map((room) => ({
    room,
    imports: mayImport[room]?.toSorted(),
    isPure: pureRooms.includes(room),
  }));
  const byName = (one: { room: string }, other: { room: string }): number => one.room.localeCompare(other.room);
  assert.deepEqual(shown.toSorted(byName), expected.toSorted(byName));
});

test('docs/architecture.md has every room under a heading, and no other', () => {
  const headings = [...read('docs/architecture.md').matchAll(/^### (.*)$/gm)].map(([, heading = '']) => heading);
  const rooms = headings.flatMap((heading) => namesIn(heading));
  assert.deepEqual(rooms.toSorted(), [...Object.keys(mayImport), ...openRooms].toSorted());
});

test('the glossary has each word once, in order', () => {
  const [, glossary = ''] = /^## Glossary\n([^]*?)\n## /m.exec(read('docs/architecture.md')) ?? [];
  const words = [...glossary.matchAll(/^\| ([a-z ]+) \|/gm)]
    .map(([, word = '']) => word)
    .filter((word) => word !== 'word');
  assert.ok(words.length > 30);
  assert.deepEqual(words, [...new Set(words)].sort());
});
