import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { share } from './common.ts';
import { shareOf } from './share.ts';

test('a share is rounded down, so that a limit never lets one node more through than it says', () => {
  assert.equal(shareOf('40%', 3), 1);
  assert.equal(shareOf('40%', 5), 2);
  assert.equal(shareOf('34%', 3), 1);
  assert.equal(shareOf('100%', 7), 7);
  assert.equal(shareOf('0%', 7), 0);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 10_000 }), (percent, total) => {
      const allowed = shareOf(`${percent}%`, total);
      assert.ok(allowed * 100 <= percent * total);
      assert.ok((allowed + 1) * 100 > percent * total);
    }),
  );
});

test('a number of nodes is that number, however many there are', () => {
  assert.equal(shareOf(3, 100), 3);
  assert.equal(shareOf(0, 100), 0);
});

test('a share is a percentage or a whole number', () => {
  for (const good of ['0%', '7%', '40%', '100%', 0, 1, 5000]) assert.ok(share().safeParse(good).success, String(good));
  for (const bad of ['', '%', '40', '101%', '040%', '40 %', '-1%', -1, 0.4, true, null]) {
    assert.ok(!share().safeParse(bad).success, String(bad));
  }
});
