import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { KeyedLoop } from './keyed-loop.ts';

/** Work that ends when the test says so. */
function stage(concurrency = 2) {
  const clock = manualClock();
  const started: string[] = [];
  const open = new Map<string, PromiseWithResolvers<number | undefined>>();
  const stop = new AbortController();
  const loop = new KeyedLoop({
    clock,
    concurrency,
    work: (key) => {
      started.push(key);
      assert.ok(!open.has(key), `${key} runs twice at a time`);
      const work = Promise.withResolvers<number | undefined>();
      open.set(key, work);
      return work.promise;
    },
  });
  const finish = async (key: string, again?: number): Promise<void> => {
    const work = open.get(key);
    assert.ok(work, `${key} runs`);
    open.delete(key);
    work.resolve(again);
    await settle();
  };
  return { clock, started, open, stop, loop, finish };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('keyed loop', () => {
  test('a key that takes long delays no other, and never more than so many run at a time', async () => {
    const { started, stop, loop, finish } = stage(2);
    const running = loop.run(stop.signal, ['slow', 'a', 'b', 'c']);
    assert.deepEqual(started, ['slow', 'a']);
    await finish('a');
    await finish('b');
    await finish('c');
    assert.deepEqual(started, ['slow', 'a', 'b', 'c']);
    await finish('slow');
    stop.abort();
    await running;
  });

  test('asked for while it runs, a key runs once more, however often it was asked for', async () => {
    const { started, stop, loop, finish } = stage();
    const running = loop.run(stop.signal, ['a']);
    loop.add('a');
    loop.add('a');
    await finish('a');
    assert.deepEqual(started, ['a', 'a']);
    await finish('a');
    assert.deepEqual(started, ['a', 'a']);
    stop.abort();
    await running;
  });

  test('it comes back when the work asked for it, and an earlier call takes the place of the timer', async () => {
    const { clock, started, stop, loop, finish } = stage();
    const running = loop.run(stop.signal, ['a']);
    await finish('a', 5000);
    clock.advance(4999);
    assert.equal(started.length, 1);
    clock.advance(1);
    assert.equal(started.length, 2);
    await finish('a', 5000);
    loop.add('a');
    await finish('a', 9000);
    clock.advance(5000);
    assert.equal(started.length, 3, 'the first timer is gone');
    stop.abort();
    await running;
  });

  test('it ends only when what is under way has ended, and starts nothing new', async () => {
    const { clock, started, stop, loop, finish } = stage();
    let ended = false;
    const running = loop.run(stop.signal, ['a', 'b']).then(() => {
      ended = true;
    });
    await finish('b', 10);
    stop.abort();
    loop.add('c');
    clock.advance(100);
    await settle();
    assert.equal(ended, false);
    await finish('a', 1);
    await running;
    assert.deepEqual(started, ['a', 'b']);
  });

  test('what the work throws ends the loop with it', async () => {
    const loop = new KeyedLoop({
      clock: manualClock(),
      concurrency: 1,
      work: () => Promise.reject(new Error('broken')),
    });
    await assert.rejects(loop.run(new AbortController().signal, ['a']), /broken/);
  });

  test('it can run again: what was asked in between is not remembered, what is given is', async () => {
    const { started, stop, loop, finish } = stage();
    const first = loop.run(stop.signal, ['a']);
    stop.abort();
    await finish('a');
    await first;
    loop.add('b');
    const second = new AbortController();
    const running = loop.run(second.signal, ['c']);
    assert.deepEqual(started, ['a', 'c']);
    await finish('c');
    second.abort();
    await running;
  });
});
