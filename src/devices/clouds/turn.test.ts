import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { Failure, Turn } from './turn.ts';

/** What is due in promises is done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const calledOff = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'unknown' && /called off while the operation went on/.test(error.message);

/** Somebody who follows an operation that ends when it is told to. */
function follower(clock: ReturnType<typeof manualClock>) {
  const limit = new AbortController();
  const { signal } = limit;
  const turn = new Turn({ world: clock, signal, deadline: 60_000, callTimeoutMs: 1, hide: () => {} });
  const state = { reads: 0, hasEnded: false };
  const followed = turn.follow(async () => {
    state.reads += 1;
    return { hasEnded: state.hasEnded, pauseMs: 1000 };
  });
  return { limit, state, followed };
}

describe('[FEN-10] whoever waits for an operation and is called off', () => {
  test('is told at once that nobody knows, and does not look again; who waits beside it goes on', async () => {
    const clock = manualClock();
    const [first, other] = [follower(clock), follower(clock)];
    await settled();
    assert.deepEqual([first.state.reads, other.state.reads], [1, 1]);
    first.limit.abort();
    // No time has passed: it does not wait for the pause to be over.
    await assert.rejects(first.followed, calledOff);
    other.state.hasEnded = true;
    clock.advance(1000);
    await other.followed;
    await settled();
    assert.deepEqual([first.state.reads, other.state.reads], [1, 2]);
  });

  test('leaves no alarm behind that would go off later', async () => {
    const clock = manualClock();
    let waiting = 0;
    const counting = {
      ...clock,
      after: (ms: number, callback: () => void) => {
        waiting += 1;
        const cancel = clock.after(ms, callback);
        return () => {
          waiting -= 1;
          cancel();
        };
      },
    };
    const { limit, followed } = follower(counting);
    await settled();
    assert.equal(waiting, 1);
    limit.abort();
    await assert.rejects(followed, calledOff);
    assert.equal(waiting, 0);
  });

  test('while it looked, is told before the pause begins', async () => {
    const limit = new AbortController();
    const world = manualClock();
    const turn = new Turn({ world, signal: limit.signal, deadline: 60_000, callTimeoutMs: 1, hide: () => {} });
    const followed = turn.follow(async () => {
      limit.abort();
      return { hasEnded: false };
    });
    await assert.rejects(followed, calledOff);
  });

  test('later is not heard by pauses that are over', async () => {
    const clock = manualClock();
    const { limit, state, followed } = follower(clock);
    for (let pause = 1; pause <= 3; pause += 1) {
      await settled();
      assert.equal(getEventListeners(limit.signal, 'abort').length, 1, `in pause ${pause}`);
      state.hasEnded = pause === 3;
      clock.advance(1000);
    }
    await followed;
    assert.equal(getEventListeners(limit.signal, 'abort').length, 0);
  });
});
