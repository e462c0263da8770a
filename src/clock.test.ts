import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../test/support/manual-clock.ts';
import { PerSecond, realClock } from './clock.ts';

test('a wait of more than 24 days does not end at once', async () => {
  const fired: string[] = [];
  const cancel = realClock.after(1000 * 3_600_000, () => fired.push('1000h'));
  await new Promise<void>((resolve) => {
    realClock.after(5, () => {
      fired.push('5ms');
      resolve();
    });
  });
  cancel();
  assert.deepEqual(fired, ['5ms']);
});

test('[SEC-5] each comes so often in a second, whatever others do, and no more are remembered than that', () => {
  const clock = manualClock();
  const rate = new PerSecond(clock, { each: 3, comers: 2 });
  const taken = (who: string): number => Array.from({ length: 1000 }, () => rate.take(who)).filter(Boolean).length;
  assert.deepEqual(['a', 'b', 'a', 'c'].map(taken), [3, 3, 0, 0]);
  assert.equal(rate.size, 2);
  clock.advance(1000);
  assert.deepEqual(['c', 'a', 'b'].map(taken), [3, 3, 0]);
  assert.equal(rate.size, 2);
});
