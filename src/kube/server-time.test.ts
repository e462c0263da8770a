import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Astray } from './server-time.ts';
import { ServerTime } from './server-time.ts';

interface Read {
  /** How far the clock of the server that answers is off. */
  offMs?: number;
  /** How long it took, all of it on the way back. */
  tookMs?: number;
}

/** Who started at noon by its own clock, which is off by so much, and asks servers. */
function started(ownOffMs = 0): {
  time: ServerTime;
  told: Astray[];
  pass: (ms: number) => void;
  ask: (read?: Read) => number;
} {
  const clock = manualClock();
  const noonMs = Date.UTC(2026, 0, 1, 12) - clock.monotonic();
  const time = new ServerTime({
    ...clock,
    monotonic: () => clock.monotonic(),
    now: () => noonMs + clock.monotonic() + ownOffMs,
  });
  const told: Astray[] = [];
  time.onAstray = (astray) => told.push(astray);
  const ask = ({ offMs = 0, tookMs = 0 }: Read = {}): number => {
    const askedMs = clock.monotonic();
    const dateMs = Math.floor((noonMs + askedMs + offMs) / 1000) * 1000;
    clock.advance(tookMs);
    return time.read(dateMs, askedMs) - noonMs - clock.monotonic();
  };
  return { time, told, pass: (ms) => clock.advance(ms), ask };
}

const quarterMs = 900_000;

