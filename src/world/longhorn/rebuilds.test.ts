import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { VirtualClock } from '../time/virtual-clock.ts';
import { Rebuilds } from './rebuilds.ts';

describe('rebuilds', () => {
  let clock: VirtualClock;
  let rebuilds: Rebuilds;
  let done: string[];

  const start = (source: string, target: string, bytes: number): (() => void) =>
    rebuilds.start(
      { source, target, onDone: () => done.push(`${target} ${Math.round(clock.monotonic() / 1000)}`) },
      bytes,
    );

  beforeEach(() => {
    clock = new VirtualClock();
    rebuilds = new Rebuilds(clock, 100);
    done = [];
  });

  test('one alone takes as long as its bytes', async () => {
    start('a', 'b', 1000);
    await clock.runFor(9999);
    assert.deepEqual(done, []);
    await clock.runFor(1);
    assert.deepEqual(done, ['b 10']);
  });

  test('two from one node share its network, two of different nodes do not', async () => {
    start('a', 'b', 1000);
    start('a', 'c', 1000);
    start('d', 'e', 1000);
    await clock.runFor(30_000);
    assert.deepEqual(done, ['e 10', 'b 20', 'c 20']);
  });

  test('one that is left alone is faster from then on', async () => {
    start('a', 'b', 500);
    start('a', 'c', 1000);
    await clock.runFor(30_000);
    assert.deepEqual(done, ['b 10', 'c 15']);
  });

  test('one that is cancelled never ends, and leaves its share to the others', async () => {
    const cancel = start('a', 'b', 1000);
    start('a', 'c', 1000);
    await clock.runFor(10_000);
    cancel();
    cancel();
    await clock.runFor(30_000);
    assert.deepEqual(done, ['c 15']);
  });
});
