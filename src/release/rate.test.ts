import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aPod, aRecord, nowMs } from '../../test/support/release-case.ts';
import type { Released } from './rate.ts';
import { allowanceOf, minuteMs, withinRate } from './rate.ts';
import { releaseNode } from './release-node.ts';

test('[STM-4] what is new is limited, what was begun is followed to its end', () => {
  const pods = ['a', 'b', 'c'].map((uid) => aPod({ uid, name: `web-${uid}`, claims: [] }));
  const fates = pods.map((pod) => ({ ...releaseNode(aCase({ pods: [aPod()] }))[0], pod })) as ReturnType<
    typeof releaseNode
  >;
  assert.ok(fates.every(({ goes }) => goes));
  const begun = aRecord({ pods: [{ namespace: 'default', name: 'web-c', uid: 'c' }] });
  const allowance = { pods: 1, perMinute: 7, untilMs: nowMs + 5000 };
  const limited = withinRate(fates, [begun], allowance);
  assert.deepEqual(
    limited.map(({ goes }) => goes),
    [true, false, true],
  );
  const [, held] = limited;
  assert.deepEqual(
    held?.goes === false && held.objections.map(({ objection: { reason, untilMs } }) => [reason, untilMs]),
    [['ReleaseRate', nowMs + 5000]],
  );
  assert.deepEqual(withinRate(fates, [], { ...allowance, pods: 3 }), fates);
});

test('[STM-4] what does not go anyway takes nothing of it', () => {
  const objections = [{ way: 'policy', objection: { reason: 'DoNothing', message: '' } }] as const;
  const stays = { pod: aPod({ uid: 'a' }), goes: false, objections } as const;
  const goes = { pod: aPod(), goes: true, way: 'policy', frees: [] } as const;
  assert.deepEqual(withinRate([stays, goes], [], { pods: 1, perMinute: 1, untilMs: nowMs }), [stays, goes]);
});

describe('[STM-4] how many may go', () => {
  const went = (...lists: { atMs: number; pods: number }[][]): ReadonlyMap<string, { atMs: number; pods: number }[]> =>
    new Map(lists.map((list, at) => [`node-${at}`, list]));
  const recorded = (one: Released): ReadonlyMap<string, Released[]> => new Map([['node-0', [one]]]);
  const none = new Map<string, never>();

  test('is what is left of the last minute, and never less than nothing', () => {
    const own = went([{ atMs: nowMs - 1000, pods: 2 }], [{ atMs: nowMs - 3000, pods: 3 }]);
    assert.deepEqual(allowanceOf(10, { stored: none, own, nowMs }), {
      pods: 5,
      perMinute: 10,
      untilMs: nowMs - 3000 + minuteMs,
    });
    assert.equal(allowanceOf(4, { stored: none, own, nowMs }).pods, 0);
    const old = went([{ atMs: nowMs - minuteMs, pods: 2 }]);
    assert.deepEqual(allowanceOf(4, { stored: none, own: old, nowMs }), {
      pods: 4,
      perMinute: 4,
      untilMs: nowMs + minuteMs,
    });
  });

  test('does not count what is written down as still to come, by a clock that was ahead', () => {
    const left = (aheadMs: number): number => {
      const goneMs = nowMs + aheadMs;
      const stored = recorded({ recordedMs: goneMs, goneMs, pods: 3 });
      return allowanceOf(10, { stored, own: none, nowMs }).pods;
    };
    assert.deepEqual([left(60_000), left(60_001), left(3_600_000)], [7, 10, 10]);
  });

  test('counts of what is stored and what is known here the larger number', () => {
    const stored = recorded({ recordedMs: nowMs - 5000, goneMs: nowMs - 4000, pods: 3 });
    for (const [pods, left] of [
      [1, 7],
      [6, 4],
    ] as const) {
      assert.equal(allowanceOf(10, { stored, own: went([{ atMs: nowMs - 1000, pods }]), nowMs }).pods, left);
    }
  });

  test('counts what does not go as going now, but not for ever', () => {
    const left = (recordedMs: number): number =>
      allowanceOf(10, { stored: recorded({ recordedMs, pods: 3 }), own: none, nowMs }).pods;
    assert.equal(left(nowMs - 1000), 7);
    assert.equal(left(nowMs - 300_000), 7);
    assert.equal(left(nowMs - 600_000), 10);
    const stored = recorded({ recordedMs: nowMs - 1000, pods: 3 });
    assert.equal(allowanceOf(10, { stored, own: none, nowMs }).untilMs, nowMs + minuteMs, 'from now on');
  });
});
