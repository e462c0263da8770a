import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aFence, aPod } from '../../test/support/release-case.ts';
import { MAX_PROBLEM_TIMES, MAX_PROBLEMS } from '../api/fence-names.ts';
import { NodeFenceSchema } from '../api/node-fence.ts';
import type { AlarmFacts, PodFacts } from '../api/release-view.ts';
import type { Problem } from './problems.ts';
import { counted, repeatedTrouble } from './problems.ts';

const startMs = Date.parse('2026-01-01T00:00:00Z');
const minuteMs = 60_000;
const at = (minutes: number): string => `${new Date(startMs + minutes * minuteMs).toISOString().slice(0, 19)}Z`;
const own = (name: string): PodFacts => aPod({ name });
const ofKind = (kind: string, name: string, owner: string): PodFacts =>
  aPod({ name, owner: { group: 'apps', kind, name: owner, uid: owner } });

/** An incident of Ready each minute, with these pods. */
function after(...incidents: PodFacts[][]): Problem[] {
  return incidents.reduce<Problem[]>(
    (before, pods, minutes) => counted(before, { condition: 'Ready', at: at(minutes), pods }),
    [],
  );
}

const podsOf = ([problem]: Problem[]): string[] => (problem?.pods ?? []).map(({ pod, count }) => `${pod} ${count}`);

describe('problem counters', () => {
  test('[ADM-2] each incident counts once, for its condition, with its time', () => {
    const twice = after([], []);
    assert.deepEqual(twice, [{ condition: 'Ready', count: 2, times: [at(0), at(1)], pods: [] }]);
    const both = counted(twice, { condition: 'DiskBroken', at: at(2), pods: [] });
    assert.deepEqual(
      both.map(({ condition, count }) => `${condition} ${count}`),
      ['Ready 2', 'DiskBroken 1'],
    );
  });

  test('[ADM-2] the pod that is there each time is the first of the list', () => {
    const problems = after([own('a'), own('crasher-0')], [own('crasher-0'), own('b')], [own('c'), own('crasher-0')]);
    assert.deepEqual(podsOf(problems), ['default/crasher-0 3', 'default/c 1', 'default/b 1', 'default/a 1']);
  });

  test('[ADM-2] a pod that gets another name each time is known by its owner, and counts once with its siblings', () => {
    const of = (name: string): PodFacts => ofKind('ReplicaSet', name, 'web-5d9');
    assert.deepEqual(podsOf(after([of('web-5d9-x'), of('web-5d9-y')], [of('web-5d9-z')])), ['default/web-5d9 2']);
    assert.deepEqual(podsOf(after([ofKind('Job', 'load-x', 'load')], [ofKind('Job', 'load-y', 'load')])), [
      'default/load 2',
    ]);
    const { owner: _, ...bare } = aPod({ name: 'alone' });
    assert.deepEqual(podsOf(after([bare])), ['default/alone 1']);
  });

  test('[ADM-2] what every node has, or has ended, is left out', () => {
    const everywhere = ofKind('DaemonSet', 'agent-x', 'agent');
    const file = aPod({ name: 'proxy', mirror: true });
    assert.deepEqual(podsOf(after([everywhere, file, aPod({ name: 'done', phase: 'Succeeded' })])), []);
  });

  test('[ADM-2] the latest times, the highest counts and of equal ones the latest pods stay', () => {
    const many = Array.from({ length: MAX_PROBLEM_TIMES + 3 }, (_, minute) => [
      own('crasher-0'),
      ...Array.from({ length: 20 }, (__, index) => own(`other-${minute}-${index}`)),
    ]);
    const [problem] = after(...many);
    assert.equal(problem?.count, MAX_PROBLEM_TIMES + 3);
    assert.deepEqual([problem.times.length, problem.times.at(0)], [MAX_PROBLEM_TIMES, at(3)]);
    assert.deepEqual(problem.pods[0], { pod: 'default/crasher-0', count: many.length });
    assert.equal(problem.pods[1]?.pod, `default/other-${many.length - 1}-0`);
    assert.equal(problem.pods.length, 64);
  });

  test('[ADM-2] the condition that has not happened for longest makes room', () => {
    const types = Array.from({ length: MAX_PROBLEMS }, (_, index) => `Type${index}`);
    const full = types.reduce<Problem[]>(
      (before, condition, index) => counted(before, { condition, at: at(index), pods: [] }),
      [],
    );
    const again = counted(full, { condition: 'Type0', at: at(20), pods: [] });
    const next = counted(again, { condition: 'Other', at: at(21), pods: [] }).map(({ condition }) => condition);
    assert.equal(next.length, MAX_PROBLEMS);
    assert.deepEqual([next.includes('Type0'), next.includes('Type1'), next.includes('Other')], [true, false, true]);
  });

  test('[ADM-2] whatever happens, what is kept fits the schema', () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/);
    const incident = fc.tuple(
      fc.integer({ min: 0, max: 20 }).map((type) => `Type${type}`),
      fc.array(name),
    );
    fc.assert(
      fc.property(fc.array(incident, { maxLength: 80 }), (incidents) => {
        const problems = incidents.reduce<Problem[]>(
          (before, [condition, names], index) => counted(before, { condition, at: at(index), pods: names.map(own) }),
          [],
        );
        const checked = NodeFenceSchema.safeParse(aFence({ problems }));
        assert.ok(checked.success, JSON.stringify(checked.error?.issues.slice(0, 3)));
      }),
      { numRuns: 40 },
    );
  });
});

