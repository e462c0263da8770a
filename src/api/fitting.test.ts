import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bootIdOf, boundedName } from './bounded-name.ts';
import { structuralSchemaOf, type StructuralSchema } from './crds.ts';
import { EMPTY_STATUS } from './empty-status.ts';
import type { Room } from './fitting.ts';
import { fitting, fittingStatus, STATUS_ROOM } from './fitting.ts';
import { KINDS } from './kinds.ts';

const kind = KINDS.find((one) => one.kind === 'NodeFence');
assert.ok(kind);
const status = structuralSchemaOf(kind).properties?.['status'];
assert.ok(status);

/** By which names sentences go; everything else is a word or a name. */
const sentences = new Set([
  'message',
  'on',
  'why',
  'evidence',
  'waitsFor',
  'detail',
  'trouble',
  'ends',
  'command',
  'what',
]);

function sentencesOf(schema: StructuralSchema): Room {
  const inside = Object.entries((schema.items ?? schema).properties ?? {}).flatMap(
    ([key, one]): [string, number | Room][] => {
      if (one.type === 'string') return sentences.has(key) ? [[key, one.maxLength ?? Infinity]] : [];
      const room = sentencesOf(one);
      return Object.keys(room).length === 0 ? [] : [[key, room]];
    },
  );
  return Object.fromEntries(inside);
}

describe('what a record has room for', () => {
  test('every sentence of a status is known with the room that its schema has', () => {
    assert.deepEqual(STATUS_ROOM, sentencesOf(status));
  });

  test('a sentence that is too long is cut, by characters; all else stays as it is', () => {
    const hold = { reason: 'Paused', message: 'x'.repeat(1024), since: '2026-01-01T00:00:00Z' };
    assert.deepEqual(fittingStatus({ ...EMPTY_STATUS, hold }), { ...EMPTY_STATUS, hold });
    const cut = fittingStatus({ ...EMPTY_STATUS, hold: { ...hold, message: 'x'.repeat(1025) } });
    assert.equal(cut.hold?.message, `${'x'.repeat(1023)}…`);
    assert.equal(fitting('😀'.repeat(4), 4), '😀'.repeat(4));
    assert.equal(fitting('😀'.repeat(5), 4), '😀😀😀…');
    assert.deepEqual(fitting([{ a: 'xyz', b: 'xyz' }], { a: 2 }), [{ a: 'x…', b: 'xyz' }]);
  });

  test('[FEN-16] boot IDs that differ stay apart, also where only what is cut off tells them apart', () => {
    const [one, other] = ['a', 'b'].map((end) => bootIdOf({ bootID: `${'0'.repeat(200)}${end}` }));
    assert.notEqual(one, other);
    assert.ok((one?.length ?? 0) <= 64);
    assert.equal(bootIdOf({ bootID: 'plain' }), 'plain');
    assert.equal(bootIdOf(undefined), '');
    assert.ok(boundedName('x'.repeat(999), 253).length <= 253);
  });
});
