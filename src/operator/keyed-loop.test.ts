import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Again } from './keyed-loop.ts';
import { KeyedLoop } from './keyed-loop.ts';

/** Work that ends when the test says so. */
function stage(concurrency = 2, ordinary = concurrency) {
  const clock = manualClock();
  const started: string[] = [];
  const timed: string[] = [];
  const reasons: string[] = [];
  const open = new Map<string, PromiseWithResolvers<Again>>();
  const stop = new AbortController();
  const loop = new KeyedLoop({
    clock,
    concurrency,
    ordinary,
    comesFirst: (key) => key.startsWith('urgent'),
    work: (key, why) => {
      started.push(key);
      reasons.push(`${key} ${why}`);
      if (why === 'timer') timed.push(key);
      assert.ok(!open.has(key), `${key} runs twice at a time`);
      const work = Promise.withResolvers<Again>();
      open.set(key, work);
      return work.promise;
    },
  });
  const end = async (key: string, again: Again): Promise<void> => {
    const work = open.get(key);
    assert.ok(work, `${key} runs`);
    open.delete(key);
    work.resolve(again);
    await settle();
  };
  const finish = (key: string, inMs?: number, idleMs?: number): Promise<void> => end(key, { inMs, idleMs });
  return { clock, started, timed, reasons, end, open, stop, loop, finish };
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

  test('S27: who waits for something that is slow by itself takes nobody’s place, whoever came first', async () => {
    const { started, stop, loop, finish } = stage(2, 1);
    const running = loop.run(stop.signal, ['slow', 'a', 'b']);
    loop.add('urgent');
    loop.add('urgent too');
    assert.deepEqual(started, ['slow', 'urgent']);
    const device = Promise.withResolvers<string>();
    const answer = loop.aside('slow', device.promise);
    assert.deepEqual(started, ['slow', 'urgent', 'urgent too']);
    await finish('urgent');
    assert.deepEqual(started, ['slow', 'urgent', 'urgent too', 'a'], 'b waits for a, and not for who waits');
    device.resolve('off');
    assert.equal(await answer, 'off');
    await finish('urgent too');
    await finish('a');
    assert.deepEqual(started.slice(4), [], 'it is back at its place');
    await finish('slow');
    await finish('b');
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

  test('of several reasons to look at a key the one counts that leads to most, in whatever order they come', async () => {
    const { reasons, stop, loop, finish } = stage(1);
    const running = loop.run(stop.signal, ['busy']);
    loop.add('a');
    loop.hear('a');
    loop.hear('b');
    loop.add('b');
    await finish('busy');
    await finish('a');
    await finish('b');
    assert.deepEqual(reasons, ['busy heard', 'a asked', 'b asked']);
    stop.abort();
    await running;
  });

  test('asked for while it runs, a key is asked for when it runs once more', async () => {
    const { reasons, stop, loop, finish } = stage();
    const running = loop.run(stop.signal, ['a']);
    loop.add('a');
    loop.hear('a');
    await finish('a');
    assert.deepEqual(reasons, ['a heard', 'a asked']);
    loop.hear('a');
    await finish('a');
    assert.equal(reasons.at(-1), 'a heard');
    stop.abort();
    await finish('a');
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

  test('something that is being done does not wait for those who are only looked at', async () => {
    const { started, stop, loop, finish } = stage(3, 2);
    const running = loop.run(stop.signal, ['a', 'b', 'c']);
    assert.deepEqual(started, ['a', 'b']);
    loop.add('urgent');
    assert.deepEqual(started, ['a', 'b', 'urgent']);
    await finish('urgent');
    loop.add('urgent again');
    loop.add('urgent too');
    await finish('urgent again');
    assert.deepEqual(started.slice(3), ['urgent again', 'urgent too'], 'both before c, who came long before');
    await finish('urgent too');
    await finish('a');
    assert.equal(started.at(-1), 'c');
    await finish('b');
    stop.abort();
    await finish('c');
    await running;
  });

  test('however many rest, so many of them a second are looked at, whoever has waited for longest first', async () => {
    const { clock, started, timed, stop, loop, finish } = stage(100);
    const names = Array.from({ length: 60 }, (_, index) => `n${index}`);
    const running = loop.run(stop.signal, names);
    for (const name of names) await finish(name, undefined, 5000);
    clock.advance(5000);
    assert.equal(started.length, 61, 'at the same moment it would be the turn of all of them');
    for (let ms = 0; ms < 1000; ms += 50) clock.advance(50);
    assert.equal(started.length, 81);
    assert.deepEqual(started.slice(60), names.slice(0, 21));
    for (const name of names.slice(0, 21)) await finish(name, undefined, 5000);
    for (let ms = 0; ms < 1950; ms += 50) clock.advance(50);
    assert.deepEqual(started.slice(60), names, 'each had its turn before anybody had another');
    assert.deepEqual(timed, []);
    stop.abort();
    for (const name of names.slice(21)) await finish(name);
    await running;
  });

  test('whoever is asked for has had its turn, and whose time has come knows that nobody asked', async () => {
    const { clock, started, timed, stop, loop, finish } = stage();
    const running = loop.run(stop.signal, ['a']);
    await finish('a', 3000, 5000);
    clock.advance(3000);
    assert.deepEqual(timed, ['a']);
    await finish('a', undefined, 2000);
    loop.add('a');
    await finish('a');
    clock.advance(60_000);
    assert.deepEqual([started.length, timed.length], [3, 1]);
    stop.abort();
    await running;
  });

  test('S27: who takes its turn keeps its place, whatever is heard of it, and comes before those who rest', async () => {
    const { clock, reasons, stop, loop, finish, end } = stage(100);
    const running = loop.run(stop.signal, ['rests', 'a', 'b', 'c']);
    await finish('rests', undefined, 0);
    for (const name of ['a', 'b', 'c']) await end(name, { inTurn: true });
    assert.deepEqual(reasons.splice(0), ['rests heard', 'a heard', 'b heard', 'c heard']);
    loop.hear('a');
    await end('a', { inTurn: true });
    assert.deepEqual(reasons.splice(0), ['a heard']);
    for (let ms = 0; ms < 240; ms += 20) clock.advance(20);
    assert.deepEqual(
      reasons.splice(0),
      ['a turn', 'b turn', 'c turn', 'rests turn'],
      'so many a second, in this order',
    );
    loop.hear('a');
    await end('a', { inTurn: true });
    assert.deepEqual(reasons.splice(0), ['a heard'], 'what was heard of it meanwhile is looked at once more');
    await end('a', { inTurn: true });
    loop.add('a');
    loop.hear('a');
    assert.deepEqual(reasons.splice(0), ['a asked'], 'whoever is asked for waits for no turn');
    await finish('a');
    assert.deepEqual(reasons.splice(0), ['a heard']);
    for (const name of ['a', 'b', 'c', 'rests']) await finish(name);
    clock.advance(60_000);
    assert.deepEqual(reasons, [], 'and has had it');
    stop.abort();
    await running;
  });

  test('what the work throws ends the loop with it', async () => {
    const loop = new KeyedLoop({
      clock: manualClock(),
      concurrency: 1,
      ordinary: 1,
      comesFirst: () => false,
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
