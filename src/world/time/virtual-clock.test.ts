import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sleep } from '../../clock.ts';
import { SkewedClock } from './skewed-clock.ts';
import { VirtualClock } from './virtual-clock.ts';

describe('virtual time', () => {
  test('timers run by time, then in the order in which they were made', async () => {
    const clock = new VirtualClock();
    const ran: string[] = [];
    clock.after(20, () => ran.push('c'));
    clock.after(10, () => ran.push('a'));
    clock.after(20, () => ran.push('d'));
    clock.after(10, () => ran.push('b'));
    await clock.runUntil(19);
    assert.deepEqual(ran, ['a', 'b']);
    assert.equal(clock.monotonic(), 19);
    await clock.runFor(1);
    assert.deepEqual(ran, ['a', 'b', 'c', 'd']);
  });

  test('the order holds for many timers, some of them cancelled', async () => {
    const clock = new VirtualClock();
    const ran: number[] = [];
    const delays = Array.from({ length: 5000 }, (_, index) => (index * 7919) % 1009);
    const cancels = delays.map((delay, index) => clock.after(delay, () => ran.push(delay * 10_000 + index)));
    for (const [index, cancel] of cancels.entries()) if (index % 3 > 0) cancel();
    assert.equal(clock.pending, 1667);
    await clock.runUntil(2000);
    assert.equal(ran.length, 1667);
    assert.deepEqual(
      ran,
      ran.toSorted((a, b) => a - b),
    );
  });

  test('everything that a timer sets off has come to rest before the next one runs', async () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const work = async (name: string): Promise<void> => {
      for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
      await new Promise<void>((resolve) => process.nextTick(resolve));
      log.push(`${name} done`);
    };
    clock.after(5, () => void work('first'));
    clock.after(5, () => void work('second').then(() => log.push(`at ${clock.monotonic()}`)));
    clock.after(5, () => log.push('third'));
    await clock.runUntil(5);
    assert.deepEqual(log, ['first done', 'second done', 'at 5', 'third']);
  });

  test('sleeps in a chain take exactly their time', async () => {
    const clock = new VirtualClock();
    let ended = -1;
    void (async () => {
      for (let round = 0; round < 1000; round += 1) await sleep(clock, 3.5);
      ended = clock.monotonic();
    })();
    await clock.runUntil(10_000);
    assert.equal(ended, 3500);
    assert.equal(clock.now() - Date.UTC(2026, 0, 1), 10_000);
  });

  test('a moment is shown when its work is done, once, and may end the run', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    let count = 0;
    clock.after(10, () => {
      count += 1;
      clock.after(0, () => void (count += 1));
    });
    clock.after(20, () => void (count += 1));
    await clock.runUntil(100, () => {
      seen.push(`${clock.monotonic()}: ${count}`);
      return clock.monotonic() === 20;
    });
    assert.deepEqual(seen, ['0: 0', '10: 2', '20: 3']);
    assert.equal(clock.monotonic(), 20);
  });

  test('a cancelled timer does not run, also when it is cancelled by one of the same moment', async () => {
    const clock = new VirtualClock();
    const ran: string[] = [];
    clock.after(1, () => cancel());
    const cancel = clock.after(1, () => ran.push('cancelled'));
    await clock.runFor(2);
    assert.deepEqual(ran, []);
  });

  test('what a timer throws comes out of the run', async () => {
    const clock = new VirtualClock();
    clock.after(1, () => {
      throw new Error('broken');
    });
    await assert.rejects(clock.runFor(2), /broken/);
    await clock.runFor(2);
  });
});

describe('a wrong clock', () => {
  test('a jump moves the wall clock and no timer', async () => {
    const base = new VirtualClock();
    const clock = new SkewedClock(base, { byMs: 1000 });
    assert.equal(clock.now() - base.now(), 1000);
    clock.jump(600_000);
    assert.equal(clock.now() - base.now(), 601_000);
    assert.equal(clock.monotonic(), base.monotonic());
    let at = -1;
    clock.after(50, () => (at = base.monotonic()));
    await base.runFor(100);
    assert.equal(at, 50);
  });

  test('a fast clock drifts away, and its timers come early', async () => {
    const base = new VirtualClock();
    const clock = new SkewedClock(base, { rate: 1.25 });
    let at = -1;
    clock.after(1000, () => (at = base.monotonic()));
    await base.runFor(4000);
    assert.equal(at, 800);
    assert.equal(clock.monotonic(), 5000);
    assert.equal(clock.now() - base.now(), 1000);
    clock.setRate(0.5);
    await base.runFor(1000);
    assert.equal(clock.monotonic(), 5500);
  });
});
