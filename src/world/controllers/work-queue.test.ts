import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeError } from '../../kube/errors.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { StepFailed, WorkQueue } from './work-queue.ts';

const refused: KubeError = { kind: 'serverError', message: 'no', mayHaveHappened: true };

function queueOf(
  handle: (key: string) => Promise<number | undefined>,
  more: { workers?: number; onBroken?: (error: unknown) => void } = {},
): { clock: VirtualClock; queue: WorkQueue; problems: KubeError[] } {
  const clock = new VirtualClock();
  const problems: KubeError[] = [];
  const onBroken = (error: unknown): void => assert.fail(String(error));
  const queue = new WorkQueue({ clock, handle, onProblem: (error) => problems.push(error), onBroken, ...more });
  return { clock, queue, problems };
}

test('keys gather until the start, and each is worked on once', async () => {
  const seen: string[] = [];
  const { clock, queue } = queueOf(async (key) => {
    seen.push(key);
    return undefined;
  });
  for (const key of ['a', 'b', 'a']) queue.add(key);
  await clock.runFor(10);
  assert.deepEqual(seen, []);
  queue.start();
  await clock.runFor(10);
  assert.deepEqual(seen, ['a', 'b']);
});

test('a key is never worked on twice at a time, and comes back if it changed meanwhile', async () => {
  let running = 0;
  let runs = 0;
  const { clock, queue } = queueOf(async () => {
    running += 1;
    runs += 1;
    assert.equal(running, 1);
    await new Promise<void>((resolve) => clock.after(10, resolve));
    running -= 1;
    return undefined;
  });
  queue.start();
  queue.add('a');
  await clock.runFor(5);
  queue.add('a');
  queue.add('a');
  await clock.runFor(100);
  assert.equal(runs, 2);
});

test('no more workers than allowed', async () => {
  let running = 0;
  let most = 0;
  const work = async (): Promise<undefined> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => clock.after(10, resolve));
    running -= 1;
  };
  const { clock, queue } = queueOf(work, { workers: 2 });
  queue.start();
  for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
  await clock.runFor(100);
  assert.deepEqual([most, running], [2, 0]);
});

test('what fails is repeated after a growing pause, and a success ends that', async () => {
  const at: number[] = [];
  let failing = true;
  const { clock, queue, problems } = queueOf(async () => {
    at.push(clock.monotonic());
    if (failing) throw new StepFailed(refused);
    return undefined;
  });
  queue.start();
  queue.add('a');
  await clock.runFor(36);
  assert.deepEqual(at, [0, 5, 15, 35]);
  assert.equal(problems.length, 4);
  failing = false;
  await clock.runFor(1000);
  assert.equal(at.length, 5);
  failing = true;
  queue.add('a');
  await clock.runFor(6);
  assert.equal(at.length, 7, 'the pauses begin anew');
});

test('of several times to look again the earliest counts', async () => {
  const at: number[] = [];
  const { clock, queue } = queueOf(async () => {
    at.push(clock.monotonic());
    return undefined;
  });
  queue.start();
  queue.addAfter('a', 50);
  queue.addAfter('a', 20);
  queue.addAfter('a', 70);
  await clock.runFor(200);
  assert.deepEqual(at, [20]);
});

test('a mistake is not repeated but told', async () => {
  const broken: unknown[] = [];
  const handle = (): Promise<undefined> => Promise.reject(new TypeError('a bug'));
  const { clock, queue } = queueOf(handle, { onBroken: (error) => broken.push(error) });
  queue.start();
  queue.add('a');
  queue.add('b');
  await clock.runFor(1000);
  assert.ok(broken.length >= 1 && broken[0] instanceof TypeError);
});

test('nothing happens after the stop', async () => {
  let runs = 0;
  const { clock, queue } = queueOf(async () => {
    runs += 1;
    return 10;
  });
  queue.start();
  queue.add('a');
  await clock.runFor(25);
  queue.stop();
  const before = runs;
  queue.add('b');
  await clock.runFor(100);
  assert.equal(runs, before);
});
