import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from './clock.ts';

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