describe('the clock of the API server', () => {
  test('[POD-4] a Date is what it says, and never more than that is known of what has passed since', () => {
    const { time, ask, pass } = started();
    const noonMs = Date.UTC(2026, 0, 1, 12);
    assert.equal(ask(), 0);
    pass(900);
    assert.equal(ask(), -900, 'whole seconds');
    assert.equal(ask({ tookMs: 3000 }), -3900, 'it was true when it left');
    assert.equal(time.now(), noonMs + 3900, 'the first answer knew more');
  });

  test('[SAF-7, SAF-18] one that jumps is not believed, ahead or behind, for as long as another one says otherwise', () => {
    for (const offMs of [quarterMs, -quarterMs, 31_536_000_000]) {
      const { time, ask, pass, told } = started();
      ask();
      for (let seconds = 0; seconds < 1200; seconds += 10) {
        pass(10_000);
        assert.equal(ask({ offMs }), 0, `after ${seconds} s`);
        pass(100_000);
        assert.equal(ask(), 0);
      }
      assert.equal(time.astrayByMs, offMs);
      assert.ok(told.length > 1 && told.length < 30, `told now and then: ${told.length}`);
      assert.deepEqual(told[0], { byMs: offMs, isFollowed: false, isFirst: false });
      pass(300_000);
      assert.equal(time.astrayByMs, 0);
    }
  });

  test('[POD-4] what nobody contradicts for five minutes is followed, the least of it', () => {
    const { ask, pass, told } = started();
    ask();
    pass(1_000_000);
    for (let seconds = 0; seconds < 300; seconds += 10) {
      assert.equal(ask({ offMs: quarterMs }), 0);
      assert.equal(ask({ offMs: 2 * quarterMs }), 0);
      pass(10_000);
    }
    ask({ offMs: 2 * quarterMs });
    assert.deepEqual(told.at(-1), { byMs: 2 * quarterMs, isFollowed: true, isFirst: false });
    assert.equal(ask({ offMs: quarterMs }), quarterMs);
    assert.equal(ask({ offMs: 2 * quarterMs }), quarterMs);
  });

  test('[SAF-7, SAF-18] until somebody is believed nothing is settled: by an answer that says the same, or by most kubelets', () => {
    const noonMs = Date.UTC(2026, 0, 1, 12);
    const slow = started(-quarterMs);
    assert.equal(slow.time.isSettled, false);
    slow.ask();
    assert.equal(slow.time.isSettled, false);
    slow.time.witness('node-1', noonMs + 1000);
    slow.ask();
    assert.equal(slow.time.isSettled, false, 'one may be that of its own machine');
    slow.time.witness('node-2', noonMs - quarterMs);
    slow.time.witness('node-3', noonMs - quarterMs);
    slow.time.witness('node-4', noonMs - 1000);
    slow.ask();
    assert.equal(slow.time.isSettled, false, 'as many say otherwise');
    slow.time.witness('node-3', noonMs);
    assert.equal(slow.ask(), 0);
    assert.equal(slow.time.isSettled, true);
    const right = started();
    right.ask({ offMs: quarterMs });
    right.time.witness('node-1', noonMs);
    right.time.witness('node-2', noonMs);
    assert.equal(right.ask({ offMs: quarterMs }), 0, 'its own is right, and the server is doubted as ever');
    assert.equal(right.time.isSettled, true);
    right.pass(300_000);
    right.ask({ offMs: quarterMs });
    assert.equal(right.time.leptMs, quarterMs, 'what it wrote down since is counted on');
    const other = started();
    other.ask({ offMs: quarterMs });
    assert.equal(other.time.isSettled, false);
    other.ask();
    assert.equal(other.time.isSettled, true);
  });

  test('[SAF-7, SAF-18] a clock that is set is counted on: what was written down before is as long ago as it was', () => {
    const noonMs = Date.UTC(2026, 0, 1, 12);
    const { time, ask, pass } = started();
    ask();
    ask({ offMs: quarterMs });
    pass(300_000);
    ask({ offMs: quarterMs });
    assert.deepEqual([time.leptMs, time.now() - noonMs], [quarterMs, quarterMs + 300_000]);
    assert.deepEqual(
      [100_000, 300_000, quarterMs + 300_000].map((ms) => time.continued(noonMs + ms) - noonMs),
      [quarterMs + 100_000, quarterMs + 300_000, quarterMs + 300_000],
    );
    pass(1000);
    ask();
    pass(300_000);
    ask();
    assert.equal(time.leptMs, 0);
  });

  test('who stood still, or whose answers take long, is not taken for a jump', () => {
    const { ask, pass, told } = started();
    ask();
    assert.equal(ask({ tookMs: 60_000 }), -60_000);
    pass(3_600_000);
    assert.equal(ask(), 0);
    for (const offMs of [3000, -1000, 3000]) assert.equal(ask({ offMs }), offMs, 'servers are never quite the same');
    assert.deepEqual(told, []);
  });

  test('[POD-4] who has just started goes by its own clock or by the server, whichever is behind, until minutes have passed', () => {
    const right = started();
    assert.equal(right.ask({ offMs: quarterMs }), 0, 'it has one clock to compare with');
    assert.equal(right.ask(), 0);
    const fast = started(quarterMs);
    assert.equal(fast.ask(), 0);
    const slow = started(-quarterMs);
    assert.equal(slow.ask(), -quarterMs);
    slow.pass(300_000);
    slow.ask();
    assert.equal(slow.ask(), 0);
    assert.deepEqual(slow.told.at(-1), { byMs: quarterMs, isFollowed: true, isFirst: true });
    assert.equal(slow.time.leptMs, 0, 'nothing was written down by its own');
  });
});

test('[POD-4] waits by the best of the answers: the local clock only measures', () => {
  const clock = manualClock();
  const time = new ServerTime(clock);
  time.note(100_000);
  assert.equal(time.until(130_000, 100_000), 30_000);
  clock.advance(900);
  time.note(100_000);
  assert.equal(time.until(130_000, 100_000), 29_100, 'the first answer knew more');
  clock.advance(200);
  time.note(101_900);
  assert.equal(time.until(130_000, 101_000), 28_100, 'a better one counts at once');
});

test('[POD-4] a server that is set back is believed: it has to be asked again, but not all the time', () => {
  const clock = manualClock();
  const time = new ServerTime(clock);
  time.note(600_000);
  assert.equal(time.until(590_000, 580_000), 10_000, 'it should have come by now, and has not');
  assert.equal(time.until(590_000, 580_000), 10_000);
  assert.equal(new ServerTime(clock).until(50, 40), Infinity, 'nothing is known yet');
});

test('never waits less than a tenth of a second for what is due and not there', () => {
  const clock = manualClock();
  const time = new ServerTime(clock);
  time.note(600_000);
  assert.equal(time.until(599_000, 598_990), 100);
});
