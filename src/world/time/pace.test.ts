import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { pass } from './pace.ts';
import { VirtualClock } from './virtual-clock.ts';

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
}

function setUp(rate = 1) {
  const real = manualClock();
  const time = new VirtualClock();
  const stop = new AbortController();
  const set = { rate };
  const over = pass({ real, time, rate: () => set.rate }, stop.signal);
  const go = async (ms: number): Promise<void> => {
    real.advance(ms);
    await turns();
  };
  return { time, stop, set, over, go };
}

test('time passes as fast as is wished, from the next step on', async () => {
  const { time, stop, set, over, go } = setUp();
  await go(20);
  assert.equal(time.monotonic(), 20);
  set.rate = 60;
  await go(20);
  assert.equal(time.monotonic(), 20 + 1200);
  set.rate = 10;
  await go(30);
  assert.equal(time.monotonic(), 1220 + 300);
  stop.abort();
  await go(20);
  await over;
});

test('whoever has a deadline is told of it in time, however long the machine was busy', async () => {
  const { time, stop, over, go } = setUp(60);
  const seen: string[] = [];
  // A Lease of twelve seconds that is renewed every ten.
  let renewedMs = 0;
  const renew = (): void => {
    renewedMs = time.monotonic();
    time.after(10_000, renew);
  };
  const look = (): void => {
    if (time.monotonic() - renewedMs > 12_000) seen.push(`stale at ${time.monotonic()}`);
    time.after(500, look);
  };
  renew();
  look();
  await go(499);
  for (let turn = 0; turn < 20; turn += 1) await turns();
  assert.deepEqual(seen, []);
  assert.ok(time.monotonic() > 12_000);
  stop.abort();
  await go(20);
  await over;
});

test('a laptop that was closed has lost the time', async () => {
  const { time, stop, over, go } = setUp();
  await go(3_600_000);
  assert.equal(time.monotonic(), 500);
  stop.abort();
  await go(20);
  await over;
});
