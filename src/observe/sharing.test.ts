import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sharing } from './sharing.ts';

test('another node that says the same: not itself, whoever came first, and however many there are', () => {
  const sharing = new Sharing();
  sharing.note('boot', 'a');
  sharing.note('boot', 'a');
  assert.deepEqual([sharing.otherThan('a', 'boot'), sharing.otherThan('b', 'boot')], [undefined, 'a']);
  sharing.note('boot', 'b');
  sharing.note('boot', 'c');
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => sharing.otherThan(name, 'boot')),
    ['b', 'a', 'a'],
  );
  assert.equal(sharing.otherThan('a', 'nobody says this'), undefined);
});