describe('an alarm', () => {
  const alarm: AlarmFacts = { condition: 'Ready', count: 3, withinMs: 10 * minuteMs };
  const now = (minutes: number): number => startMs + minutes * minuteMs;
  const three = after([own('web-0')], [own('web-0')], [own('web-0')]);

  test('[ADM-2] stands from the third incident until there are fewer than three within the time', () => {
    assert.equal(repeatedTrouble(after([], []), [alarm], now(1)), undefined);
    assert.equal(repeatedTrouble(three, [alarm], now(2))?.untilMs, now(10));
    assert.ok(repeatedTrouble(three, [alarm], now(10) - 1000));
    assert.equal(repeatedTrouble(three, [alarm], now(10)), undefined);
    assert.equal(repeatedTrouble(after([], [], [], []), [alarm], now(3))?.untilMs, now(11), 'a fourth lengthens it');
  });

  test('[ADM-2] is about its own condition', () => {
    assert.equal(repeatedTrouble(three, [{ ...alarm, condition: 'DiskBroken' }], now(2)), undefined);
    assert.equal(repeatedTrouble(three, [], now(2)), undefined);
  });

  test('[ADM-2] several are told together, and looked at when the first of them ends', () => {
    const short = { condition: 'Ready', count: 1, withinMs: 5 * minuteMs };
    const both = repeatedTrouble(three, [alarm, short], now(2));
    assert.match(both?.message ?? '', /^3 incidents of Ready within 10m.*; 3 incidents of Ready within 5m/);
    assert.equal(both?.untilMs, now(7));
  });

  const messages: [string, Problem[], string][] = [
    ['one pod was there each time', three, '; default/web-0 was there each time'],
    ['none was', after([own('a')], [own('b')], [own('c')]), ''],
    ['one was there twice of three times', after([own('a')], [own('a')], [own('c')]), ''],
    [
      'two were',
      after([own('a'), own('b')], [own('b'), own('a')], [own('a'), own('b')]),
      '; default/a and default/b were there each time',
    ],
    [
      'all were',
      after(...[1, 2, 3].map(() => ['a', 'b', 'c', 'd', 'e'].map(own))),
      '; default/a, default/b, default/c and 2 more were there each time',
    ],
  ];
  for (const [when, problems, expected] of messages) {
    test(`[ADM-2] ${when}: it says ${expected === '' ? 'nothing of pods' : 'so'}`, () => {
      const { message } = repeatedTrouble(problems, [alarm], now(2)) ?? { message: 'none' };
      assert.equal(message, `3 incidents of Ready within 10m${expected}`);
    });
  }

  test('[ADM-2] a pod that came after earlier trouble is named with how often', () => {
    const later = after([], [], [own('new')], [own('new')], [own('new')]);
    const recent = repeatedTrouble(later, [{ ...alarm, withinMs: 3 * minuteMs }], now(4));
    assert.equal(recent?.message, '3 incidents of Ready within 3m; default/new was there 3 times of 5 in all');
  });

  test('[ADM-2] the first incident is nobody’s fault', () => {
    const first = repeatedTrouble(after([own('web-0')]), [{ ...alarm, count: 1 }], now(0));
    assert.equal(first?.message, '1 incident of Ready within 10m');
  });
});
