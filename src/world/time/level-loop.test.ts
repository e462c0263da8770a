import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { LevelLoop } from './level-loop.ts';

/** Each step lasts until the test ends it with the answer it gives. */
function setUp(): { loop: LevelLoop; clock: ReturnType<typeof manualClock>; steps: ((next?: number) => void)[] } {
  const clock = manualClock();
  const steps: ((next?: number) => void)[] = [];
  const loop = new LevelLoop(clock, () => new Promise((resolve) => steps.push(resolve)));
  return { loop, clock, steps };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

test('never two steps at a time, and no change is missed', async () => {
  const { loop, steps } = setUp();
  loop.kick();
  loop.kick();
  loop.kick();
  assert.equal(steps.length, 1);
  steps[0]?.();
  await settle();
  assert.equal(steps.length, 2, 'all changes during a step lead to one more');
  steps[1]?.();
  await settle();
  assert.equal(steps.length, 2);
});

test('looks again when the step said so, but not twice when something changed before', async () => {
  const { loop, clock, steps } = setUp();
  loop.kick();
  steps[0]?.(1000);
  await settle();
  clock.advance(999);
  assert.equal(steps.length, 1);
  loop.kick();
  steps[1]?.();
  await settle();
  clock.advance(10_000);
  assert.equal(steps.length, 2);
});

test('does nothing more once stopped', async () => {
  const { loop, clock, steps } = setUp();
  loop.kick();
  loop.kick();
  loop.stop();
  steps[0]?.(10);
  await settle();
  clock.advance(1000);
  loop.kick();
  assert.equal(steps.length, 1);
});
