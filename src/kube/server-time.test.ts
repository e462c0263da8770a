import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { ServerTime } from './server-time.ts';

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
