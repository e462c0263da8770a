import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceRecord } from './device-records.ts';
import { PlugBook } from './plug-book.ts';

function aBook(): { book: PlugBook; present: Set<DeviceRecord>; note: (name: string, plug: string) => DeviceRecord } {
  const present = new Set<DeviceRecord>();
  const book = new PlugBook((record) => present.has(record));
  const note = (name: string, plug: string): DeviceRecord => {
    const record = { name, own: {} } as DeviceRecord;
    present.add(record);
    book.note(record, plug);
    return record;
  };
  return { book, present, note };
}

const namesOf = (book: PlugBook, plug: string): string[] => [...book.sharing(plug)].map(({ name }) => name);

describe('the book of outlets', () => {
  test('[FEN-8] finds whoever has any outlet of a plug, and nobody who is gone or has another one by now', () => {
    const { book, present, note } = aBook();
    const both = note('both', 'three,four');
    note('other', 'five');
    assert.deepEqual(namesOf(book, 'four,six'), ['both']);
    assert.deepEqual(namesOf(book, 'five'), ['other']);
    book.note(both, 'seven');
    assert.deepEqual(
      ['three', 'four', 'seven'].map((plug) => namesOf(book, plug)),
      [[], [], ['both']],
    );
    present.delete(both);
    assert.deepEqual(namesOf(book, 'seven'), []);
  });

  test('does not grow by what is gone, though nobody looks it up', () => {
    const { book, present, note } = aBook();
    for (let index = 0; index < 1000; index += 1) present.delete(note(`node-${index}`, `outlet-${index}`));
    assert.ok(book.size < 200, `${book.size}`);
    book.clear();
    assert.equal(book.size, 0);
  });
});
