import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, inForce, nowMs } from '../../test/support/release-case.ts';
import type { Released } from './release-rate.ts';
import { ReleaseRate } from './release-rate.ts';

const known = aCase({ policy: inForce({ podsPerMinute: 10 }) });
const none = new Map<string, Released[]>();
const gone = (atMs: number, pods: number): Released => ({ recordedMs: atMs - 5000, goneMs: atMs, pods });

test('[STM-4] what this process has let go and what the records say count once, and for a minute', () => {
  const rate = new ReleaseRate();
  const left = (stored = none, afterMs = 0): number | undefined =>
    rate.allowance({ ...known, serverNowMs: nowMs + afterMs }, stored)?.pods;
  assert.equal(left(), 10);
  rate.took('node-1', nowMs, 4);
  assert.equal(left(), 6);
  assert.equal(left(new Map([['node-1', [gone(nowMs, 4)]]])), 6, 'the view has caught up');
  assert.equal(left(new Map([['node-2', [gone(nowMs - 30_000, 5)]]])), 1, 'another node, before a restart');
  assert.equal(left(new Map([['node-2', [gone(nowMs - 30_000, 50)]]])), 0);
  assert.deepEqual([left(none, 61_999), left(none, 62_000)], [6, 10]);
  rate.took('node-1', nowMs + 30_000, 3);
  assert.deepEqual([left(none, 30_000), left(none, 63_000)], [3, 7]);
});

test('[STM-4] what is recorded and not gone yet counts as going now, but not for ever', () => {
  const rate = new ReleaseRate();
  const left = (recordedMs: number): number | undefined =>
    rate.allowance(known, new Map([['node-1', [{ recordedMs, pods: 4 }]]]))?.pods;
  assert.deepEqual([left(nowMs - 100_000), left(nowMs - 361_000), left(nowMs - 362_000)], [6, 6, 10]);
});

test('[STM-4] says when more may go, and limits nothing where no policy does', () => {
  const rate = new ReleaseRate();
  rate.took('node-1', nowMs - 20_000, 10);
  assert.deepEqual(rate.allowance(known, none), { pods: 0, perMinute: 10, untilMs: nowMs + 42_000 });
  assert.equal(rate.allowance(aCase({ policy: { kind: 'none' } }), none), undefined);
});
