import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackOff } from './back-off.ts';

test('the first restart comes at once, then each waits twice as long, up to five minutes', () => {
  const backOff = new BackOff();
  let now = 0;
  const waits: number[] = [];
  const texts: string[] = [];
  for (let crash = 0; crash < 9; crash += 1) {
    now += 1000;
    const waitMs = backOff.waitMs(now, now);
    waits.push(waitMs);
    texts.push(backOff.text);
    backOff.started(now, now + waitMs);
    now += waitMs;
  }
  assert.deepEqual(waits, [0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
  assert.deepEqual(texts.slice(1, 7), ['10s', '20s', '40s', '1m20s', '2m40s', '5m0s']);
});

test('it passes with time, and is forgotten after ten minutes without a restart', () => {
  const backOff = new BackOff();
  backOff.started(0, 0);
  assert.equal(backOff.waitMs(5000, 9000), 6000);
  assert.equal(backOff.waitMs(5000, 20_000), 0);
  assert.equal(backOff.waitMs(600_001, 600_001), 0);
  backOff.started(600_001, 600_001);
  assert.equal(backOff.waitMs(600_001, 600_001), 10_000);
});
