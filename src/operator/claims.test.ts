import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { inForce, nowMs } from '../../test/support/release-case.ts';
import type { Released } from '../release/rate.ts';
import { ClaimBook } from './claims.ts';

const policy = inForce({ podsPerMinute: 10 });
const nothing = new Map<string, Released[]>();
const none = { fence: false, remedy: false, pods: 0 };
const gone = (atMs: number, pods: number): Released => ({ recordedMs: atMs - 5000, goneMs: atMs, pods });

test('[STM-4] what this process has let go and what the records say count once, and for a minute', () => {
  const clock = manualClock();
  const book = new ClaimBook(clock);
  const left = (stored = nothing, afterMs = 0): number | undefined =>
    book.allowance(policy, stored, nowMs + afterMs)?.pods;
  assert.equal(left(), 10);
  book.take('node-1', { ...none, pods: 4 });
  assert.equal(left(), 6);
  assert.equal(left(new Map([['node-1', [gone(nowMs, 4)]]])), 6, 'the view has caught up');
  assert.equal(left(new Map([['node-2', [gone(nowMs - 30_000, 5)]]])), 1, 'another node, before a restart');
  assert.equal(left(new Map([['node-2', [gone(nowMs - 30_000, 50)]]])), 0);
  clock.advance(30_000);
  book.take('node-1', { ...none, pods: 3 });
  assert.equal(left(nothing, 30_000), 3);
  clock.advance(31_999);
  assert.equal(left(nothing, 61_999), 3);
  clock.advance(1);
  assert.equal(left(nothing, 62_000), 7);
});

test('[STM-4] what is recorded and not gone yet counts as going now, but not for ever', () => {
  const book = new ClaimBook(manualClock());
  const left = (recordedMs: number): number | undefined =>
    book.allowance(policy, new Map([['node-1', [{ recordedMs, pods: 4 }]]]), nowMs)?.pods;
  assert.deepEqual([left(nowMs - 100_000), left(nowMs - 361_000), left(nowMs - 362_000)], [6, 6, 10]);
});

test('[STM-4] says when more may go, and limits nothing where no policy does', () => {
  const clock = manualClock();
  const book = new ClaimBook(clock);
  book.take('node-1', { ...none, pods: 10 });
  clock.advance(20_000);
  assert.deepEqual(book.allowance(policy, nothing, nowMs), { pods: 0, perMinute: 10, untilMs: nowMs + 42_000 });
  assert.equal(book.allowance({ kind: 'none' }, nothing, nowMs), undefined);
});

test('[STM-4] a slot is taken from the decision on, until the fence of the node has ended or nobody attends to it', () => {
  const book = new ClaimBook(manualClock());
  book.take('node-1', { ...none, fence: true, pods: 0 });
  book.take('node-2', { ...none, fence: true, pods: 4 });
  assert.deepEqual([...book.slots('fence')], ['node-1', 'node-2']);
  book.take('node-1', { ...none, pods: 0 });
  assert.deepEqual([...book.slots('fence')], ['node-2']);
  book.forget('node-2');
  assert.deepEqual([...book.slots('fence')], []);
  assert.equal(book.allowance(policy, nothing, nowMs)?.pods, 6, 'pods that went have gone all the same');
});

test('[STM-4] remedies that cannot be taken back have slots apart from those of fences', () => {
  const book = new ClaimBook(manualClock());
  book.take('node-1', { ...none, remedy: true });
  assert.deepEqual([[...book.slots('fence')], [...book.slots('remedy')]], [[], ['node-1']]);
  book.take('node-1', { ...none, fence: true });
  assert.deepEqual([[...book.slots('fence')], [...book.slots('remedy')]], [['node-1'], []]);
});

test('[STM-4] a clock that is set changes nothing of what was let go here; what is recorded as still to come is not counted', () => {
  const clock = manualClock();
  const book = new ClaimBook(clock);
  book.take('node-1', { ...none, pods: 4 });
  clock.advance(1000);
  for (const setMs of [3_600_000, -3_600_000]) {
    assert.equal(book.allowance(policy, nothing, nowMs + setMs)?.pods, 6);
  }
  const ahead = new Map([['node-2', [gone(nowMs + 3_600_000, 5)]]]);
  assert.equal(book.allowance(policy, ahead, nowMs)?.pods, 6);
});
